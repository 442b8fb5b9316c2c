from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from sluiceway import catalog
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import check_model_name
from sluiceway.errors import UserError
from tests.unit.catalog.conftest import Models

GLM = '{version: chat@1, backend: workers-ai, id: "@cf/zai-org/glm-4.7-flash"%s}'
CHAT_IDS = (
    "@cf/moonshotai/kimi-k2.6, @cf/moonshotai/kimi-k2.7-code, @cf/zai-org/glm-4.7-flash "
    "and others, in sluiceway/catalog/workers_ai.py"
)
DIGEST = sha256(b"weights").hexdigest()
ONNX = "{version: chat@1, backend: onnx, files: [{name: m.onnx, path: %s, sha256: %s, bytes: %d}]}"


def chat(*versions: str, task: str = "chat") -> str:
    return f"task: {task}\nversions:\n" + "".join(f"  - {version}\n" for version in versions)


WRONG: list[tuple[str, str, str]] = [
    (
        chat("{version: chat@1, backend: workersai, id: x}"),
        "versions[0].backend: must be one of workers-ai, openai, onnx, got 'workersai'",
        "did you mean workers-ai?",
    ),
    (
        chat('{version: chat@1, backend: workers-ai, id: "@cf/zai-org/glm-4.7-flsh"}'),
        "versions[0].id: no model of Workers AI that is known here, got '@cf/zai-org/glm-4.7-flsh'",
        "did you mean @cf/zai-org/glm-4.7-flash?",
    ),
    (
        chat("{version: chat@1, backend: workers-ai, id: gpt}"),
        "versions[0].id: no model of Workers AI that is known here, got 'gpt'",
        "if Cloudflare serves it, add a line with its id and task in sluiceway/catalog/workers_ai.py",
    ),
    (
        chat('{version: chat@1, backend: workers-ai, id: "@cf/moonshotai/kimi-k2.5"}'),
        "versions[0].id: Cloudflare has retired this model and answers with @cf/moonshotai/kimi-k2.6 under its name, "
        "got '@cf/moonshotai/kimi-k2.5'",
        "write @cf/moonshotai/kimi-k2.6, which is what would answer, or another that is still served",
    ),
    (
        chat('{version: chat@1, backend: workers-ai, id: "@cf/baai/bge-m3"}'),
        "versions[0].id: this model's task is embed, not chat, got '@cf/baai/bge-m3'",
        f"Workers AI has for chat: {CHAT_IDS}",
    ),
    (
        chat("{version: chat@1, backend: workers-ai}"),
        "versions[0].id: a workers-ai version needs the id of its model",
        f"add id: with one of {CHAT_IDS}",
    ),
    (
        chat(GLM % ", parameters: {max_token: 5}"),
        "versions[0].parameters: unknown key 'max_token'",
        "did you mean 'max_tokens'?",
    ),
    (
        chat(GLM % ", parameters: {temperature: 9}"),
        "versions[0].parameters.temperature: must be at most 5, got 9",
        "write a number from 0 to 5",
    ),
    (
        chat(GLM % ", parameters: {max_tokens: 0}"),
        "versions[0].parameters.max_tokens: must be at least 1, got 0",
        "write a whole number from 1 to 1048576",
    ),
    (
        chat(GLM % "", GLM % ""),
        "versions[1].version: versions stand in rising order, each once, got 'chat@1'",
        "add the new one last",
    ),
    (
        chat("{version: chat@2, backend: openai, id: a}", "{version: chat@1, backend: openai, id: a}"),
        "versions[1].version: versions stand in rising order, each once, got 'chat@1'",
        "add the new one last",
    ),
    (
        chat("{version: intent@1, backend: openai, id: a}"),
        "versions[0].version: versions in this file are versions of chat, got 'intent@1'",
        "write chat@1, or move it to models/intent.yaml",
    ),
    (
        "task: chat\nversions: []\n",
        "versions: a model has at least one version",
        "add one, with version: chat@1, backend: and the id: or the files: of what answers",
    ),
    (
        chat(GLM % "", task="talk"),
        "task: must be one of chat, classify, embed, got 'talk'",
        "write one of chat, classify, embed",
    ),
    (
        "task: chat\n",
        "versions: is required",
        "add versions: a list; each entry is a mapping with keys of "
        "version, backend, id, lora, prompt, prompt_file, parameters, files, base_url, secret, provider, "
        "context_window, price, vision, guided",
    ),
    (
        chat(GLM % ", prompt_file: prompts/absent.md"),
        "versions[0].prompt_file: the file doesn't exist, got 'models/prompts/absent.md'",
        "write the prompt into that file, or correct the path, which begins in models/",
    ),
    (
        chat(GLM % ", prompt_file: ../secret.md"),
        "versions[0].prompt_file: a path is relative to models/, with forward slashes and without . or .., "
        "got '../secret.md'",
        "put the file below models/ and write it like prompts/chat-3.md",
    ),
    (
        chat(GLM % ", prompt_file: bad.md"),
        "versions[0].prompt_file: the file isn't UTF-8 at byte 1, got 'bad.md'",
        "save it as UTF-8",
    ),
    (
        chat(GLM % ", prompt: 5"),
        "versions[0].prompt: must be text, got 5",
        "put it in quotes, or YAML reads it as a number",
    ),
    (
        chat(GLM % ", prompt: a, prompt_file: m.onnx"),
        "versions[0].prompt_file: a version has a prompt or a prompt_file, not both",
        "take one of them out",
    ),
    (
        chat("{version: chat@1, backend: onnx}"),
        "versions[0].files: an onnx version needs files",
        "make them by the model's recipe",
    ),
    (
        chat("{version: chat@1, backend: onnx, id: x}"),
        "versions[0].id: an onnx version has files and no id, got 'x'",
        "take the id out: its files are known by their sha256",
    ),
    (
        chat(ONNX % ("absent.onnx", DIGEST, 7)),
        "versions[0].files[0].path: the file doesn't exist, got 'models/absent.onnx'",
        "make it by the model's recipe",
    ),
    (
        chat(ONNX % ("/etc/passwd", DIGEST, 7)),
        "versions[0].files[0].path: a path is relative to models/, with forward slashes and without . or .., "
        "got '/etc/passwd'",
        "put the file below models/ and write it like prompts/chat-3.md",
    ),
    (
        chat(ONNX % ("m.onnx", DIGEST, 8)),
        "versions[0].files[0].bytes: says 8 bytes, but models/m.onnx has 7",
        "put the right file back by the model's recipe; in a new version, write bytes: 7",
    ),
    (
        chat(ONNX % ("m.onnx", "a" * 64, 7)),
        f"versions[0].files[0].sha256: isn't the sha256 of models/m.onnx, which is {DIGEST}",
        "if the file was changed on purpose, add a version",
    ),
    (
        chat(ONNX % ("m.onnx", "abc", 7)),
        "versions[0].files[0].sha256: a sha256 is 64 lower-case hex digits, got 'abc'",
        "`sha256sum` prints it; the recipe writes it",
    ),
]


@pytest.mark.parametrize(("text", "message", "hint"), WRONG, ids=[case[1][:60] for case in WRONG])
def test_a_wrong_model_file_is_told_with_its_path(models: Models, text: str, message: str, hint: str | None) -> None:
    workspace = models({"chat.yaml": text, "m.onnx": b"weights", "bad.md": b"a\xff"})
    with pytest.raises(UserError) as caught:
        catalog.load(workspace)
    assert (str(caught.value), caught.value.hint) == (f"models/chat.yaml: {message}", hint)


def test_a_files_name_must_be_a_models_name(models: Models) -> None:
    with pytest.raises(UserError, match=r"^models/Chat\.yaml: a model's name is"):
        catalog.load(models({"Chat.yaml": chat(GLM % "")}))


@pytest.mark.parametrize("name", ["dashboard", "journal"])
def test_a_model_can_not_have_the_name_of_a_page_of_the_rollouts(models: Models, name: str) -> None:
    with pytest.raises(UserError) as caught:
        catalog.load(models({f"{name}.yaml": chat(GLM % "")}))
    told = "no model can have this name: it stands in a path of the gateway's rollouts"
    assert str(caught.value).startswith(f"models/{name}.yaml: {told}")
    assert caught.value.hint == f"call it another, like {name}-1"


def test_every_path_that_would_hide_a_models_own_is_known() -> None:
    table = (Path(__file__).parents[3] / "worker/src/endpoints/admin/admin.ts").read_text("utf-8")
    words = set(re.findall(r'"GET", "/rollouts/([a-z]+)"', table))
    assert words == {"dashboard", "journal"}
    for word in words:
        with pytest.raises(Fault, match="can have this name"):
            check_model_name(word)


def test_two_default_models_are_refused(models: Models) -> None:
    one = "task: chat\ndefault: true\nversions: [{version: %s@1, backend: openai, id: a, provider: openai}]\n"
    with pytest.raises(UserError) as caught:
        catalog.load(models({"a.yaml": one % "a", "b.yaml": one % "b"}))
    assert (str(caught.value), caught.value.hint) == (
        "models: two models are the default: a and b",
        "keep default: true in one",
    )


def test_one_file_twice_in_a_version_is_refused(models: Models) -> None:
    entry = f"{{name: m.onnx, path: m.onnx, sha256: {DIGEST}, bytes: 7}}"
    other = f"{{name: m.onnx, path: n.onnx, sha256: {DIGEST}, bytes: 7}}"
    text = chat(f"{{version: chat@1, backend: onnx, files: [{entry}, {other}]}}")
    with pytest.raises(UserError) as caught:
        catalog.load(models({"chat.yaml": text, "m.onnx": b"weights", "n.onnx": b"weights"}))
    assert str(caught.value) == (
        "models/chat.yaml: versions[0].files[1].name: a file's name stands once in a version, got 'm.onnx'"
    )


@pytest.mark.parametrize("names", [("w", "w/a.bin"), ("w/a/b.bin", "w/a")])
def test_a_file_in_the_place_of_anothers_folder_is_refused(models: Models, names: tuple[str, str]) -> None:
    files = ", ".join(f"{{name: {name}, path: m.onnx, sha256: {DIGEST}, bytes: 7}}" for name in names)
    text = chat(f"{{version: chat@1, backend: onnx, files: [{files}]}}")
    with pytest.raises(UserError) as caught:
        catalog.load(models({"chat.yaml": text, "m.onnx": b"weights"}))
    short, at = min(names), names.index(min(names))
    assert str(caught.value) == (
        f"models/chat.yaml: versions[0].files[{at}].name: a file has the name of another's folder, got '{short}'"
    )
    assert max(names) in (caught.value.hint or "")
