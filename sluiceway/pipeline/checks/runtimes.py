"""Which opset and IR version a runtime takes, and whether a model asks for more."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sluiceway.errors import UserError

# (runtime, opset, IR). From 1.24 on tried with a graph of each version; onnxruntime-web is built of the same source.
# A version between two rows is taken to be like the older one.
TAKES: tuple[tuple[tuple[int, int], int, int], ...] = (
    ((1, 14), 18, 8),
    ((1, 16), 19, 9),
    ((1, 18), 21, 10),
    ((1, 24), 25, 13),
    ((1, 30), 26, 13),
    ((1, 32), 28, 14),
)
OLDEST_OPSET = 7


def takes(version: str) -> tuple[int, int]:
    """The newest opset and IR version that this version of onnxruntime loads."""
    found = re.match(r"(\d+)\.(\d+)", version)
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    rows = [row for row in TAKES if row[0] <= number]
    if not rows:
        raise UserError(
            "no runtime that we know the versions of",
            path="runtime",
            got=version,
            hint=f"name a version of onnxruntime from {'.'.join(map(str, TAKES[0][0]))} on",
        )
    return rows[-1][1:]


def check(ir: int, opset: int | None, runtimes: Mapping[str, str], path: str) -> None:
    """Refuses a model that one of ``runtimes`` would not load; ``opset`` is None where no standard operator is used."""
    for name, version in runtimes.items():
        newest_opset, newest_ir = takes(version)
        runtime = name.replace("_", "-")
        if ir > newest_ir:
            raise UserError(
                f"the model has IR version {ir}, and {runtime} {version} takes up to {newest_ir}",
                path=path,
                hint=f"export with ir: {newest_ir} or lower, or raise runtime.{name}",
            )
        if opset is not None and opset > newest_opset:
            raise UserError(
                f"the model has opset {opset}, and {runtime} {version} takes up to {newest_opset}",
                path=path,
                hint=f"export with opset: {newest_opset} or lower, or raise runtime.{name}",
            )
    if opset is not None and opset < OLDEST_OPSET:
        raise UserError(
            f"the model has opset {opset}, and onnxruntime takes {OLDEST_OPSET} and newer",
            path=path,
            hint="export it again with opset: 17",
        )
