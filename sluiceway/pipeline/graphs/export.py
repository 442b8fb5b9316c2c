"""The way in: a folder with weights and config.json becomes a folder with model.onnx and its tokenizer files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx_ir as ir

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.graphs.bert import BertHead, draw_bert
from sluiceway.pipeline.graphs.builder import Builder
from sluiceway.pipeline.graphs.config import bert_config, llama_config, read_config, read_json
from sluiceway.pipeline.graphs.llama import draw_llama
from sluiceway.pipeline.graphs.weights import Weights, read_weights

VERSION = 1
"""Rises whenever the same source would give other bytes."""

KINDS = ("encoder", "classifier", "causal-lm")
COMPANIONS = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
    "LICENSE",
    "NOTICE",
)
"""What is carried over beside the graph, where the source has it."""

INLINE_LIMIT = 256_000_000
"""Bytes of weights above which they lie in model.onnx.data.

A protobuf ends at 2 GB; and putting weights into one takes six times their size in memory (3.8 GB for SmolLM2-135M,
where 0.7 GB do with the weights apart).
"""


@dataclass(frozen=True)
class ExportSettings:
    """``kind`` is one of KINDS. ``cache``: a causal LM with past and present. ``token_types``: a third input."""

    kind: str
    opset: int = 17
    ir_version: int = 8
    cache: bool = True
    token_types: bool = False
    inline_limit: int = INLINE_LIMIT


@dataclass(frozen=True)
class Exported:
    """``path`` is model.onnx. ``parameters`` counts the numbers of all weights; ``files`` are the names written."""

    path: Path
    nodes: int
    parameters: int
    files: tuple[str, ...]


def export(source: Path, out: Path, settings: ExportSettings) -> Exported:
    """Writes ``out``/model.onnx and what belongs beside it. ``out`` exists.

    Raises UserError (path=the file at fault) for an architecture that isn't drawn here, a missing, left-over or
    misshapen tensor; nothing is written then. Raises SluicewayError when the runtime can't open what was written.
    """
    path = out / "model.onnx"
    nodes, numbers, apart = save(draw(source, settings), path, settings.inline_limit)
    _open(path)
    written = ("model.onnx", *(("model.onnx.data",) if apart else ()), *carry_over(source, out))
    return Exported(path, nodes, numbers, written)


def carry_over(source: Path, out: Path) -> list[str]:
    """Copies what belongs beside the graph, and gives its names."""
    names = [name for name in COMPANIONS if (source / name).is_file()]
    for name in names:
        shutil.copyfile(source / name, out / name)
    return names


def save(model: ir.Model, path: Path, inline_limit: int) -> tuple[int, int, bool]:
    """How many nodes and numbers were written, and whether weights lie apart. The weights are let go afterwards."""
    tensors = [value.const_value for value in model.graph.initializers.values() if value.const_value is not None]
    apart = sum(tensor.nbytes for tensor in tensors) > inline_limit
    ir.save(model, path, external_data=f"{path.name}.data" if apart else None, size_threshold_bytes=1024)
    return len(model.graph), sum(tensor.size for tensor in tensors), apart


def draw(source: Path, settings: ExportSettings) -> ir.Model:
    """The graph in memory. Raises UserError."""
    if settings.kind not in KINDS:
        raise UserError(f"a kind is {', '.join(KINDS)}", path="export.kind", got=settings.kind, hint="take one of them")
    if not 17 <= settings.opset <= 28:
        hint = "17 is what every onnxruntime-web in use reads"
        raise UserError("an opset from 17 to 28 is drawn here", path="export.opset", got=settings.opset, hint=hint)
    builder = Builder(settings.opset)
    document, path = read_config(source), str(source / "config.json")
    weights, facts = _draw(builder, document, source, path, settings)
    weights.finish()
    return builder.model(str(document.get("model_type")), settings.ir_version, facts)


def _draw(
    builder: Builder, document: Mapping[str, Any], source: Path, path: str, settings: ExportSettings
) -> tuple[Weights, dict[str, str]]:
    if settings.kind == "causal-lm":
        config = llama_config(document, path)
        weights = read_weights(source, "")
        draw_llama(builder, config, weights, settings.cache)
        return weights, {}
    encoder = bert_config(document, path)
    weights = read_weights(source, "bert.")
    draw_bert(builder, encoder, weights, _head(source, settings))
    return weights, {"labels": json.dumps(encoder.labels)} if settings.kind == "classifier" else {}


def _head(source: Path, settings: ExportSettings) -> BertHead:
    if settings.kind == "classifier":
        return BertHead("classifier", token_types=settings.token_types)
    return BertHead("embedding", *pooling(source), settings.token_types)


def pooling(source: Path) -> tuple[str, bool]:
    """How tokens become one vector, ``mean`` or ``cls``, and whether its length becomes 1: as the source's modules say.

    Those are 1_Pooling/config.json and modules.json. UserError for a module that is nothing of the kind.
    """
    modules, normalize = source / "modules.json", True
    if modules.is_file():
        said = read_json(modules)
        if not isinstance(said, list) or not all(isinstance(module, dict) for module in said):
            raise UserError("this isn't a list of modules", path=str(modules), hint="fetch it again")
        kinds = [str(module.get("type")).rsplit(".", 1)[-1] for module in said]
        foreign = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
        if foreign:
            hint = "bring it as model.onnx (kind: given), or take a model of an architecture that is drawn here"
            raise UserError("a module that isn't drawn here", path=str(modules), got=foreign[0], hint=hint)
        normalize = "Normalize" in kinds
    return _pooling(source / "1_Pooling" / "config.json"), normalize


def _pooling(path: Path) -> str:
    if not path.is_file():
        return "mean"
    said = read_json(path)
    switches = said.items() if isinstance(said, dict) else ()
    modes = [key for key, on in switches if key.startswith("pooling_mode_") and on is True]
    known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise UserError(
            "pooling must be the mean or the first token", path=str(path), got=modes, hint="take another model"
        )
    return known[modes[0]]


def _open(path: Path) -> None:
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # else weights are copied
    options.add_session_config_entry("session.disable_prepacking", "1")
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever the runtime raises, the file is of no use
        raise SluicewayError(f"the runtime can't open what was written: {error}", path=str(path)) from error
