"""Processes that die: nothing acknowledged is lost, nothing left behind stops the next start."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.local.host.conftest import StartHost
from tests.local.host.driver import Host, Version, says, until
from tests.local.host.ports import Thief, listening

pytestmark = pytest.mark.long

COUNTER = """
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("create table if not exists hits (n integer primary key)");
  }
  hit() {
    this.ctx.storage.sql.exec("insert into hits default values");
    return this.ctx.storage.sql.exec("select count(*) n from hits").one().n;
  }
}
export default { fetch: async (r, env) => new Response("%s " + await env.COUNTER.getByName("one").hit()) };
"""


def counting(text: str, number: int = 1) -> Version:
    return Version(
        {"index.js": COUNTER % text},
        number=number,
        bindings=[{"name": "COUNTER", "type": "durable_object_namespace", "class_name": "Counter"}],
        exports={"Counter": {"type": "durable-object", "storage": "sqlite"}},
    )


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


def ends(pid: int) -> None:
    until(lambda: not running(pid))


def test_a_durable_object_keeps_its_count_over_a_redeploy_and_runs_the_new_code(host: Host) -> None:
    first, second = counting("first"), counting("second", 2)
    host.apply(host.worker("count", [(first, 100)]))
    assert [host.get().text for _ in range(3)] == ["first 1", "first 2", "first 3"]
    host.apply(host.worker("count", [(first, 50), (second, 50)]))
    texts = [host.get().text for _ in range(20)]
    assert [int(text.split()[1]) for text in texts] == list(range(4, 24))
    assert {text.split()[0] for text in texts} == {"first", "second"}
    host.apply(host.worker("count", [(second, 100)], spare=[first]))
    assert host.get().text == "second 24"
    host.apply(host.worker("count", [(first, 100)], spare=[second]))
    assert host.get().text == "first 25"


def test_a_class_without_a_binding_is_kept_and_another_worker_may_bind_it(host: Host) -> None:
    owner = Version(
        {"index.js": COUNTER % "owner"}, exports={"Counter": {"type": "durable-object", "storage": "sqlite"}}
    )
    user = Version(
        {"index.js": "export default { fetch: async (r, env) => new Response(await env.C.getByName('x').hit()) }"},
        bindings=[{"name": "C", "type": "durable_object_namespace", "class_name": "Counter", "script_name": "owner"}],
    )
    host.apply(host.worker("user", [(user, 100)]), host.worker("owner", [(owner, 100)]))
    assert [host.get().text for _ in range(2)] == ["1", "2"]


def test_state_survives_a_clean_stop(start: StartHost) -> None:
    host = start()
    host.apply(
        host.worker("count", [(counting("a"), 100)]), kv=["n"], r2=[{"id": "b", "name": "b", "jurisdiction": "default"}]
    )
    assert host.get().text == "a 1"
    host.admin.put(host.kv("n", "k"), content=b"kept")
    host.admin.put(host.object("b", "k"), content=b"kept too")
    assert host.stop() == 0
    again = start()
    again.apply(
        again.worker("count", [(counting("a"), 100)]),
        kv=["n"],
        r2=[{"id": "b", "name": "b", "jurisdiction": "default"}],
    )
    assert again.get().text == "a 2"
    assert again.admin.get(again.kv("n", "k")).content == b"kept"
    assert again.admin.get(again.object("b", "k")).content == b"kept too"


def test_a_killed_host_leaves_nothing_that_stops_the_next_start(start: StartHost) -> None:
    host = start()
    host.apply(host.worker("count", [(counting("a"), 100)]))
    assert host.get().text == "a 1"
    orphan = host.admin.get("/health").json()["workerd_pid"]
    port = host.ready["front_port"]
    host.process.kill()
    host.ended()
    assert running(orphan)
    again = start(front_port=port)
    assert again.ready["ready"] is True
    ends(orphan)
    again.apply(again.worker("count", [(counting("a"), 100)]))
    assert again.get().text == "a 2"


def test_a_pid_that_belongs_to_another_process_by_now_is_left_alone(start: StartHost, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    stranger = f'{{"host":{{"pid":1,"start":"0"}},"children":[{{"pid":{os.getpid()},"start":"0"}}]}}'
    (tmp_path / "data" / "processes.json").write_text(stranger)
    assert start().ready["ready"] is True


def test_the_runtime_comes_back_when_it_is_killed(start: StartHost) -> None:
    host = start()
    stable, candidate = counting("stable"), counting("candidate", 2)
    host.apply(host.worker("count", [(stable, 100), (candidate, 0)]))
    # Pushed live, so that only the host knows it when the router starts anew.
    host.apply(host.worker("count", [(stable, 0), (candidate, 100)]))
    assert host.get().text == "candidate 1"
    pid = host.admin.get("/health").json()["workerd_pid"]
    os.kill(pid, signal.SIGKILL)
    ends(pid)
    assert host.get().text == "candidate 2"
    until(lambda: host.admin.get("/health").json()["workerd_pid"] not in (pid, None))
    assert host.apply(host.worker("count", [(stable, 100), (candidate, 0)]))["reloaded"] is False
    assert host.get().text == "stable 3"


def test_a_reload_lands_elsewhere_when_another_program_takes_its_port(start: StartHost) -> None:
    host = start()
    host.apply(host.worker("count", [(counting("first"), 100)]))
    assert host.get().text == "first 1"
    thief = Thief(listening(host.admin.get("/health").json()["workerd_pid"]))
    try:
        assert host.apply(host.worker("count", [(counting("second"), 100)]))["reloaded"] is True
        assert host.get().text == "second 2"
    finally:
        assert thief.close(), "no port was taken: this run shows nothing"
    assert host.events("the runtime's port was taken by another program; it moves to a free one")


def test_a_crashed_runtime_comes_back_elsewhere_when_another_program_takes_its_port(start: StartHost) -> None:
    host = start()
    host.apply(host.worker("count", [(counting("a"), 100)]))
    assert host.get().text == "a 1"
    pid = host.admin.get("/health").json()["workerd_pid"]
    thief = Thief(listening(pid))
    try:
        os.kill(pid, signal.SIGKILL)
        ends(pid)
        until(lambda: host.admin.get("/health").json()["workerd_pid"] not in (pid, None))
        until(lambda: host.get().text == "a 2")
    finally:
        assert thief.close(), "no port was taken: this run shows nothing"
    assert host.apply(host.worker("count", [(counting("b"), 100)]))["reloaded"] is True
    assert host.get().text == "b 3"


def test_no_process_is_left_when_stdin_closes_or_on_a_signal(start: StartHost) -> None:
    for signalled in (False, True):
        host = start()
        pid = host.ready["workerd_pid"]
        assert running(pid)
        if signalled:
            host.process.terminate()
            host.ended()
        else:
            assert host.stop() == 0
        ends(pid)


def test_a_port_in_use_is_told_and_nothing_is_left(start: StartHost) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        host = start(front_port=taken.getsockname()[1])
        assert host.ready["ready"] is False
        assert host.ready["error"]["code"] == "port_in_use"
        assert host.ended() == 3


def test_two_hosts_do_not_share_one_data_directory(start: StartHost) -> None:
    first = start()
    second = start()
    assert second.ready["error"]["code"] == "already_running"
    assert second.ended() == 3
    first.apply(first.worker("x", [(says("alive"), 100)]))
    assert first.get().text == "alive"


def test_a_bad_config_is_told(start: StartHost) -> None:
    host = start(s3={})
    assert host.ready["error"] == {
        "code": "bad_config",
        "message": 'config: "access_key_id" must be a non-empty string',
    }
    assert host.ended() == 3


def test_starting_takes_seconds_at_most(start: StartHost) -> None:
    # A start that waits for something in vain ends well too, only late; no clock but the machine's can tell of it.
    began = time.monotonic()
    start()
    assert time.monotonic() - began < 20
