"""The export itself, in the environment that has torch: a checkpoint's folder becomes model.onnx and its companions."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.graphs.config import read_json
from sluiceway.pipeline.graphs.export import carry_over, pooling
from sluiceway.pipeline.torch_export import load

_OLDEST_OPSET = 18


def export(source: str, out: str, kind: str, opset: int, ir: int | None, code: bool) -> dict[str, Any]:
    """Writes ``out``/model.onnx from the folder ``source``, opens it, and holds it to the model that was traced.

    Returns ``{nodes, parameters, compared, cache, versions}``. Raises UserError for a model that can't be loaded or
    traced, SluicewayError for a graph that the runtime can't open or that answers something else.
    """
    if opset < _OLDEST_OPSET:
        hint = f"write opset: {_OLDEST_OPSET} or higher, or leave it out"
        raise UserError("torch exports from opset 18 on", path="export.opset", got=opset, hint=hint)
    with tempfile.TemporaryDirectory(prefix="sluiceway-export-") as scratch:
        load.quiet(scratch)
        return _export(Path(source), Path(out), kind, opset, ir, code)


def _export(source: Path, out: Path, kind: str, opset: int, ir: int | None, code: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    import onnxscript
    import torch
    import transformers

    from sluiceway.pipeline.torch_export import compare, wrap, write

    torch.manual_seed(0)
    model = load.load(source, kind, code)
    traced = wrap.wrap(model, kind, pooling(source) if kind == "encoder" else ("mean", False))
    path = out / "model.onnx"
    made = trace(traced, opset)
    if ir is not None:
        made.ir_version = ir
    nodes, numbers = write.write(made, path, traced.inputs, traced.outputs, _facts(model, kind))
    del made
    names = [name for name, _ in traced.outputs]
    compared = compare.compare(path, names, bool(traced.cache), traced.feeds, traced.answer)
    carry_over(source, out)
    state_base_twice(out / "config.json", model.config)
    return {
        "nodes": nodes,
        "parameters": numbers,
        "compared": compared,
        "cache": [{"key": list(key), "value": list(value)} for key, value in traced.cache],
        "versions": {each.__name__: each.__version__ for each in (torch, transformers, onnxscript)},
    }


def trace(traced: Any, opset: int) -> Any:  # noqa: ANN401
    """The graph of ``traced``, free in every axis that has a name. SluicewayError where torch can't."""
    import torch

    example = traced.example()
    arguments = tuple(torch.from_numpy(example[name]) for name, _ in traced.inputs)
    free = [
        {axis: torch.export.Dim.DYNAMIC for axis, dim in enumerate(dims) if isinstance(dim, str)}
        for _, dims in traced.inputs
    ]
    # What a module takes as *past is one argument to the tracer.
    shapes = (*free[:3], tuple(free[3:])) if traced.cache else tuple(free)
    try:
        program = torch.onnx.export(
            traced.module.eval(), arguments, dynamo=True, opset_version=opset, dynamic_shapes=shapes, verbose=False
        )
    except Exception as error:  # torch raises what its parts raise
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
        hint = "bring it as model.onnx (kind: given), or take another model: `sluiceway --verbose ...` shows where"
        raise SluicewayError(f"torch can't export this architecture: {said}", path="export", hint=hint) from error
    return program.model


def state_base_twice(path: Path, config: Any) -> None:  # noqa: ANN401
    """Older loaders read ``rope_theta``, newer ones ``rope_parameters``; with only the other there, each guesses."""
    if not load.uses_rotary(config):
        return
    document: dict[str, Any] = read_json(path)
    both = {"rope_theta": config.rope_parameters["rope_theta"], "rope_parameters": dict(config.rope_parameters)}
    text = json.dumps(document | both, indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _facts(model: Any, kind: str) -> Mapping[str, str]:  # noqa: ANN401
    names = getattr(model.config, "id2label", None)
    return {"labels": json.dumps([names[key] for key in sorted(names)])} if kind == "classifier" and names else {}
