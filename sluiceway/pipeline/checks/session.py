"""A session of onnxruntime as we open it for a trial: one thread, silent, its errors told in a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnxruntime  # type: ignore[import-untyped]

from sluiceway.errors import UserError

_PLACE = re.compile(r"[\w./\\+-]+\.(?:cc|h|cpp|cu):\d+\s*")
_NODE = re.compile(r"[Nn]ode(?: \(|[ :=]+'?|:\s*)\(?([\w./:-]+)\)?")


def open_session(path: Path, optimise: bool = True) -> Any:  # noqa: ANN401 - the library has no types
    """``path`` in one thread on the processor; a UserError names the node, if the library does."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises a dozen kinds, and RuntimeError
        raise UserError(
            "onnxruntime does not load this model",
            path=str(path),
            got=line(error),
            hint="export it again, or leave out the pass that made it",
        ) from error


def line(error: Exception) -> str:
    """What the library said, in a line without its source paths."""
    text = " ".join(_PLACE.sub("", str(error)).split())
    text = re.sub(r"\[ONNXRuntimeError\] : \d+ : ", "", text)
    node = _NODE.search(text)
    short = text if len(text) <= 240 else f"{text[:237]}..."
    return short if node is None or node[1] in short else f"node {node[1]}: {short}"
