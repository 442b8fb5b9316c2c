"""What config.json says of the architecture, and what of it this exporter can't draw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluiceway.errors import UserError

_ERF = ("gelu", "gelu_python")
_HINT = "let torch export it (export: {tool: torch}), or bring it as model.onnx (kind: given)"


class NotDrawn(UserError):
    """An architecture, or a trait of one, that isn't drawn here; nothing is wrong with the file."""


@dataclass(frozen=True)
class BertConfig:
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    types: int
    eps: float
    labels: tuple[str, ...]


@dataclass(frozen=True)
class LlamaConfig:
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    eps: float
    theta: float
    tied: bool
    attention_bias: bool
    mlp_bias: bool


def read_config(folder: Path) -> Mapping[str, Any]:
    """config.json of the folder. Raises UserError."""
    path = folder / "config.json"
    if not path.is_file():
        raise UserError("there is no config.json here", path=str(folder), hint="take the whole folder of the model")
    document = read_json(path)
    if not isinstance(document, dict):
        raise UserError("this isn't an object", path=str(path), hint="fetch it again")
    return document


def read_json(path: Path) -> Any:  # noqa: ANN401 - JSON
    """What ``path`` says. Raises UserError when it isn't JSON."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"this isn't JSON: {error}", path=str(path), hint="fetch it again") from error


def bert_config(document: Mapping[str, Any], path: str) -> BertConfig:
    """Raises UserError for another architecture, activation or kind of positions."""
    _must(document, path, "model_type", ("bert",))
    _must(document, path, "hidden_act", _ERF, missing="gelu")
    _must(document, path, "position_embedding_type", ("absolute",), missing="absolute")
    _must(document, path, "is_decoder", (False,), missing=False)
    names = document.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}  # what a file leaves out
    if not isinstance(names, dict) or set(names) != {str(number) for number in range(len(names))}:
        hint = 'number the labels from "0"'
        raise UserError("id2label must name each label once", path=path, got=names, hint=hint)
    hidden, heads = _count(document, path, "hidden_size"), _count(document, path, "num_attention_heads")
    _divides(heads, hidden, path)
    return BertConfig(
        vocabulary=_count(document, path, "vocab_size"),
        hidden=hidden,
        layers=_count(document, path, "num_hidden_layers"),
        heads=heads,
        intermediate=_count(document, path, "intermediate_size"),
        positions=_count(document, path, "max_position_embeddings"),
        types=_count(document, path, "type_vocab_size"),
        eps=float(document.get("layer_norm_eps", 1e-12)),
        labels=tuple(str(names[key]) for key in sorted(names, key=int)),
    )


def llama_config(document: Mapping[str, Any], path: str) -> LlamaConfig:
    """Raises UserError for another architecture, activation or a scaled rotary embedding."""
    _must(document, path, "model_type", ("llama",))
    _must(document, path, "hidden_act", ("silu", "swish"), missing="silu")
    hidden, heads = _count(document, path, "hidden_size"), _count(document, path, "num_attention_heads")
    kv_heads = _count(document, path, "num_key_value_heads") if document.get("num_key_value_heads") else heads
    _divides(kv_heads, heads, path)
    if not document.get("head_dim"):
        _divides(heads, hidden, path)
    return LlamaConfig(
        vocabulary=_count(document, path, "vocab_size"),
        hidden=hidden,
        layers=_count(document, path, "num_hidden_layers"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=_count(document, path, "head_dim") if document.get("head_dim") else hidden // heads,
        intermediate=_count(document, path, "intermediate_size"),
        eps=float(document.get("rms_norm_eps", 1e-6)),
        theta=rope_theta(document, path),
        tied=bool(document.get("tie_word_embeddings", False)),
        attention_bias=bool(document.get("attention_bias", False)),
        mlp_bias=bool(document.get("mlp_bias", False)),
    )


def rope_theta(document: Mapping[str, Any], path: str) -> float:
    """The base of the rotary embedding, from ``rope_theta`` (older files) or ``rope_parameters`` (newer ones).

    A loader that knows one key alone falls back to 10000 in silence; here two that differ are an error.
    """
    new, scaling = document.get("rope_parameters") or {}, document.get("rope_scaling") or {}
    for kind in [block.get("rope_type", block.get("type", "default")) for block in (new, scaling)]:
        if kind != "default":
            raise NotDrawn("a scaled rotary embedding is not drawn here", path=path, got=kind, hint=_HINT)
    return stated_theta(document, path)


def stated_theta(document: Mapping[str, Any], path: str) -> float:
    """The one base that ``document`` states. UserError when it states none, or two."""
    blocks = (document, document.get("rope_parameters") or {})
    said = {float(block["rope_theta"]) for block in blocks if block.get("rope_theta") is not None}
    if len(said) > 1:
        hint = "keep the one that the weights were trained with"
        raise UserError("rope_theta and rope_parameters differ", path=path, got=sorted(said), hint=hint)
    if not said:
        hint = "write rope_theta: the default of a library is a guess, and a wrong one answers nearly right"
        raise UserError("the base of the rotary embedding is missing", path=path, hint=hint)
    return said.pop()


def _must(document: Mapping[str, Any], path: str, key: str, known: tuple[object, ...], missing: object = None) -> None:
    value = document.get(key, missing)
    if value not in known:
        raise NotDrawn(f"{key} must be {' or '.join(map(str, known))}", path=path, got=value, hint=_HINT)


def _count(document: Mapping[str, Any], path: str, key: str) -> int:
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{key} must be a whole number from 1", path=path, got=value, hint="take the model's own file")
    return value


def _divides(part: int, whole: int, path: str) -> None:
    if whole % part:
        raise UserError(f"{part} heads don't divide {whole} evenly", path=path, hint="take the model's own file")
