"""Which ONNX versions a stage lists and can't run: told before `up`, since after it only requests would say so."""

from __future__ import annotations

import re
from typing import Final

from sluiceway.domain.model import ModelVersion, Task

ENCODER_BYTES: Final = 32 * 2**20
"""Of graph and weights together, as inference/src/models.ts takes them into an isolate."""
LINEAR_BYTES: Final = 4_000_000
"""Of the file of a linear classifier, as worker/src/edge/linears.ts reads it."""
_GRAPH: Final = "model.onnx"
_TOKENIZER: Final = "tokenizer.json"
_WEIGHTS: Final = re.compile(r"[._]data$")


def unfit(task: Task, version: ModelVersion) -> tuple[str, str] | None:
    """What keeps ``version``, of a model of ``task``, from answering, and what to do; None when nothing is known."""
    if version.backend != "onnx":
        return None
    if task == "chat":
        hint = "serve it by a server of your own (backend: openai); onnx runs encoders and linear classifiers"
        return f"{version.ref} answers no requests: no ONNX model of task chat is run here", hint
    sizes = {file.name: file.bytes for file in version.files}
    missing = [name for name in (_GRAPH, *([_TOKENIZER] if task == "embed" else [])) if name not in sizes]
    if missing:
        hint = "build its package by a recipe and publish it as a new version"
        return f"{version.ref} answers no requests: it has no {' and no '.join(missing)}", hint
    if task == "classify":
        hint = "train a linear one, like models/recipes/intent: no other classifier is run here"
        return _too_large(version, "a linear classifier", sizes[_GRAPH], LINEAR_BYTES, hint)
    size = sum(size for name, size in sizes.items() if name == _GRAPH or _WEIGHTS.search(name))
    hint = "quantise it (passes: in its recipe), or take a smaller model; `sluiceway models fit` says what fits"
    return _too_large(version, "an encoder with its weights", size, ENCODER_BYTES, hint)


def _too_large(version: ModelVersion, what: str, size: int, most: int, hint: str) -> tuple[str, str] | None:
    if size <= most:
        return None
    return f"{version.ref} answers no requests: {what} has at most {most:,} bytes, and it has {size:,}", hint
