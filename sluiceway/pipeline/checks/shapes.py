"""A model that runs: the checker, and trial runs at several sizes whose outputs are numbers and follow the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import axes, feeds, proto, session
from sluiceway.pipeline.checks.facts import Port
from sluiceway.pipeline.types import Model

USUAL = ((1, 1), (1, 7), (2, 5), (3, 16))


def check(model: Model, batches: Sequence[tuple[int, int]]) -> None:
    """``batches``: (batch, length) of each run, `USUAL` where it is empty."""
    _checker(model.path)
    parsed = proto.parse(model.path)
    inputs, outputs = axes.ports(parsed)
    axes.check(inputs, outputs, str(model.path))
    rows = {port.name: axes.table_rows(parsed.graph, port.name) or 2 for port in inputs}
    del parsed
    opened = session.open_session(model.path)
    for batch, length in batches or USUAL:
        feed = feeds.make(inputs, rows, batch, length)
        bound = feeds.sizes(inputs, batch, length)
        where = f"{model.path}: at batch {batch} and length {length}"
        _judge(run(opened, feed, where), outputs, bound, batch, where)


def run(opened: Any, feed: Mapping[str, Any], where: str) -> list[Any]:  # noqa: ANN401 - the library has no types
    """All outputs; a UserError tells the node that fails."""
    try:
        found: list[Any] = opened.run(None, dict(feed))
    except Exception as error:
        raise UserError(
            "the model does not run",
            path=where,
            got=session.line(error),
            hint="an axis is fixed inside the graph, or a node does not fit: export with batch and length dynamic",
        ) from error
    return found


def _checker(path: Path) -> None:
    """The path, not the model, is handed over: so it takes external data, and more than 2 GB."""
    try:
        onnx.checker.check_model(str(path))
    except Exception as error:
        raise UserError(
            "onnx finds a fault in this model", path=str(path), got=session.line(error), hint="export it again"
        ) from error


def _judge(values: Sequence[Any], outputs: Sequence[Port], bound: Mapping[str, int], batch: int, where: str) -> None:
    for port, value in zip(outputs, values, strict=True):
        if not isinstance(value, np.ndarray):
            _same(len(value), batch, port.name, 0, where)
            continue
        if value.dtype.kind == "f" and not bool(np.isfinite(value).all()):
            bad = int(value.size - np.isfinite(value).sum())
            raise UserError(
                f"output {port.name} is NaN or infinite",
                path=where,
                got=f"{bad} of {value.size} values",
                hint="look for a mask of -inf on a whole row, a division by 0 or a weight that overflows its type",
            )
        for axis, size in enumerate(value.shape):
            _same(size, _wanted(port, value.ndim, axis, bound, batch), port.name, axis, where)


def _wanted(port: Port, rank: int, axis: int, bound: Mapping[str, int], batch: int) -> int | None:
    """What an output's axis must be: as it is declared, and the batch where nothing is said of the first."""
    dims = port.dims if port.dims is not None and len(port.dims) == rank else (None,) * rank
    declared = dims[axis]
    wanted = bound.get(declared) if isinstance(declared, str) else declared
    return batch if wanted is None and axis == 0 and rank >= 2 else wanted


def _same(size: int, wanted: int | None, name: str, axis: int, where: str) -> None:
    if wanted is not None and size != wanted:
        raise UserError(
            f"output {name} has {size} along axis {axis}, and the input asks for {wanted}",
            path=where,
            hint="an axis is fixed inside the graph: export with batch and length dynamic",
        )
