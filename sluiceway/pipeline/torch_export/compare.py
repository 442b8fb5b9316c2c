"""The graph as it was written against the model that was traced: the same feeds, the largest difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import SluicewayError

CASES: Final = ((1, 1, 7), (2, 5, 3), (3, 17, 1), (1, 64, 0), (4, 1, 31), (1, 1, 0))
"""(rows, new tokens, tokens before them)."""
PADDED: Final = (3, 6, 0, 2)
"""The same, and how many tokens of each row but the first the mask hides."""
TOLERANCE: Final = 1e-3
"""Of the largest number that torch answers, or of 1: float32 sums in another order are 100 times nearer."""

Feeds = Mapping[str, NDArray[Any]]
Answer = Callable[[Feeds], Sequence[NDArray[Any]]]


def compare(path: Path, outputs: Sequence[str], cached: bool, feeds: Callable[..., Feeds], torch: Answer) -> Any:  # noqa: ANN401
    """``{largest, cases: [{rows, length, past, padding, difference, share}]}``: differences of any output.

    ``share``: of the largest number of that output. SluicewayError where one is beyond TOLERANCE or isn't a number.
    """
    run = opened(path)
    told = []
    cases = [(rows, length, past if cached else 0, 0) for rows, length, past in CASES]
    for rows, length, past, padding in [*cases, PADDED]:
        made = feeds(rows, length, past, padding, seed=rows * 100 + length)
        seen = np.asarray(made["attention_mask"])[:, -length:] == 1
        difference, share = 0.0, 0.0
        for name, got, wanted in zip(outputs, run(made), torch(made), strict=True):
            found = _differ(got, wanted, seen)
            difference, share = max(difference, found[0]), max(share, found[1])
            if not found[1] <= TOLERANCE:  # NaN isn't either
                where = f"{rows} rows of {length} after {past}, {padding} hidden"
                raise SluicewayError(
                    f"the exported {name} isn't torch's at {where}: it differs by {found[0]:.3g}",
                    path=str(path),
                    hint="report it with the model's config.json; or try another export.opset",
                )
        case = {"rows": rows, "length": length, "past": past, "padding": padding}
        told.append({**case, "difference": difference, "share": share})
    return {"largest": max(each["difference"] for each in told), "cases": told}


def opened(path: Path) -> Answer:
    """The graph in a session of onnxruntime. SluicewayError when it can't be opened."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises a dozen kinds
        hint = "report it with the model's config.json; or try another export.opset"
        raise SluicewayError(f"the runtime can't open what torch wrote: {error}", path=str(path), hint=hint) from error
    names = [value.name for value in session.get_outputs()]
    return lambda feeds: list(session.run(names, dict(feeds)))


def _differ(got: NDArray[Any], wanted: NDArray[Any], seen: NDArray[np.bool_]) -> tuple[float, float]:
    """The largest difference, and its share of the largest wanted number; NaN, if one of them is.

    What stands where the mask hides a token is nobody's answer, in outputs that have a number for each token.
    """
    if got.shape != wanted.shape:
        return math.inf, math.inf
    if got.ndim == 3 and got.shape[:2] == seen.shape:
        got, wanted = got[seen], wanted[seen]
    if got.ndim == 4:  # a cache ends in the new tokens
        kept = np.moveaxis(got, 2, 1)[:, -seen.shape[1] :], np.moveaxis(wanted, 2, 1)[:, -seen.shape[1] :]
        got, wanted = kept[0][seen], kept[1][seen]
    difference = float(np.max(np.abs(got.astype(np.float64) - wanted))) if got.size else 0.0
    scale = max(1.0, float(np.max(np.abs(wanted)))) if wanted.size else 1.0
    return difference, difference / scale
