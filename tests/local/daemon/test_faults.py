"""``sluiceway local faults`` on a real stage: what the command says, and what a Worker's AI binding then gets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError
from typer.testing import CliRunner

from sluiceway.cli.main import app
from sluiceway.cloudflare import r2
from sluiceway.errors import UserError
from sluiceway.local import lifecycle
from sluiceway.local.faults import client
from tests.local.daemon.test_whole_stage import Stage, started

MODELS = """
task: chat
versions:
  - { version: chat@1, backend: workers-ai, id: "@cf/zai-org/glm-4.7-flash" }
  - { version: chat@2, backend: workers-ai, id: "@cf/moonshotai/kimi-k2.6" }
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A workspace with a catalogue, and its running stage."""
    root = tmp_path_factory.mktemp("faults")
    for folder in ("stacks", "models"):
        (root / folder).mkdir()
    (root / "Pulumi.yaml").touch()
    (root / "models" / "chat.yaml").write_text(MODELS, "utf-8")
    with started(root / ".sluiceway" / "local") as found:
        found.deploy()
        yield found


@pytest.fixture(autouse=True)
def none_left(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLUICEWAY_ROOT", str(stage.data.parents[1]))
    yield
    client.clear(stage.data)


def say(*words: str) -> str:
    done = CliRunner().invoke(app, ["local", *words])
    assert done.exit_code == 0, done.output
    return done.output


def told(*words: str) -> Any:  # noqa: ANN401 - whatever JSON came
    return json.loads(say(*words, "--json"))


def test_a_fault_is_added_met_by_the_binding_listed_and_cleared(stage: Stage) -> None:
    assert say("faults", "list") == "none\n"
    added = say("faults", "add", "--model", "chat@1", "--status", "429", "--code", "3040", "--count", "1")
    assert added == "1  glm-4.7-flash  status 429, code 3040, count 1  hit 0 of 0\n"
    refused = stage.ask("hi")
    assert (refused.status_code, refused.text[:5]) == (502, "3040:")
    assert stage.ask("#count 2").text == "1 2"
    assert say("faults", "list") == "1  glm-4.7-flash  status 429, code 3040, count 1  hit 1 of 1  ended\n"
    assert say("faults", "clear") == "cleared 1\n"
    assert told("faults", "list") == []


def test_a_model_of_the_catalogue_stands_for_its_versions(stage: Stage) -> None:
    ids = ["@cf/zai-org/glm-4.7-flash", "@cf/moonshotai/kimi-k2.6"]
    assert told("faults", "add", "--model", "chat", "--drop")["models"] == ids
    assert told("faults", "add", "--model", "chat@2", "--model", "*flash", "--drop")["models"] == [ids[1], "*flash"]
    with pytest.raises(UserError, match="no such model") as caught:
        CliRunner().invoke(app, ["local", "faults", "add", "--model", "chta", "--drop"], catch_exceptions=False)
    assert str(caught.value.hint).startswith("one of chat; ")
    with pytest.raises(UserError, match="no such version"):
        CliRunner().invoke(app, ["local", "faults", "add", "--model", "chat@9", "--drop"], catch_exceptions=False)


def test_a_connection_that_is_dropped_or_cut_is_an_error_of_the_binding(stage: Stage) -> None:
    say("faults", "add", "--drop", "--count", "1")
    say("faults", "add", "--broken", "json", "--count", "1")
    say("faults", "add", "--cut-after", "3")
    assert stage.ask("#count 9").status_code == 502
    assert stage.ask("#count 9").status_code == 502
    # workerd ends a stream of its AI binding that was cut as if it were over: only its last words are missing.
    cut = stage.ask("#count 9", stream=True).text
    assert cut.count('"content":" ') == 2
    assert "[DONE]" not in cut
    assert '"finish_reason":"' not in cut


def test_the_status_of_the_stage_tells_of_faults_that_are_on(stage: Stage) -> None:
    say("faults", "add", "--delay-ms", "5", "--seconds", "60")
    say("faults", "add", "--drop", "--count", "1", "--backend", "openai")
    shown = say("status").splitlines()
    assert shown[0].startswith("running: ")
    assert [line.split(" s left")[0][:37] for line in shown[1:]] == [
        "fault 1  every model  delay_ms 5, sec",
        "fault 2  every model  backend openai,",
    ]
    assert [fault["id"] for fault in told("status")["faults"]] == [1, 2]


def test_a_call_of_the_api_whose_answer_is_lost_was_made_all_the_same(stage: Stage) -> None:
    added = say("faults", "add", "--api", "kv", "--method", "POST", "--drop", "--after", "--count", "1")
    assert added == "1  api kv POST  drop, after, count 1  hit 0 of 0\n"
    namespaces = f"{stage.account}/storage/kv/namespaces"
    with pytest.raises(httpx.TransportError):
        stage.client.post(namespaces, json={"title": "lost"})
    assert [one["title"] for one in stage.client.get(namespaces).json()["result"]] == ["lost"]
    assert "Traceback" not in (stage.data / "logs" / "control.log").read_text("utf-8")


def test_the_s3_api_meets_its_faults_before_and_after_the_object_is_there(stage: Stage) -> None:
    made = stage.client.post(f"{stage.account}/r2/buckets", json={"name": "hurt"})
    assert made.is_success, made.text
    keys = r2.credentials(lifecycle.read_token(stage.data), r2.local_token_id(lifecycle.read_token(stage.data)))
    once = r2.client(stage.runtime.s3_url, keys.access_key_id, keys.secret_access_key, attempts=1)
    for number, words in enumerate(
        [("--drop",), ("--status", "503"), ("--drop", "--after"), ("--status", "500", "--after")]
    ):
        say("faults", "add", "--api", "r2-s3", "--method", "PUT", "--path", "/hurt/*", "--count", "1", *words)
        with pytest.raises((ClientError, ConnectionClosedError, EndpointConnectionError)):
            once.put_object(Bucket="hurt", Key=str(number), Body=b"x" * 300_000)
    assert [one["Key"] for one in once.list_objects_v2(Bucket="hurt")["Contents"]] == ["2", "3"]
    file, digest = stage.data.parent / "file", hashlib.sha256(b"file").hexdigest()
    file.write_bytes(b"file")
    say("faults", "add", "--api", "r2-s3", "--method", "PUT", "--method", "DELETE", "--drop", "--after")
    assert r2.upload(once, "hurt", "file", file, digest, "text/plain").size == 4
    r2.delete(once, "hurt", "file")
    assert r2.head(once, "hurt", "file") is None
    say("faults", "clear")
    say("faults", "add", "--api", "r2-s3", "--status", "503", "--count", "1")
    say("faults", "add", "--api", "r2-s3", "--status", "429", "--retry-after", "0", "--count", "2")
    patient = r2.client(stage.runtime.s3_url, keys.access_key_id, keys.secret_access_key)
    patient.put_object(Bucket="hurt", Key="4", Body=b"x")
    assert patient.get_object(Bucket="hurt", Key="4")["Body"].read() == b"x"


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("add",), "fault"),
        (("add", "--status", "200"), "status"),
        (("add", "--api", "kw", "--drop"), "api"),
        (("add", "--after"), "fault"),
        (("add", "--model", "nope", "--drop"), "--model"),
        (("add", "--drop", "--share", "2"), "share"),
        (("clear", "77"), "id"),
    ],
    ids=str,
)
def test_a_mistake_is_told_with_its_field_and_a_hint(stage: Stage, words: tuple[str, ...], path: str) -> None:
    with pytest.raises(UserError) as caught:
        CliRunner().invoke(app, ["local", "faults", *words], catch_exceptions=False)
    assert caught.value.path == path
    assert caught.value.hint


def test_a_dropped_connection_is_no_failure_of_the_stages_own(stage: Stage) -> None:
    say("faults", "add", "--drop", "--count", "1")
    stage.ask("hi")
    log = (stage.data / "logs" / "control.log").read_text("utf-8")
    assert "Traceback" not in log


def test_a_stage_that_does_not_run_has_no_faults(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not running"):
        client.listed(tmp_path / "local")
