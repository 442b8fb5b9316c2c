from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from hashlib import sha256
from pathlib import Path

import pytest

from sluiceway import catalog
from sluiceway.catalog import __main__ as command
from sluiceway.catalog import lock
from sluiceway.domain.model import Price
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace
from tests.unit.catalog.conftest import Models

HERE = Workspace(Path(__file__).parents[3])
CHAT = (
    "task: chat\nversions:\n"
    '  - {version: chat@1, backend: openai, id: vllm, base_url: "https://up.test/v1", prompt: "%s"}\n'
)


def test_this_repositorys_catalogue_holds_what_it_promises() -> None:
    found = {model.name: model for model in catalog.load(HERE).models}
    chat = [(str(version.ref), version.backend, version.id) for version in found["chat"].versions]
    assert chat[:2] == [
        ("chat@1", "workers-ai", "@cf/zai-org/glm-4.7-flash"),
        ("chat@2", "workers-ai", "@cf/moonshotai/kimi-k2.6"),
    ]
    assert [file.name for file in found["intent"].versions[0].files] == ["model.onnx", "manifest.json"]
    assert [model.name for model in found.values() if model.default] == ["chat"]


def test_kimi_at_its_limit_of_20_a_minute_has_a_stand_in_out_of_the_box() -> None:
    (chat,) = (model for model in catalog.load(HERE).models if model.name == "chat")
    assert chat.fallback == ("chat@1",)


def test_every_version_of_this_repository_is_in_the_lock() -> None:
    assert catalog.missing_from_lock(HERE.root / "models", catalog.load(HERE).models) == ()


def test_versions_are_frozen(models: Models) -> None:
    (model,) = catalog.load(models({"chat.yaml": CHAT % "be kind"})).models
    with pytest.raises(FrozenInstanceError):
        model.versions[0].prompt = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        model.versions[0].parameters["seed"] = 1  # type: ignore[index]


@pytest.mark.parametrize("prompt", ["naïve 模型 🦊", "-FMq~W", "=a", "x: y", "  pad  ", "a\\nb\\n"])
def test_pu_06_a_prompt_comes_back_as_it_was_written(models: Models, prompt: str) -> None:
    (model,) = catalog.load(models({"chat.yaml": CHAT % prompt})).models
    assert model.versions[0].prompt == prompt.replace("\\n", "\n")


def test_a_prompt_in_a_file_is_the_same_from_a_checkout_with_crlf(models: Models) -> None:
    text = (
        "task: chat\nversions:\n"
        "  - {version: chat@1, backend: openai, id: a, provider: openai, prompt_file: prompts/a.md}\n"
    )
    unix = catalog.load(models({"chat.yaml": text, "prompts/a.md": "一\ntwo\n"})).models
    windows = catalog.load(models({"prompts/a.md": "一\r\ntwo\r\n"})).models
    assert unix == windows
    assert unix[0].versions[0].prompt == "一\ntwo\n"


def test_a_changed_version_is_refused_once_it_is_in_the_lock(models: Models) -> None:
    workspace = models({"chat.yaml": CHAT % "be kind"})
    folder = workspace.root / "models"
    assert lock.append(folder, catalog.load(workspace).models) == ("chat@1",)
    assert lock.append(folder, catalog.load(workspace).models) == ()
    with pytest.raises(UserError) as caught:
        catalog.load(models({"chat.yaml": CHAT % "be brief"}))
    assert str(caught.value) == "models/chat.yaml: chat@1 was changed, and a version keeps its meaning"
    assert caught.value.hint == "put it back as it was, and add the change as chat@2"


def test_a_removed_version_is_refused_once_it_is_in_the_lock(models: Models) -> None:
    workspace = models({"chat.yaml": CHAT % "a"})
    lock.append(workspace.root / "models", catalog.load(workspace).models)
    with pytest.raises(UserError, match=r"^models/chat\.yaml: chat@1 was removed$"):
        catalog.load(models({"chat.yaml": (CHAT % "a").replace("chat@1", "chat@2")}))


@pytest.mark.parametrize("line", ["chat@1", "chat@1 abc", "chat 0", "chat@1 " + "0" * 64 + "\nchat@1 " + "0" * 64])
def test_a_damaged_lock_is_told_with_its_line(models: Models, line: str) -> None:
    workspace = models({"versions.lock": f"# remark\n{line}\n", "chat.yaml": CHAT % "a"})
    number = 3 if "\n" in line else 2
    with pytest.raises(UserError, match=rf"^models/versions\.lock:{number}: a line is a version and its sha256"):
        catalog.load(workspace)


def test_the_digest_of_a_version_covers_all_that_it_answers_by(models: Models) -> None:
    data = b"weights"
    file = f"{{name: m.onnx, path: a/m.onnx, sha256: {sha256(data).hexdigest()}, bytes: 7}}"
    text = f"task: classify\nversions: [{{version: m@1, backend: onnx, files: [{file}]}}]\n"
    ((version,),) = [model.versions for model in catalog.load(models({"m.yaml": text, "a/m.onnx": data})).models]
    moved = replace(version, files=(replace(version.files[0], path="models/b/m.onnx"),))
    assert catalog.digest(moved) == catalog.digest(version)
    others = [
        replace(version, prompt=""),
        replace(version, id="x"),
        replace(version, backend="openai"),
        replace(version, parameters={"seed": 1}),
        replace(version, files=()),
        replace(version, files=(replace(version.files[0], name="n.onnx"),)),
        replace(version, base_url="https://up.test/v1"),
        replace(version, provider="openai"),
        replace(version, lora="tone-1"),
        replace(version, lora="tone-2"),
    ]
    assert len({catalog.digest(other) for other in [version, *others]}) == 11


def test_what_is_known_of_a_model_may_be_corrected_without_a_new_version(models: Models) -> None:
    workspace = models({"chat.yaml": CHAT % "a"})
    (version,) = catalog.load(workspace).models[0].versions
    told = replace(version, context_window=9, price=Price(1, 2, 0.5), vision=True, secret="OTHER_KEY")
    assert catalog.digest(told) == catalog.digest(version)


def test_the_command_adds_lines_and_says_which(
    models: Models, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = models({"chat.yaml": CHAT % "a"})
    (workspace.root / "stacks").mkdir()
    (workspace.root / "Pulumi.yaml").touch()
    monkeypatch.setenv("SLUICEWAY_ROOT", str(workspace.root))
    assert (command.main(), command.main()) == (0, 0)
    assert capsys.readouterr().out == "added chat@1\nnothing to add\n"
    models({"chat.yaml": CHAT % "b"})
    assert command.main() == 2
    assert capsys.readouterr().err.startswith("error: models/chat.yaml: chat@1 was changed")


def test_only_the_local_stage_takes_a_version_that_the_lock_does_not_keep(models: Models) -> None:
    workspace = models({"chat.yaml": CHAT % "be kind"})
    assert catalog.load_for(workspace, "local").models
    with pytest.raises(UserError, match=r"models/versions\.lock: chat@1 has no line yet") as caught:
        catalog.load_for(workspace, "staging")
    assert "python -m sluiceway.catalog" in str(caught.value.hint)
    lock.append(workspace.root / "models", catalog.load(workspace).models)
    assert catalog.load_for(workspace, "staging").models
