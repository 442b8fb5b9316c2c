"""Packages for tests: a tiny encoder with a tokenizer in one of the layouts that sources come in."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sluiceway.pipeline.package import Meta
from tests.unit.pipeline import tiny

META = Meta(
    model="tiny",
    task="embed",
    precision="fp32",
    source={"folder": "tiny-source"},
    recipe="tiny",
    recipe_sha256="0" * 64,
    runtime={"onnxruntime": "1.30.0", "onnxruntime_web": "1.30.0"},
    passes=({"kind": "fold", "weights_changed": 0},),
    metrics={"min_cosine": 0.99, "held": True},
    licence="Apache-2.0",
    batches=((1, 1), (2, 5)),
)
CHAT = replace(META, task="chat")
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"
WORDS = ["[UNK]", "Hi", "模", "型", "!", "[CLS]", "[SEP]", "</s>"]


def tokenizer_json(folder: Path) -> None:
    tiny.word_level(folder, {word: at for at, word in enumerate(WORDS)})


def vocab_and_merges(folder: Path) -> None:
    vocabulary = {"H": 0, "i": 1, "Hi": 2, "Ġ": 3, "</s>": 4}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\nH i\n")
    (folder / "special_tokens_map.json").write_text(json.dumps({"eos_token": {"content": "</s>"}}))


def piece_model(folder: Path, kind: int = 1) -> None:
    """A SentencePiece file by its wire format: kind 1 is unigram, 2 BPE."""
    pieces = [("<unk>", 0.0, 2), ("</s>", 0.0, 3), ("▁", -2.0, 1), ("H", -5.0, 1), ("i", -5.0, 1), ("Hi", -1.0, 1)]
    pieces += [("▁Hi", -0.5, 1), ("模", -3.0, 1), ("型", -3.0, 1)]
    data = b"".join(_field(1, _piece(*piece)) for piece in pieces)
    data += _field(2, b"\x18" + bytes([kind])) + _field(3, _field(1, b"identity"))
    (folder / "tokenizer.model").write_bytes(data)
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))


def template_beside_config(folder: Path) -> None:
    tokenizer_json(folder)
    (folder / "config.json").write_text('{"model_type": "tiny"}')
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    (folder / "chat_template.jinja").write_text(TEMPLATE)


LAYOUTS: dict[str, Callable[[Path], None]] = {
    "tokenizer.json": tokenizer_json,
    "vocab.json": vocab_and_merges,
    "tokenizer.model": piece_model,
    "chat_template.jinja": template_beside_config,
}


def _piece(text: str, score: float, kind: int) -> bytes:
    return _field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind])


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data
