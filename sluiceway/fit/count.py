"""How many parameters a model has, by part."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sluiceway.fit.shape import Experts, Grouped, Indexer, Latent, Shape


@dataclass(frozen=True)
class Parameters:
    """Numbers of weights. ``experts`` are the routed ones, ``experts_active`` what one token takes of them.

    ``embedding`` is the table of tokens (and of positions); a tied model uses it as its head too, and ``head`` is 0.
    ``mtp`` is not part of ``total``: it is loaded for speculative decoding alone.
    """

    embedding: int
    attention: int
    mlp: int
    norms: int
    head: int
    tied: bool
    experts: int = 0
    experts_active: int = 0
    shared_experts: int = 0
    router: int = 0
    indexer: int = 0
    pooler: int = 0
    mtp: int = 0

    @property
    def total(self) -> int:
        return self.active - self.experts_active + self.experts

    @property
    def active(self) -> int:
        """What one token needs, the table of tokens counted whole."""
        return self.embedding + self._layers + self.head

    @property
    def per_step(self) -> int:
        """What is read from memory for one token: of the table of tokens one row, unless it is the head as well."""
        return self.active - (0 if self.tied else self.embedding)

    @property
    def _layers(self) -> int:
        dense = self.attention + self.indexer + self.mlp + self.norms + self.pooler
        return dense + self.router + self.shared_experts + self.experts_active

    def document(self) -> dict[str, int | bool]:
        return {**asdict(self), "total": self.total, "active": self.active, "read_per_token": self.per_step}


def parameters(shape: Shape) -> Parameters:
    """Counts every weight that the model's family has."""
    experts = shape.experts
    hidden, layers = shape.hidden, shape.layers
    tables = (shape.vocab + shape.positions + shape.types) * hidden
    return Parameters(
        embedding=tables,
        attention=layers * _attention(shape),
        mlp=shape.dense_layers * _mlp(shape, shape.mlp_width),
        norms=_norms(shape),
        head=0 if shape.tied or shape.encoder else shape.vocab * hidden,
        tied=shape.tied,
        experts=experts.layers * experts.count * _expert(shape, experts) if experts else 0,
        experts_active=experts.layers * experts.per_token * _expert(shape, experts) if experts else 0,
        shared_experts=experts.layers * _shared(shape, experts) if experts else 0,
        router=experts.layers * _router(hidden, experts) if experts else 0,
        indexer=shape.indexer.layers * _indexer(shape, shape.indexer) if shape.indexer else 0,
        pooler=hidden * (hidden + 1) if shape.encoder else 0,
        mtp=shape.mtp * _mtp(shape),
    )


def _attention(shape: Shape) -> int:
    hidden, it = shape.hidden, shape.attention
    if isinstance(it, Latent):
        return _latent(hidden, it)
    wide, narrow = it.heads * it.head_dim, it.kv_heads * it.head_dim
    count = hidden * (2 * wide + 2 * narrow)
    count += wide + 2 * narrow if it.qkv_bias else 0
    count += hidden if it.out_bias else 0
    return count + _qk_norm(it) + (it.heads if it.sinks else 0)


def _qk_norm(it: Grouped) -> int:
    return {"none": 0, "head": 2 * it.head_dim, "full": (it.heads + it.kv_heads) * it.head_dim}[it.qk_norm]


def _latent(hidden: int, it: Latent) -> int:
    query = it.heads * (it.nope + it.rope)
    count = hidden * query if it.q_rank is None else it.q_rank * (hidden + 1 + query)
    count += hidden * (it.kv_rank + it.rope) + it.kv_rank
    return count + it.kv_rank * it.heads * (it.nope + it.value) + it.heads * it.value * hidden


def _indexer(shape: Shape, it: Indexer) -> int:
    query_from = shape.attention.q_rank if isinstance(shape.attention, Latent) else None
    query = (query_from or shape.hidden) * it.heads * it.dim
    return query + shape.hidden * (it.dim + it.heads) + 2 * it.dim


def _mlp(shape: Shape, width: int, *, bias: bool | None = None) -> int:
    ups = 2 if shape.gated else 1
    has_bias = shape.mlp_bias if bias is None else bias
    return (ups + 1) * shape.hidden * width + (ups * width + shape.hidden if has_bias else 0)


def _expert(shape: Shape, experts: Experts) -> int:
    return _mlp(shape, experts.width, bias=experts.bias)


def _shared(shape: Shape, experts: Experts) -> int:
    if not experts.shared:
        return 0
    return _mlp(shape, experts.shared) + (shape.hidden if experts.shared_gate else 0)


def _router(hidden: int, experts: Experts) -> int:
    return experts.count * (hidden + (1 if experts.router_bias else 0))


def _norms(shape: Shape) -> int:
    # A layer norm (of the encoders) has a bias, a root-mean-square norm has none.
    each = shape.hidden * (2 if shape.encoder else 1)
    return each * (shape.norms * shape.layers + 1)


def _mtp(shape: Shape) -> int:
    """One more layer of the last kind, with the matrix that joins state and token, and three norms."""
    hidden, experts = shape.hidden, shape.experts
    inner = _mlp(shape, shape.mlp_width)
    if experts:
        inner = experts.count * _expert(shape, experts) + _shared(shape, experts) + _router(hidden, experts)
    sparse = _indexer(shape, shape.indexer) if shape.indexer else 0
    return _attention(shape) + sparse + inner + 2 * hidden * hidden + (shape.norms + 3) * hidden
