"""What a check is held to, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PROTOBUF_LIMIT = 2**31 - 1
"""Bytes that a protobuf message may have; no reader takes more."""


@dataclass(frozen=True)
class Limits:
    """``runtimes``: the oldest version of each that must load the model, by its package's name.

    ``max_bytes``: of the graph with its external data, as the target takes them. ``max_graph_bytes``: of model.onnx
    alone. ``max_unpacked_bytes``, ``max_ratio``, ``max_members``: of an archive.
    """

    runtimes: Mapping[str, str] = field(default_factory=dict)
    max_bytes: int = 64 * 2**30
    max_graph_bytes: int = PROTOBUF_LIMIT
    max_unpacked_bytes: int = 16 * 2**30
    max_ratio: int = 100
    max_members: int = 10_000


@dataclass(frozen=True)
class Port:
    """An input or output. ``dims``: a number, a symbol, or None where nothing is said; None for what is no tensor."""

    name: str
    kind: str
    dims: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class Facts:
    """``tensors`` and ``elements`` count the float weights; ``table_rows`` is the vocabulary the first Gather takes."""

    ir: int
    opsets: Mapping[str, int]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    data_files: tuple[str, ...]
    graph_bytes: int
    data_bytes: int
    tensors: int
    elements: int
    table_rows: int | None = None

    @property
    def opset(self) -> int:
        """Of the standard operators."""
        return self.opsets.get("", 0)

    @property
    def total_bytes(self) -> int:
        return self.graph_bytes + self.data_bytes
