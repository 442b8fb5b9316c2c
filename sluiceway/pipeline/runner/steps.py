"""What each kind of stage does, in the process that it has for itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sluiceway.errors import UserError
from sluiceway.pipeline import source
from sluiceway.pipeline.checks import Facts, check_model, check_shapes
from sluiceway.pipeline.recipe import load
from sluiceway.pipeline.recipe.load import parse_pass
from sluiceway.pipeline.runner import steps_last
from sluiceway.pipeline.runner.plan import maker
from sluiceway.pipeline.runner.step import GRAPH, Step, limits
from sluiceway.pipeline.torch_export import choice
from sluiceway.pipeline.types import Model


def run(
    root: str,
    cache: str,
    file: str,
    document: Mapping[str, Any],
    kind: str,
    block: Mapping[str, Any] | None,
    inputs: list[str],
    reports: list[dict[str, Any]],
    out: str,
    torch: str | None = None,
    signer: str | None = None,
) -> dict[str, Any]:
    """Makes one stage in ``out`` and returns its report. Arguments and report are plain JSON."""
    recipe = load(Path(root), file, document)
    folders = tuple(Path(folder) for folder in inputs)
    own = [Path(python) if python else None for python in (torch, signer)]
    step = Step(recipe, Path(root), Path(cache), kind, block, folders, reports, Path(out), *own)
    return _STEPS.get(kind, _pass)(step)


def _source(step: Step) -> dict[str, Any]:
    fetched = source.fetch(step.recipe, step.root, step.cache, step.out)
    return {"origin": fetched.origin}


def _export(step: Step) -> dict[str, Any]:
    settings = step.recipe.export
    if settings.kind == "given":
        return _given(step)
    if step.torch is not None:
        return _by_torch(step, step.torch)
    from sluiceway.pipeline.graphs import export

    opset, ir = settings.opset or choice.OPSETS["graphs"], settings.ir or choice.IRS["graphs"]
    found = export.export(step.inputs[0], step.out, export.ExportSettings(settings.kind, opset=opset, ir_version=ir))
    facts = _checked(step)
    return {"nodes": found.nodes, "parameters": found.parameters, **_told(facts)}


def _by_torch(step: Step, python: Path) -> dict[str, Any]:
    from sluiceway.pipeline.torch_export import call

    found = call.export(step.recipe, step.inputs[0], step.out, python)
    facts = _checked(step)
    return {"nodes": found.pop("nodes"), "parameters": found.pop("parameters"), "torch": found, **_told(facts)}


def _given(step: Step) -> dict[str, Any]:
    """The source is ONNX already: looked over, then taken as it is."""
    graph = step.inputs[0] / GRAPH
    if not graph.is_file():
        hint = "the source has a model.onnx for the kind given; for safetensors take encoder, classifier or causal-lm"
        raise UserError("the source has no model.onnx", path=step.recipe.where("export.kind"), got="given", hint=hint)
    check_model(Model(graph), limits(step.recipe))
    shutil.copytree(step.inputs[0], step.out, dirs_exist_ok=True)
    return _told(_checked(step))


def _pass(step: Step) -> dict[str, Any]:
    model = Model(step.inputs[0] / GRAPH)
    before = check_model(model, limits(step.recipe))
    block = parse_pass(step.recipe.folder, step.block or {}, "passes", step.recipe.where)
    report = maker(block, step.recipe).run(model, step.out)
    _carry_over(model.folder, step.out, {GRAPH, *before.data_files})
    facts = _checked(step)
    return {"pass": asdict(report), **_told(facts)}


def _carry_over(folder: Path, out: Path, apart: set[str]) -> None:
    """What lies beside the graph and isn't its data goes along: tokenizer, config, licence."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in apart and not (out / name).exists():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, out / name)


def _checked(step: Step) -> Facts:
    """What was written is looked over as a stranger's would be, and run."""
    model = Model(step.out / GRAPH)
    facts = check_model(model, limits(step.recipe))
    check_shapes(model, [(rows, length) for rows, length in step.recipe.validate.batches])
    return facts


def _told(facts: Facts) -> dict[str, Any]:
    return {"opset": facts.opset, "ir": facts.ir, "tensors": facts.tensors, "model_bytes": facts.total_bytes}


_STEPS: dict[str, Callable[[Step], dict[str, Any]]] = {
    "source": _source,
    "export": _export,
    "validate": steps_last.validate,
    "compare": steps_last.compare,
    "package": steps_last.pack,
}
