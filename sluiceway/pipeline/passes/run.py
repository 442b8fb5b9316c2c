"""How every pass runs: into a folder aside; the result is checked, run, held to what was asked, and moved."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.types import Model, PassReport

if TYPE_CHECKING:
    from sluiceway.pipeline.passes.weights import Use

LEAST_FALL = 0.8
"""Share of the bytes that were to go that must have gone: less, and a weight stands in the file a second time."""


OVERHEAD = 4096
"""Bytes that the nodes and scales around a quantised weight may take."""


@dataclass(frozen=True)
class Asked:
    """``before``: names and elements of the float weights found, ``asked``: of those that the settings name.

    ``saved``: bytes that the asked ones are to lose. ``gone``: that an asked weight is no float any more is checked.
    """

    before: dict[str, int]
    asked: dict[str, int]
    saved: int
    notes: tuple[str, ...] = ()


def execute(kind: str, source: Model, out: Path, work: Callable[[Path], Asked]) -> PassReport:
    """Runs ``work`` on a folder in ``out`` into which it writes model.onnx, and moves that up when it is good.

    Nothing is left in ``out`` when it is not: the error names the pass.
    """
    from sluiceway.pipeline.passes import store

    with aside(out) as folder, named(kind):
        asked = work(folder)
        made = Model(folder / "model.onnx")
        check(made)
        before, after = store.size_of(source.path), store.size_of(made.path)
        changed = _changed(made, asked)
        _hold(asked, changed, before, after)
        move(folder, out)
    return PassReport(
        kind, len(asked.before), len(changed), len(asked.asked), before, after, (_told(asked, changed), *asked.notes)
    )


def check(model: Model) -> None:
    """As every model must be that goes on: what `check_model` and `check_shapes` ask."""
    from sluiceway.pipeline.checks import Limits, check_model, check_shapes

    check_model(model, Limits())
    check_shapes(model, ())


def move(folder: Path, out: Path) -> None:
    """What is in ``folder`` to ``out``; model.onnx last, so that it never stands there without its data."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == "model.onnx"):
        path.replace(out / path.name)


def names(uses: Sequence[Use]) -> dict[str, int]:
    """Each weight behind the uses, with its elements."""
    return {use.name: use.elements for use in uses}


@contextmanager
def aside(out: Path) -> Iterator[Path]:
    """A folder in ``out`` that is gone afterwards, with all that is in it."""
    made = not out.exists()
    folder = out / ".unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(out if made else folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def named(kind: str) -> Iterator[None]:
    """Puts the pass before the path of an error, and makes one of what a library raises."""
    try:
        yield
    except SluicewayError as error:
        error.path = f"{kind}: {error.path}" if error.path else kind
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:240] or type(error).__name__
        raise SluicewayError("the pass failed", path=kind, got=text, hint=f"leave {kind} out of the recipe") from error


def _changed(made: Model, asked: Asked) -> dict[str, int]:
    """The asked weights that the model made has no float tensor of the same name for."""
    from sluiceway.pipeline.passes import store, weights

    left = set(weights.float_names(store.load(made.path)))
    return {name: count for name, count in asked.asked.items() if name not in left}


def _hold(asked: Asked, changed: dict[str, int], before: int, after: int) -> None:
    if not changed:
        raise SluicewayError(
            f"none of the {len(asked.before)} float weights was changed",
            hint="look at the settings of the pass, and whether the model's weights are floats that stand in MatMul",
        )
    missed = sorted(asked.asked.keys() - changed.keys())
    if missed:
        raise SluicewayError(
            f"{len(changed)} weights of the {len(asked.asked)} asked for were changed",
            got=", ".join(missed[:5]),
            hint="name them under keep by their shape if they are to stay floats, or put fold before this pass",
        )
    wanted, lost = asked.saved / before, (before - after) / before
    if before - after + OVERHEAD * len(asked.asked) < LEAST_FALL * asked.saved:
        raise SluicewayError(
            f"the model lost {100 * lost:.0f} % of its bytes, and {100 * wanted:.0f} % were asked for",
            got=f"{before} -> {after} bytes",
            hint="a weight stands in it twice: put fold before this pass, or quantise the table of embeddings too",
        )


def _told(asked: Asked, changed: dict[str, int]) -> str:
    return (
        f"{len(changed)} of {len(asked.before)} weights, "
        f"{sum(changed.values())} of {sum(asked.before.values())} elements"
    )
