"""``sluiceway models evaluate``: asked of a stage over HTTP, told as a table, ended by the gate's exit code."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sluiceway.cli import inspect, models
from sluiceway.cli.main import app
from sluiceway.errors import GateAborted, SluicewayError, UserError

ROOT = Path(__file__).resolve().parents[3]
KEY, ADMIN = "slw-caller-canary", "slw-admin-canary-0123456789"
VIEW: dict[str, Any] = {
    "model": "chat", "phase": "checking", "paused_from": None, "strategy": "canary", "stable": 1, "candidates": [2],
    "weights": [[1, 100], [2, 0]], "step": None, "steps": [], "since": 0, "until": None, "waiting": "waits",
    "platform": False, "gates": [], "readout": [], "held": False, "spec_digest": "d", "order": "o", "revision": 1,
    "release": "r",
}  # fmt: skip


class Stage:
    """A stage over HTTP. ``answer`` is what a version says to a prompt; ``hold`` keeps later answers back."""

    def __init__(self) -> None:
        self.answer: Callable[[str, str], str] = lambda _model, _prompt: "a good answer"
        self.view = dict(VIEW)
        self.asked: list[tuple[str, str]] = []
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.authorized: set[str] = set()
        self.hold_after: int | None = None
        self.released = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _handler(stage) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(stage.view)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                stage.authorized.add(self.headers["authorization"])
                if self.path.startswith("/_sluiceway"):
                    stage.posted.append((self.path, body))
                    self._send(stage.view)
                    return
                model, prompt = body["model"], body["messages"][-1]["content"]
                stage.asked.append((model, prompt))
                if stage.hold_after is not None and len(stage.asked) > stage.hold_after:
                    stage.released.wait(120)
                message = {"role": "assistant", "content": stage.answer(model, prompt)}
                self._send({"choices": [{"message": message, "finish_reason": "stop"}]}, model)

            def _send(self, document: object, model: str = "") -> None:
                text = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(text)))
                self.send_header("x-sluiceway-model", model)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None: ...

        return Handler


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("SLUICEWAY_ROOT", str(ROOT))
    monkeypatch.setenv("SLUICEWAY_SECRET_API_KEY", KEY)
    monkeypatch.setenv("SLUICEWAY_SECRET_ADMIN_KEY", ADMIN)
    made = Stage()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.released.set()
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.jsonl"
    checks = [{"kind": "contains", "text": "good"}, {"kind": "regex", "pattern": "answer$"}]
    lines = [
        {
            "id": f"p-{at}",
            "language": ("en", "zh")[at % 2],
            "topic": "facts",
            "prompt": f"prompt {at}",
            "checks": checks,
        }
        for at in range(20)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def evaluate(stage: Stage, golden: Path, *words: str, version: str = "chat@2") -> Result:
    line = ["evaluate", version, "local", "--golden", str(golden), "--url", stage.url, *words]
    return CliRunner().invoke(models.app, line, catch_exceptions=True)


def broken(model: str, _prompt: str) -> str:
    return "no" if model == "chat@2" else "a good answer"


def test_a_worse_version_is_told_in_a_table_and_ends_with_the_gates_exit_code(stage: Stage, golden: Path) -> None:
    stage.answer = broken
    done = evaluate(stage, golden)
    assert isinstance(done.exception, GateAborted)
    assert done.exception.exit_code == 3
    assert done.exception.path == str(golden)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["pairs", "chat@1", "chat@2", "difference", "90", "%", "interval"]
    assert lines[1].split()[:5] == ["all", "11", "1.00", "0.00", "-1.00"]
    assert [line.split("  ")[0] for line in lines[2:7]] == [
        "language en", "language zh", "topic facts", "check contains", "check regex",
    ]  # fmt: skip
    assert "where chat@2 lost most:" in lines
    assert lines[-1].startswith("fail: chat@2 scores 0.00 and chat@1 1.00 in 11 pairs")
    assert stage.authorized == {f"Bearer {KEY}"}
    assert KEY not in done.output and ADMIN not in done.output


def test_json_is_one_document_and_the_exit_code_the_same(stage: Stage, golden: Path) -> None:
    stage.answer = broken
    done = evaluate(stage, golden, "--json")
    assert done.exit_code == 3
    told = json.loads(done.stdout)
    assert (told["stage"], told["verdict"], told["golden"]) == ("local", "fail", str(golden))
    assert told["rows"][0]["pairs"] == 11


def test_an_equal_version_passes_when_it_is_asked_often_enough(stage: Stage, golden: Path) -> None:
    done = evaluate(stage, golden, "--rounds", "3", "--margin", "0.2", "--parallel", "8")
    assert done.exit_code == 0, done.exception
    assert done.stdout.splitlines()[-1].startswith("pass: ")


def test_what_stays_undecided_is_said_and_is_no_failure_unless_it_is_made_one(stage: Stage, golden: Path) -> None:
    done = evaluate(stage, golden, "--rounds", "1")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("inconclusive: ")
    assert "undecided: neither verdict is sure enough" in done.stderr
    assert "20 of at most 20 pairs" in done.stderr
    strict = evaluate(stage, golden, "--rounds", "1", "--require-pass")
    assert isinstance(strict.exception, GateAborted)
    assert evaluate(stage, golden, "--rounds", "1", "--require-pass", "--json").exit_code == 3


def test_a_wide_margin_lets_a_little_worse_pass(stage: Stage, golden: Path) -> None:
    stage.answer = lambda model, prompt: "no" if model == "chat@2" and prompt == "prompt 1" else "a good answer"
    assert json.loads(evaluate(stage, golden, "--margin", "0.5", "--json").stdout)["verdict"] == "pass"


def test_a_few_prompts_may_be_enough(stage: Stage, golden: Path) -> None:
    done = evaluate(stage, golden, "--limit", "4", "--rounds", "1", "--json")
    assert json.loads(done.stdout)["planned"] == 4
    assert len(stage.asked) == 8


def test_the_stable_version_is_compared_with_when_none_is_named(stage: Stage, golden: Path) -> None:
    evaluate(stage, golden, "--rounds", "1", "--limit", "1")
    assert {model for model, _ in stage.asked} == {"chat@1", "chat@2"}
    stage.asked.clear()
    evaluate(stage, golden, "--rounds", "1", "--limit", "1", "--against", "chat@2", version="chat@1")
    assert {model for model, _ in stage.asked} == {"chat@1", "chat@2"}


def test_a_report_tells_the_rollout_the_verdict_as_its_check(stage: Stage, golden: Path) -> None:
    stage.answer = broken
    done = evaluate(stage, golden, "--report")
    assert isinstance(done.exception, GateAborted)
    ((path, body),) = stage.posted
    assert path == "/_sluiceway/rollouts/chat/checks"
    assert (body["check"], body["verdict"], body["stable"], body["candidate"]) == ("golden", "fail", 1, 2)
    assert body["summary"].startswith("chat@2 scores 0.00")
    assert body["summary"].endswith("worse by more than 0.05"), "the journal's sentence ends it"
    assert body["actor"]
    assert stage.authorized == {f"Bearer {KEY}", f"Bearer {ADMIN}"}
    assert "told the rollout of chat on local: fail" in done.stderr


def test_a_report_on_a_rollout_of_other_versions_is_refused_before_anything_is_asked(
    stage: Stage, golden: Path
) -> None:
    stage.view["candidates"] = [3]
    done = evaluate(stage, golden, "--report")
    assert isinstance(done.exception, UserError)
    assert str(done.exception).startswith("--report: the stage's rollout has stable 1 and candidates 3")
    assert (stage.asked, stage.posted) == ([], [])


@pytest.mark.parametrize(
    ("version", "words", "told"),
    [
        ("chat", (), "VERSION: a model version is written like chat@3"),
        ("chat@9", (), "VERSION: there is no model version chat@9"),
        ("chat@1", (), "--against: a version is compared with another version of its model"),
        ("chat@2", ("--against", "embed@1"), "--against: a version is compared with another version of its model"),
        ("chat@2", ("--against", "chat@7"), "--against: there is no model version chat@7"),
        ("chat@2", ("--url", "http://gateway.test"), "--url: is no URL to send a key to"),
    ],
)
def test_a_mistake_in_the_call_is_told_before_anything_is_asked(
    stage: Stage, golden: Path, version: str, words: tuple[str, ...], told: str
) -> None:
    done = evaluate(stage, golden, *words, version=version)
    assert isinstance(done.exception, UserError)
    assert str(done.exception).startswith(told)
    assert stage.asked == []


def test_the_models_are_listed_by_the_command_alone(stage: Stage) -> None:
    listed = CliRunner().invoke(app, ["models", "--json"], catch_exceptions=False)
    glm = {"version": "chat@1", "backend": "workers-ai", "id": "@cf/zai-org/glm-4.7-flash", "lora": None}
    assert glm in json.loads(listed.stdout)
    assert CliRunner().invoke(app, ["models"]).stdout.splitlines()[0].split()[0] == "chat@1"


def test_validate_reads_the_golden_prompts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("models", "stacks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    monkeypatch.setenv("SLUICEWAY_ROOT", str(tmp_path))
    done = CliRunner().invoke(app, ["validate", "local"], catch_exceptions=False)
    assert done.stdout.splitlines()[-1] == "golden      ok  chat 64 prompts"
    path = tmp_path / "models/golden/chat.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:2], lines[2].replace('"kind": "contains"', '"kind": "contain"')]), "utf-8")
    with pytest.raises(SluicewayError, match=r"models/golden/chat\.jsonl:3: checks\[0\]\.kind: is no kind of check"):
        inspect.validate("local")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_ctrl_c_ends_it_at_once_and_leaves_nothing(stage: Stage, golden: Path) -> None:
    stage.hold_after = 16
    line = [sys.executable, "-m", "sluiceway", "models", "evaluate", "chat@2", "--golden", str(golden)]
    asking = subprocess.Popen(
        [*line, "--url", stage.url], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    children: list[int] = []
    while not (len(stage.asked) > 16 and children):
        assert asking.poll() is None, asking.communicate()
        time.sleep(0.05)
        children = [int(pid) for pid in Path(f"/proc/{asking.pid}/task/{asking.pid}/children").read_text().split()]
    asking.send_signal(signal.SIGINT)
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (130, "")
    assert "error: interrupted" in err and "Traceback" not in err
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
