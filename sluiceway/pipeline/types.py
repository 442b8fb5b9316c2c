"""What the parts of the model path hand each other: a model on disk, and a pass that makes another of it.

Only the standard library is imported here, so that a pass costs its own libraries and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Model:
    """``path`` is the file model.onnx; its external data, tokenizer files and config lie in the same folder."""

    path: Path

    @property
    def folder(self) -> Path:
        return self.path.parent


@dataclass(frozen=True)
class PassReport:
    """What a pass did. Weights are counted as tensors, bytes are those of the graph and its external data.

    ``weights_before``: float weights that the pass found; ``weights_asked``: those that its settings name;
    ``weights_changed``: those that it rewrote. A pass that changed fewer than it was asked to says so or fails.
    """

    kind: str
    weights_before: int
    weights_changed: int
    weights_asked: int
    bytes_before: int
    bytes_after: int
    notes: tuple[str, ...] = ()


class Pass(Protocol):
    """One step from a model to another. ``version`` rises whenever the same input would give other bytes."""

    @property
    def kind(self) -> str: ...

    @property
    def version(self) -> int: ...

    def run(self, source: Model, out: Path) -> PassReport:
        """Writes ``out``/model.onnx (and its data) from ``source``, which it leaves as it is.

        ``out`` exists and is empty. What belongs to the model beside its graph (tokenizer, config) is carried over by
        the runner. Raises UserError for settings that this model can't take, SluicewayError when nothing came of it.
        """
        ...
