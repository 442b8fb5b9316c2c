"""Models of Hugging Face: one commit, safetensors and texts, no code that wasn't named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.recipe.model import HuggingFace
from sluiceway.pipeline.source import hub as hubs
from sluiceway.pipeline.source import remote_code
from tests.unit.pipeline.source.hub_server import MODEL, REVISION, Hub

ASKED = HuggingFace(id=MODEL, revision=REVISION)
FILES = {
    "model.safetensors": b"weights",
    "config.json": b"{}",
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
    "vocab.txt": b"a\n",
    "chat_template.jinja": b"{{ x }}",
    "pytorch_model.bin": b"pickle",
    "onnx/model.onnx": b"graph",
    "modeling_tiny.py": b"raise SystemExit",
    "training_args.json.pkl": b"pickle",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub(dict(FILES))
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    yield server
    server.close()


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_weights_and_texts_are_fetched_and_pickles_and_code_are_not_even_asked_for(hub: Hub, tmp_path: Path) -> None:
    out = tmp_path / "out"
    hubs.get(ASKED, tmp_path / "cache", out, "recipe")
    wanted = ["1_Pooling/config.json", "chat_template.jinja", "config.json", "model.safetensors", "vocab.txt"]
    assert names(out) == wanted == hub.fetched
    assert (out / "model.safetensors").read_bytes() == b"weights"
    assert not any(path.is_symlink() for path in out.rglob("*"))


def test_what_is_in_the_cache_needs_no_hub(hub: Hub, tmp_path: Path) -> None:
    hubs.get(ASKED, tmp_path / "cache", tmp_path / "first", "recipe")
    hub.close()
    hubs.get(ASKED, tmp_path / "cache", tmp_path / "second", "recipe")
    assert names(tmp_path / "first") == names(tmp_path / "second")


def test_a_hub_that_cant_be_reached_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda _seconds: None)  # it is tried again, with pauses
    with pytest.raises(SluicewayError, match="couldn't fetch org/tiny") as caught:
        hubs.get(ASKED, tmp_path / "cache", tmp_path / "out", "recipe: source.huggingface")
    assert caught.value.path == "recipe: source.huggingface" and "mirror" in (caught.value.hint or "")
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (("RepoNotFound", 404), "no such model"),
        (("RevisionNotFound", 404), "no such revision"),
        (("GatedRepo", 403), "named users"),
    ],
)
def test_what_the_hub_refuses_is_told_in_our_words(hub: Hub, tmp_path: Path, error: tuple[str, int], told: str) -> None:
    hub.error = error
    with pytest.raises(UserError, match=told):
        hubs.get(ASKED, tmp_path / "cache", tmp_path / "out", "recipe")


def test_a_model_whose_weights_are_pickles_is_refused(hub: Hub, tmp_path: Path) -> None:
    del hub.files["model.safetensors"]
    with pytest.raises(UserError, match="the weights are pickles") as caught:
        hubs.get(ASKED, tmp_path / "cache", tmp_path / "out", "recipe")
    assert caught.value.got == "pytorch_model.bin"
    assert "pytorch_model.bin" not in hub.fetched


def test_code_is_fetched_when_it_is_named_and_not_run(hub: Hub, tmp_path: Path) -> None:
    asked = HuggingFace(id=MODEL, revision=REVISION, allow_code=("modeling_tiny.py",))
    hubs.get(asked, tmp_path / "cache", tmp_path / "out", "recipe")
    assert (tmp_path / "out" / "modeling_tiny.py").read_bytes() == b"raise SystemExit"


@pytest.mark.parametrize(
    ("named", "allowed", "told"),
    [
        ({"AutoModel": "modeling_tiny.Tiny"}, (), "code that isn't allowed"),
        ({"AutoModel": "modeling_tiny.Tiny"}, ("other.py",), "code that isn't allowed"),
        ({"AutoTokenizer": [None, "tokenization_tiny.Tiny"]}, ("modeling_tiny.py",), "code that isn't allowed"),
        ({"AutoModel": "else/where--modeling_tiny.Tiny"}, ("modeling_tiny.py",), "code of another repository"),
        ({"AutoModel": "modeling_tiny.Tiny"}, ("modeling_tiny.py",), None),
    ],
)
def test_code_that_a_config_wants_run_is_refused_unless_it_is_named(
    tmp_path: Path, named: dict[str, object], allowed: tuple[str, ...], told: str | None
) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": named}))
    if told is None:
        remote_code.check(tmp_path, allowed, "recipe")
        return
    with pytest.raises(UserError, match=told) as caught:
        remote_code.check(tmp_path, allowed, "recipe")
    assert "tokenizer_config.json" in caught.value.message
