"""``sluiceway models lora`` on a checkout, against an account in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sluiceway import catalog
from sluiceway.catalog import lock
from sluiceway.cli import models_lora
from sluiceway.cli.main import app
from sluiceway.errors import SluicewayError, UserError
from sluiceway.workspace import Workspace
from tests.unit.pipeline.lora.account import FakeAccount
from tests.unit.pipeline.lora.tiny import GEMMA, settings, weights, write

CHAT = 'task: chat\ndefault: true\nversions:\n  - {version: chat@1, backend: workers-ai, id: "@cf/zai-org/glm-5.2"}\n'


@dataclass
class World:
    """A checkout with an adapter of one layer at ``adapter``."""

    root: Path
    account: FakeAccount = field(default_factory=FakeAccount)

    @property
    def adapter(self) -> Path:
        return self.root / "adapter"

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["models", "lora", *words])

    def publish(self, *words: str) -> Result:
        return self.run("publish", str(self.adapter), "--base", "gemma-2b-it-lora", "--name", "tone-1", *words)

    def json(self, result: Result) -> Any:  # noqa: ANN401 - JSON
        assert result.exception is None, result.exception
        return json.loads(result.stdout)

    def models(self) -> str:
        return (self.root / "models" / "chat.yaml").read_text()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "stacks" / "Pulumi.local.yaml").write_text("config: {}\n")
    (tmp_path / "models" / "chat.yaml").write_text(CHAT)
    lock.append(tmp_path / "models", catalog.load(Workspace(tmp_path)).models)
    made = World(tmp_path)
    write(made.adapter, settings(layers_to_transform=0), weights(layers=[0]))
    monkeypatch.setenv("SLUICEWAY_ROOT", str(tmp_path))
    monkeypatch.setattr(models_lora, "open_finetunes", lambda _workspace, _stage: made.account)
    return made


def test_check_says_what_the_adapter_is_and_sends_nothing(world: World) -> None:
    done = world.run("check", str(world.adapter), "--base", GEMMA.id)
    assert done.exception is None
    assert done.stdout.startswith(f"fits {GEMMA.id}: rank 1, alpha 16, v_proj in 1 of 18 layers, 2,304 weights as F16")
    assert "publishing adds model_type: gemma" in done.stdout
    told = world.json(world.run("check", str(world.adapter), "--base", "gemma-2b-it-lora", "--json"))
    assert (told["base"], told["rank"], told["modules"], told["layers"]) == (GEMMA.id, 1, ["v_proj"], 1)
    assert [file["name"] for file in told["files"]] == ["adapter_config.json", "adapter_model.safetensors"]
    assert world.account.log == []


def test_a_fault_is_one_error_with_exit_code_2(world: World) -> None:
    found = world.run("check", str(world.adapter), "--base", "mistral-7b-instruct-v0.2-lora").exception
    assert isinstance(found, UserError)
    assert found.exit_code == 2
    assert found.hint == f"take --base {GEMMA.id}"


def test_publish_prints_the_version_and_with_write_puts_it_into_the_model_and_the_lock(world: World) -> None:
    done = world.publish("--model", "chat")
    assert done.exception is None
    assert f'  - version: chat@2\n    backend: workers-ai\n    id: "{GEMMA.id}"\n    lora: tone-1\n' in done.stdout
    assert "published tone-1 to local" in done.stderr
    assert world.models() == CHAT
    told = world.json(world.publish("--model", "chat", "--write", "--json"))
    assert (told["already"], told["sent"], told["version"], told["written"]) == (True, [], "chat@2", True)
    (model,) = catalog.load_for(Workspace(world.root), "local").models
    assert [(version.id, version.lora) for version in model.versions][-1] == (GEMMA.id, "tone-1")
    assert "chat@2 " in (world.root / "models" / "versions.lock").read_text()


def test_a_version_that_is_there_is_not_written_twice(world: World) -> None:
    world.publish("--model", "chat", "--write")
    before = world.models()
    done = world.publish("--model", "chat", "--write")
    assert done.exception is None
    assert "models/chat.yaml has chat@2" in done.stderr
    assert "nothing was sent" in done.stderr
    assert world.models() == before


def test_without_a_model_nothing_is_written_and_the_way_on_is_told(world: World) -> None:
    done = world.publish()
    assert done.exception is None
    assert done.stdout == ""
    assert "a version answers with it by lora: tone-1" in done.stderr
    for words in (("--write",), ("--version", "3")):
        found = world.publish(*words).exception
        assert isinstance(found, UserError)
        assert found.path == "--model"


def test_what_can_not_be_written_is_told_before_anything_is_sent(world: World) -> None:
    (world.root / "models" / "chat.yaml").write_text(
        CHAT.replace("versions:\n  - {", "versions: [{").replace("}\n", "}]\n")
    )
    found = world.publish("--model", "chat", "--write").exception
    assert isinstance(found, UserError)
    assert "versions is no list of blocks" in str(found)
    assert world.account.log == []


def test_an_upload_that_fails_writes_no_version(world: World) -> None:
    world.account.dies_at = 2
    found = world.publish("--model", "chat", "--write").exception
    assert isinstance(found, SluicewayError)
    assert world.models() == CHAT
    assert world.publish("--model", "chat", "--write").exception is None


def test_list_shows_who_answers_with_each_and_what_the_account_lacks(world: World) -> None:
    world.publish("--model", "chat", "--write")
    world.account.create("by-hand", GEMMA.id, "")
    text = (world.root / "models" / "chat.yaml").read_text()
    more = f'  - {{version: chat@3, backend: workers-ai, id: "{GEMMA.id}", lora: lost-1}}\n'
    (world.root / "models" / "chat.yaml").write_text(text + more)
    done = world.run("list")
    assert done.exception is None
    first, second = done.stdout.splitlines()
    assert first.split()[:2] == ["tone-1", GEMMA.id]
    assert first.split()[-1] == "chat@2"
    assert "by other means" in second
    assert "chat@3 asks for lost-1, which the account of local doesn't have" in done.stderr
    told = world.json(world.run("list", "--json"))
    assert [(row["name"], row["versions"]) for row in told["adapters"]] == [("tone-1", ["chat@2"]), ("by-hand", [])]
    assert told["missing"] == {"lost-1": ["chat@3"]}


def test_the_other_listings_tell_of_the_adapter_too(world: World) -> None:
    world.publish("--model", "chat", "--write")
    run = CliRunner()
    assert f"chat@2       workers-ai  {GEMMA.id} + tone-1\n" in run.invoke(app, ["models"]).stdout
    assert [row["lora"] for row in json.loads(run.invoke(app, ["models", "--json"]).stdout)] == [None, "tone-1"]
    assert f"{GEMMA.id} + tone-1" in run.invoke(app, ["models", "list"]).stdout
    shown = json.loads(run.invoke(app, ["models", "show", "chat@2", "--json"]).stdout)
    assert (shown["id"], shown["lora"]) == (GEMMA.id, "tone-1")


def test_another_stage_needs_a_token_and_an_account(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("SLUICEWAY_ROOT", str(world.root))
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN", raising=False)
    (world.root / "stacks" / "Pulumi.dev.yaml").write_text(f'config:\n  sluiceway:account_id: "{"a" * 32}"\n')
    found = world.run("list", "dev").exception
    assert isinstance(found, UserError)
    assert found.hint == "set it to a token with `Workers AI: Edit` for the stage's account"
    found = world.run("list", "local").exception
    assert isinstance(found, SluicewayError)
    assert "not running" in str(found)
