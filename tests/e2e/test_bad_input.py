"""What a person may get wrong: one clear error with its path and a hint, exit code 2, nothing changed."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.checkout import Checkout, make_checkout
from tests.warm import Done, Warm

STACK = "stacks/Pulumi.local.yaml"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[Checkout]:
    """A checkout in which nothing has been started; every test here leaves it so."""
    checkout = make_checkout(tmp_path_factory.mktemp("untouched"), warm)
    yield checkout
    checkout.sluiceway("local", "stop")


def assert_refused(done: Done, *words: str) -> None:
    assert done.code == 2, done.err
    errors = [line for line in done.err.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, done.err
    assert "hint:" in done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


def append(file: str, text: str) -> Callable[[Checkout], None]:
    def change(checkout: Checkout) -> None:
        path = checkout.root / file
        path.write_text(path.read_text("utf-8") + text, "utf-8")

    return change


SPLIT = (
    "  sluiceway:models: {{chat: {{split: [{{version: chat@1, weight: 90}}, {{version: chat@{v}, weight: {w}}}]}}}}\n"
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (append(STACK, "  sluiceway:workers_dev: perhaps\n"), (STACK, "workers_dev", "perhaps")),
        (append(STACK, "  sluiceway:cache: {ttl: soon}\n"), (STACK, "cache.ttl", "soon")),
        (append(STACK, "  sluiceway:chache: {ttl: 60}\n"), (STACK, "chache", "cache")),
        (append(STACK, SPLIT.format(v=2, w=9)), (STACK, "chat", "99")),
        (append(STACK, SPLIT.format(v=7, w=10)), (STACK, "chat@7", "chat@2")),
        (append("models/chat.yaml", "  broken: [\n"), ("models/chat.yaml",)),
    ],
    ids=["boolean", "number", "unknown key", "weights sum to 99", "no such model version", "not YAML"],
)
def test_a_fault_in_a_file_is_told_with_its_path(
    untouched: Checkout, change: Callable[[Checkout], None], words: tuple[str, ...]
) -> None:
    files = [untouched.root / STACK, untouched.root / "models/chat.yaml"]
    before = [file.read_text("utf-8") for file in files]
    change(untouched)
    try:
        for command in (("up", "local"), ("validate",)):
            assert_refused(untouched.sluiceway(*command), *words)
    finally:
        for file, text in zip(files, before, strict=True):
            file.write_text(text, "utf-8")
    assert not (untouched.root / ".sluiceway").exists(), "nothing was started or written"


@pytest.mark.parametrize("command", ["up", "preview", "refresh", "destroy", "env", "validate", "output"])
def test_wr_02_an_unknown_stage_is_refused_with_the_known_ones(untouched: Checkout, command: str) -> None:
    assert_refused(untouched.sluiceway(command, "stagng"), "stagng", "staging", "local, dev, staging, production")
    assert not (untouched.root / ".sluiceway").exists()


def test_with_json_the_error_is_one_document(untouched: Checkout) -> None:
    done = untouched.sluiceway("up", "stagng", "--json")
    assert done.code == 2
    document = json.loads(done.out)
    assert document["exit_code"] == 2
    assert "staging" in document["hint"]


def test_a_stage_without_an_account_is_not_brought_up(untouched: Checkout) -> None:
    assert_refused(untouched.sluiceway("up", "production"), "stacks/Pulumi.production.yaml", "account")
    assert not (untouched.root / ".sluiceway").exists()


@pytest.mark.parametrize("port", ["http", "-1", "70000", "٣"])
def test_a_port_that_is_none_is_refused(untouched: Checkout, port: str) -> None:
    assert_refused(untouched.sluiceway("up", "local", SLUICEWAY_LOCAL_PORT=port), "SLUICEWAY_LOCAL_PORT")


@pytest.mark.long
def test_a_port_in_use_is_named_and_nothing_is_left_running(untouched: Checkout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for name in ("SLUICEWAY_LOCAL_PORT", "SLUICEWAY_LOCAL_API_PORT"):
            assert_refused(untouched.sluiceway("up", "local", **{name: port}), port)
            assert json.loads(untouched.sluiceway("local", "status", "--json").out)["state"] == "stopped"


@pytest.mark.long
def test_a_dead_local_stage_is_told_from_one_that_never_ran(untouched: Checkout) -> None:
    assert_refused(untouched.sluiceway("env", "local"), "not running", "sluiceway local start")
    assert untouched.sluiceway("local", "start").code == 0
    runtime = json.loads(untouched.sluiceway("local", "status", "--json").out)
    os.kill(int(runtime["pid"]), signal.SIGKILL)
    state = untouched.fingerprint("stacks", ".sluiceway/state")
    for command in (("env", "local"), ("preview", "local"), ("destroy", "local", "--yes")):
        assert_refused(untouched.sluiceway(*command), "not running", "sluiceway local start")
    assert untouched.fingerprint("stacks", ".sluiceway/state") == state
    assert untouched.sluiceway("local", "start").code == 0, "and it starts again"


def test_no_go_and_no_network_is_one_error_that_says_what_was_tried(untouched: Checkout, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    offline = {
        "PATH": "/usr/bin:/bin",
        "SLUICEWAY_CACHE_DIR": str(tmp_path / "cache"),
        "GOPROXY": nowhere,
        "PIP_INDEX_URL": nowhere,
        "PIP_RETRIES": "0",
        "PIP_NO_INDEX": "1",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
    }
    done = untouched.sluiceway("engine", **offline)
    assert_refused(done, "there is no Pulumi engine", str(tmp_path / "cache"))
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == [], "nothing half-made is left"


def test_destroying_without_a_yes_is_refused(untouched: Checkout) -> None:
    assert_refused(untouched.sluiceway("destroy", "local"), "not confirmed", "--yes")
