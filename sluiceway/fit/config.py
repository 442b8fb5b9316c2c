"""From the values of a config.json to the shape of the model. No file is read here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sluiceway.errors import UserError
from sluiceway.fit.experts import experts_of
from sluiceway.fit.families import FAMILIES, Family
from sluiceway.fit.fields import MOST_LAYERS, Fields
from sluiceway.fit.precision import precision_of
from sluiceway.fit.shape import Grouped, Indexer, Latent, Shape

_INHERITED: Final = ("torch_dtype", "dtype", "quantization_config", "tie_word_embeddings")
_ATTENTION: Final = {"sliding_attention": True, "full_attention": False, "deepseek_sparse_attention": False}


def shape_of(values: Mapping[str, Any], path: str) -> Shape:
    """The model's shape. UserError names the key that is missing or can't be, or the family that isn't known."""
    outer = Fields(values, path)
    inner = outer.block("text_config")
    fields = inner.under(outer, *_INHERITED) if inner else outer
    named = fields.text("model_type") or outer.text("model_type")
    family = _family(named, outer, path)
    windows = _windows(fields, family)
    experts = experts_of(fields, family, len(windows))
    parts = [name for name in ("vision_config", "audio_config") if outer.has(name)]
    return Shape(
        model_type=named,
        architecture=_architecture(outer),
        hidden=fields.whole("hidden_size", high=1_000_000),
        vocab=fields.whole("vocab_size", high=100_000_000),
        attention=_attention(fields, family),
        mlp_width=fields.whole("intermediate_size"),
        windows=windows,
        limit=fields.whole("max_position_embeddings", high=1_000_000_000),
        precision=precision_of(fields),
        experts=experts,
        indexer=_indexer(fields, len(windows)) if family.indexer else None,
        gated=family.gated,
        mlp_bias=fields.flag("mlp_bias", family.mlp_bias),
        norms=family.norms,
        tied=fields.flag("tie_word_embeddings", family.tied) and not family.encoder,
        encoder=family.encoder,
        positions=fields.whole("max_position_embeddings") if family.encoder else 0,
        types=fields.whole("type_vocab_size", low=0) if family.encoder else 0,
        mtp=fields.whole("num_nextn_predict_layers", default=0, low=0, high=100),
        notes=tuple(f"the part that {name} describes is not counted" for name in parts),
    )


def _family(named: str, fields: Fields, path: str) -> Family:
    if not named:
        raise fields.missing("model_type")
    family = FAMILIES.get(named)
    if family is None:
        known = ", ".join(FAMILIES)
        message = f"neither size nor memory of a {named} can be told: its layers aren't known here"
        raise UserError(message, path=f"{path}: model_type", hint=f"known are {known}")
    return family


def _architecture(fields: Fields) -> str:
    found = fields.listed("architectures", str)
    return found[0][:200] if found else "not named"


def _attention(fields: Fields, family: Family) -> Grouped | Latent:
    heads = fields.whole("num_attention_heads", high=100_000)
    if family.latent:
        return Latent(
            heads=heads,
            q_rank=fields.whole("q_lora_rank") if fields.has("q_lora_rank") else None,
            kv_rank=fields.whole("kv_lora_rank"),
            nope=fields.whole("qk_nope_head_dim"),
            rope=fields.whole("qk_rope_head_dim"),
            value=fields.whole("v_head_dim"),
        )
    kv_heads = fields.whole("num_key_value_heads", default=heads, high=100_000)
    if heads % kv_heads:
        raise fields.bad("num_key_value_heads", f"divides num_attention_heads, {heads}", kv_heads)
    hidden = fields.whole("hidden_size")
    if not fields.has("head_dim") and hidden % heads:
        raise fields.bad("num_attention_heads", f"divides hidden_size, {hidden}, where no head_dim is given", heads)
    asked = fields.flag("attention_bias", False)
    norm = family.qk_norm
    if norm == "asked":
        norm = "head" if fields.flag("use_qk_norm", False) else "none"
    return Grouped(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=fields.whole("head_dim", default=hidden // heads),
        qkv_bias=family.qkv_bias == "always" or (family.qkv_bias == "asked" and asked),
        out_bias=family.out_bias == "always" or (family.out_bias == "asked" and asked),
        qk_norm=norm,
        sinks=family.sinks,
    )


def _windows(fields: Fields, family: Family) -> tuple[int | None, ...]:
    layers = fields.whole("num_hidden_layers", high=MOST_LAYERS)
    listed = fields.listed("layer_types", str)
    if listed is not None:
        return _listed_windows(fields, listed, layers)
    if family.window == "never" or not fields.has("sliding_window"):
        return (None,) * layers
    window = fields.whole("sliding_window", high=1_000_000_000)
    if family.window == "flag":
        first = fields.whole("max_window_layers", default=0, low=0)
        slides = fields.flag("use_sliding_window", False)
        return tuple(window if slides and at >= first else None for at in range(layers))
    every = {"all": 0, "alternate": 2, "five-of-six": fields.whole("sliding_window_pattern", default=6)}[family.window]
    return tuple(None if every and (at + 1) % every == 0 else window for at in range(layers))


def _listed_windows(fields: Fields, listed: list[str], layers: int) -> tuple[int | None, ...]:
    if len(listed) != layers:
        raise fields.bad("layer_types", f"names each of the {layers} layers", f"{len(listed)} names")
    other = next((name for name in listed if name not in _ATTENTION), None)
    if other is not None:
        raise fields.bad("layer_types", "is full_attention or sliding_attention: no other can be counted here", other)
    window = fields.whole("sliding_window", high=1_000_000_000) if "sliding_attention" in listed else None
    return tuple(window if _ATTENTION[name] else None for name in listed)


def _indexer(fields: Fields, layers: int) -> Indexer:
    """Of the layers some share the choice of the one before them: by a list, or one in ``index_topk_freq``."""
    listed = fields.listed("indexer_types", str)
    if listed is not None and len(listed) != layers:
        raise fields.bad("indexer_types", f"names each of the {layers} layers", f"{len(listed)} names")
    every = fields.whole("index_topk_freq", default=1)
    first = fields.whole("index_skip_topk_offset", default=2, low=0)
    own = (
        [kind == "full" for kind in listed] if listed else [max(at - first + 1, 0) % every == 0 for at in range(layers)]
    )
    return Indexer(
        heads=fields.whole("index_n_heads", high=100_000),
        dim=fields.whole("index_head_dim"),
        topk=fields.whole("index_topk"),
        layers=sum(own),
    )
