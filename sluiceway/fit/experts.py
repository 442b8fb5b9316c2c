"""Which layers of a config.json are layers of experts, and what those are made of."""

from __future__ import annotations

from sluiceway.fit.families import Family
from sluiceway.fit.fields import Fields
from sluiceway.fit.shape import Experts

_COUNT = ("n_routed_experts", "num_experts", "num_local_experts")


def experts_of(fields: Fields, family: Family, layers: int) -> Experts | None:
    """None for a dense model. UserError when a token takes more experts than there are."""
    if family.experts == "none" or (family.experts == "deepseek" and not fields.has("n_routed_experts")):
        return None
    count = fields.whole(*_COUNT, high=100_000)
    taken = fields.whole("num_experts_per_tok", "experts_per_token", high=100_000)
    if taken > count:
        raise fields.bad("num_experts_per_tok", f"is at most the number of experts, {count}", taken)
    width = fields.whole("moe_intermediate_size", "intermediate_size")
    shared = fields.whole("n_shared_experts", default=0, low=0, high=1_000) * width
    gate = family.experts == "qwen" and fields.has("shared_expert_intermediate_size")
    if gate:
        shared = fields.whole("shared_expert_intermediate_size")
    return Experts(
        layers=sum(_sparse(fields, family, layers)),
        count=count,
        per_token=taken,
        width=width,
        shared=shared,
        shared_gate=gate,
        bias=family.expert_bias,
        router_bias=family.router_bias,
    )


def _sparse(fields: Fields, family: Family, layers: int) -> list[bool]:
    listed = fields.listed("mlp_layer_types", str)
    if listed is not None:
        if len(listed) != layers:
            raise fields.bad("mlp_layer_types", f"names each of the {layers} layers", f"{len(listed)} names")
        return [kind == "sparse" for kind in listed]
    if family.experts == "deepseek":
        dense = fields.whole("first_k_dense_replace", default=0, low=0)
        every = fields.whole("moe_layer_freq", default=1)
        return [at >= dense and at % every == 0 for at in range(layers)]
    if family.experts == "qwen":
        step = fields.whole("decoder_sparse_step", default=1)
        plain = set(fields.listed("mlp_only_layers", int) or ())
        return [(at + 1) % step == 0 and at not in plain for at in range(layers)]
    return [True] * layers
