"""What leaves a Worker beside its answers: data points, logs, queue messages, scheduled runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.local.host.conftest import StartHost
from tests.local.host.driver import Host, Version, until
from tests.local.host.upstream import Upstream

SOURCE = """
export default {
  async fetch(request, env, ctx) {
    const path = new URL(request.url).pathname;
    if (path === "/throw") throw new RangeError("thrown on purpose");
    if (path === "/late") { ctx.waitUntil(Promise.reject(new Error("rejected late"))); return new Response("ok"); }
    if (path === "/send") {
      await env.EVENTS.send({ n: 1 });
      await env.EVENTS.sendBatch([{ body: "two" }, { body: "three" }]);
    }
    if (path === "/bad") return new Response(refused(() => env.METRICS.writeDataPoint({ indexes: ["a", "b"] })));
    console.log("handled", path, { deep: true });
    const blobs = [path, new TextEncoder().encode("b").buffer, null];
    const nothing = env.METRICS.writeDataPoint({ indexes: ["chat@1"], blobs, doubles: [1.5, 2] });
    return new Response(String(nothing));
  },
  async scheduled(controller, env) { await env.KV.put("cron", `${controller.cron} ${controller.scheduledTime}`); },
  async queue(batch, env) {
    for (const message of batch.messages) await env.KV.put(`got ${JSON.stringify(message.body)}`, batch.queue);
  },
};
function refused(call) { try { call(); } catch (error) { return String(error); } }
"""
BINDINGS = [
    {"name": "METRICS", "type": "analytics_engine", "dataset": "sluiceway_test"},
    {"name": "EVENTS", "type": "queue", "queue_name": "events"},
    {"name": "KV", "type": "kv_namespace", "namespace_id": "kv"},
]


@dataclass(frozen=True)
class Eventful:
    host: Host
    version: Version
    sink: Upstream


@pytest.fixture(scope="module")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Eventful]:
    sink = Upstream()
    host = Host(tmp_path_factory.mktemp("eventful"), sink_url=f"{sink.url}/sink")
    version = Version({"index.js": SOURCE}, bindings=BINDINGS)
    consumers = [{"queue": "events", "script": "eventful", "batch_size": 10, "max_wait_time_ms": 100}]
    host.apply(host.worker("eventful", [(version, 100)]), kv=["kv"], queues=["events"], consumers=consumers)
    yield Eventful(host, version, sink)
    host.stop()
    sink.close()


def test_a_data_point_reaches_the_sink_and_a_bad_one_throws(eventful: Eventful) -> None:
    assert eventful.host.get("/point").text == "undefined"
    until(lambda: any(point["blobs"][0] == "/point" for point in eventful.sink.named("analytics")))
    (point,) = (point for point in eventful.sink.named("analytics") if point["blobs"][0] == "/point")
    assert point.pop("timestamp") > 1_700_000_000_000
    assert point == {
        "kind": "analytics",
        "dataset": "sluiceway_test",
        "script": "eventful",
        "version": eventful.version.id,
        "indexes": ["chat@1"],
        "blobs": ["/point", "b", None],
        "doubles": [1.5, 2],
    }
    assert "indexes" in eventful.host.get("/bad").text


def test_logs_and_exceptions_reach_the_sink_with_their_worker(eventful: Eventful) -> None:
    host, version, sink = eventful.host, eventful.version, eventful.sink
    for path in ("/logged", "/throw", "/late"):
        host.get(path)
    tails: dict[str, dict[str, Any]] = {}

    def come() -> bool:
        requests = [event for event in sink.named("tail") if event["request"]]
        tails.update({event["request"]["url"].rsplit("/", 1)[1]: event for event in requests})
        return {"logged", "throw", "late"} <= tails.keys()

    until(come)
    assert all((event["script"], event["version"]) == ("eventful", version.id) for event in tails.values())
    assert tails["logged"]["logs"][0]["message"] == ["handled", "/logged", {"deep": True}]
    assert (tails["logged"]["outcome"], tails["logged"]["status"]) == ("ok", 200)
    assert tails["throw"]["exceptions"][0]["message"] == "thrown on purpose"
    assert "index.js:5" in tails["throw"]["exceptions"][0]["stack"]
    assert tails["late"]["exceptions"][0]["message"] == "rejected late"


def test_a_cron_runs_the_scheduled_handler_with_its_time(eventful: Eventful) -> None:
    host = eventful.host
    call = {"script": "eventful", "cron": "*/5 * * * *", "scheduled_time": 1_790_000_000_000}
    assert host.admin.post("/cron", json=call).json() == {"outcome": "ok"}
    assert host.admin.get(host.kv("kv", "cron")).text == "*/5 * * * * 1790000000000"


@pytest.mark.parametrize(
    ("change", "words"), [({"cron": "61 * * * *"}, "minute"), ({"script": "absent"}, "no deployed version")]
)
def test_a_cron_that_cannot_run_is_refused(eventful: Eventful, change: dict[str, str], words: str) -> None:
    host = eventful.host
    answer = host.admin.post("/cron", json={"script": "eventful", "cron": "* * * * *", **change})
    assert answer.status_code == 422 and words in answer.json()["error"]["message"]


def test_queue_messages_reach_the_consumer(eventful: Eventful) -> None:
    host = eventful.host
    host.get("/send")
    wanted = ['got "three"', 'got "two"', 'got {"n":1}']
    until(lambda: len(host.admin.get("/kv/kv/keys", params={"prefix": "got"}).json()["keys"]) == 3)
    keys = host.admin.get("/kv/kv/keys", params={"prefix": "got"}).json()["keys"]
    assert [entry["name"] for entry in keys] == wanted


def test_a_sink_that_is_down_costs_no_request(start: StartHost) -> None:
    host = start(sink_url="http://127.0.0.1:9/sink")
    version = Version({"index.js": SOURCE}, bindings=BINDINGS)
    host.apply(host.worker("eventful", [(version, 100)]), kv=["kv"], queues=["events"])
    assert host.get("/").status_code == 200
    until(lambda: host.events("events could not be delivered"))
