"""What a model is made of, as far as its size and its speed go. Widths are numbers of elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Grouped:
    """Attention with a key and a value for each of ``kv_heads``: MHA where they equal ``heads``, else GQA or MQA."""

    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: Literal["none", "head", "full"] = "none"
    sinks: bool = False

    @property
    def cached(self) -> int:
        """Elements that a token leaves in the cache of a layer."""
        return 2 * self.kv_heads * self.head_dim

    @property
    def name(self) -> str:
        return "MHA" if self.heads == self.kv_heads else "MQA" if self.kv_heads == 1 else "GQA"


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: one latent of ``kv_rank`` and one rotated key of ``rope`` for all heads."""

    heads: int
    q_rank: int | None
    kv_rank: int
    nope: int
    rope: int
    value: int

    @property
    def cached(self) -> int:
        return self.kv_rank + self.rope

    @property
    def name(self) -> str:
        return "MLA"


@dataclass(frozen=True)
class Indexer:
    """Picks the ``topk`` tokens that sparse attention looks at; ``layers`` of the model have one of their own."""

    heads: int
    dim: int
    topk: int
    layers: int


@dataclass(frozen=True)
class Experts:
    """``layers`` have ``count`` experts of ``width``, of which a token takes ``per_token``, and ``shared`` always."""

    layers: int
    count: int
    per_token: int
    width: int
    shared: int = 0
    shared_gate: bool = False
    bias: bool = False
    router_bias: bool = False


@dataclass(frozen=True)
class Precision:
    """How the weights are published. ``bits`` counts scales; ``kept``: parts that stay in ``dtype`` all the same."""

    dtype: str
    method: str | None = None
    bits: float | None = None
    kept: frozenset[str] = frozenset()

    @property
    def dtype_bits(self) -> int:
        return 32 if self.dtype == "float32" else 16


@dataclass(frozen=True)
class Shape:
    """``windows``: for each layer the tokens that it looks back on, None for all. ``limit``: the longest context.

    ``encoder``: it reads a text at once and writes none, so that it has neither cache nor head. ``mtp``: layers that
    predict further tokens, for speculative decoding alone. ``positions``, ``types``: rows of learned tables.
    """

    model_type: str
    architecture: str
    hidden: int
    vocab: int
    attention: Grouped | Latent
    mlp_width: int
    windows: tuple[int | None, ...]
    limit: int
    precision: Precision
    experts: Experts | None = None
    indexer: Indexer | None = None
    gated: bool = True
    mlp_bias: bool = False
    norms: int = 2
    tied: bool = False
    encoder: bool = False
    positions: int = 0
    types: int = 0
    mtp: int = 0
    notes: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        return len(self.windows)

    @property
    def dense_layers(self) -> int:
        return self.layers - (self.experts.layers if self.experts else 0)
