"""Which weights a quantiser is to take, said before it starts, and the files that it reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx_ir as ir

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.passes import store, weights
from sluiceway.pipeline.passes.settings import Chosen
from sluiceway.pipeline.passes.weights import Use

MOST_SHARE = 0.5
"""Share of a model's weights above which it is worth a note that their operator was not asked for."""


@dataclass(frozen=True)
class Targets:
    """``found``: every use of a weight, ``asked``: those to quantise, ``kept``: those that the settings keep float."""

    found: list[Use]
    asked: list[Use]
    kept: list[Use]
    notes: tuple[str, ...]


def choose(model: ir.Model, ops: Sequence[str], keep: Sequence[Chosen], stated: bool) -> Targets:
    """The uses whose operator is in ``ops`` without those that ``keep`` names.

    A UserError for a choice that means no weight, for an operator that has none (where the person ``stated`` them),
    and for a model that has no float weight at all.
    """
    found = weights.uses(model)
    if not found:
        raise SluicewayError(
            "the model has no float weights",
            hint="a model is quantised once, from its float version",
        )
    used = {use.op for use in found}
    for at, op in enumerate(ops):
        if stated and op not in used:
            raise UserError(
                "no weight of the model is used by this operator",
                path=f"ops[{at}]",
                got=op,
                hint=f"weights are used by {', '.join(sorted(used))}",
            )
    named = [use for use in found if use.op in ops]
    if not named:
        raise UserError(
            "no weight of the model is used by these operators",
            path="ops",
            got=", ".join(ops),
            hint=f"weights are used by {', '.join(sorted(used))}",
        )
    kept = weights.choose(model, named, keep, "keep")
    names = {use.name for use in kept}
    asked = [use for use in named if use.name not in names]
    if not asked:
        raise UserError("keep names every weight", path="keep", hint="take an entry out, or the pass")
    return Targets(found, asked, kept, _notes(found, asked, kept))


def _notes(found: list[Use], asked: list[Use], kept: list[Use]) -> tuple[str, ...]:
    notes = []
    if kept:
        notes.append(f"kept as floats: {weights.shapes(kept)}")
    names = {use.name for use in [*asked, *kept]}
    left = [use for use in found if use.name not in names]
    share = weights.elements(weights.tensors(left).values()) / weights.elements(weights.tensors(found).values())
    if share > MOST_SHARE:
        ops = ", ".join(sorted({use.op for use in left}))
        notes.append(f"{100 * share:.0f} % of the weights are in {ops}, which ops does not name")
    return tuple(notes)


def plain_floats(asked: Sequence[Use]) -> None:
    """Refuses what onnxruntime's quantisers pass over or spoil: a weight behind another node, or not of 32 bits."""
    for use in asked:
        if use.value.dtype != ir.DataType.FLOAT:
            raise UserError(
                "a weight is not float32",
                path=use.name,
                got=str(use.value.dtype),
                hint="quantise the float32 model; put fp16 in a variant of its own",
            )
        if use.through:
            kinds = ", ".join(node.op_type for node in use.through)
            raise UserError(
                f"a weight of {use.op} stands behind {kinds}, where the quantiser does not see it",
                path=use.name,
                hint="put {kind: fold} before this pass",
            )


def write_for_library(model: ir.Model, folder: Path) -> Path:
    """The model as named and tidied, in a folder aside, for a library that reads files."""
    aside = folder / "in"
    aside.mkdir()
    return store.save(model, aside)


def read_from_library(folder: Path) -> None:
    """What the library wrote to made.onnx becomes model.onnx, written our way; its own files go."""
    import shutil

    made = folder / "made.onnx"
    model = ir.load(made)
    store.save(model, folder)
    del model
    shutil.rmtree(folder / "in")
    for path in folder.glob("made.onnx*"):
        path.unlink()
