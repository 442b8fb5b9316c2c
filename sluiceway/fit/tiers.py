"""Which tier of a deployment a model fits: the edge isolate, Workers AI, cards of one's own; and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluiceway.catalog.lora_bases import MAX_BYTES, MAX_RANK, base_of_shape
from sluiceway.catalog.workers_ai import MODELS, RETIRED
from sluiceway.fit.cards import Load, Plan
from sluiceway.fit.count import Parameters
from sluiceway.fit.families import FAMILIES
from sluiceway.fit.memory import BY_NAME, cache, weights
from sluiceway.fit.shape import Grouped, Shape
from sluiceway.fit.units import human_bytes

ISOLATE: Final = 128 * 10**6
"""Bytes of an isolate. Cloudflare says 128 MB and not which; the smaller reading is taken."""
WASM: Final = 17 * 10**6
HEAP: Final = 2.8
"""The wasm heap after a run, measured: 17 MB under a model of 0.2 MB, 82 MB under one of 23.4 MB."""
OTHERS: Final = 10 * 10**6
"""The Worker's script, its objects and the tokenizer."""
EDGE_FORMATS: Final = ("int8", "int4")


@dataclass(frozen=True)
class Tier:
    """``short``: bytes that are lacking, where it is memory that lacks. ``detail``: how it fits, or why it doesn't."""

    name: str
    fits: bool
    detail: str
    short: int | None = None


def edge_need(size: int, cached: int) -> int:
    """Bytes of an isolate for a model of ``size`` bytes: the heap with what runs in it, and the copy it loads from."""
    return WASM + OTHERS + int(size * HEAP) + size + cached


def edge(shape: Shape, counted: Parameters, load: Load) -> Tier:
    """One sequence of the load's context, in the smaller of the formats that the wasm runtime has."""
    cached = cache(shape, min(load.context, shape.limit), 2)
    needs = {name: edge_need(weights(counted, BY_NAME[name]), cached) for name in EDGE_FORMATS}
    name = next((each for each in EDGE_FORMATS if needs[each] <= ISOLATE), EDGE_FORMATS[-1])
    short = max(0, needs[name] - ISOLATE)
    lacking = FAMILIES[shape.model_type].edge
    told = f"{name} needs {human_bytes(needs[name])} of {human_bytes(ISOLATE)} with the wasm heap and the loading copy"
    if lacking:
        told = f"{told}; {lacking}"
    return Tier("edge", short == 0 and not lacking, told, short or None)


def workers_ai(shape: Shape, ids: tuple[str, ...], context: int = 1) -> Tier:
    """``ids``: what Workers AI calls this very model; ``context``: tokens that its window there must have."""
    served = {name: _window(name) for name in ids if name not in RETIRED}
    wide = [name for name, window in served.items() if window is None or context <= window]
    if wide:
        return Tier("Workers AI", True, " or ".join(wide))
    if served:
        widest = max(window for window in served.values() if window is not None)
        return Tier("Workers AI", False, f"{' or '.join(served)} has a window of {widest:,} tokens there")
    base = lora_base(shape)
    if base:
        return Tier(
            "Workers AI", True, f"as a LoRA adapter on {base}: rank {MAX_RANK} and {human_bytes(MAX_BYTES)} at most"
        )
    return Tier("Workers AI", False, "not in its catalogue, which takes no weights of one's own, and no base for LoRA")


def _window(id: str) -> int | None:
    return MODELS[id].context_window if id in MODELS else None


def lora_base(shape: Shape) -> str | None:
    """The base model that an adapter for this shape can be put on, if its shape is one of them."""
    if not isinstance(shape.attention, Grouped):
        return None
    found = base_of_shape(shape.model_type, shape.hidden, shape.layers, shape.attention.kv_heads, shape.vocab)
    return found.id if found else None


def gpu(plans: tuple[Plan, ...], best: Plan | None) -> Tier:
    """``best``: the plan to tell of, None when no card of ``plans`` holds the model."""
    if best is None or best.layout is None:
        nearest = min(plans, key=lambda plan: plan.lacking)
        told = f"not even {nearest.card.most} x {nearest.card.name} hold it at {nearest.format.name}"
        return Tier("GPU", False, told, nearest.lacking)
    return Tier("GPU", True, f"{best.cards} x {best.card.name} at {best.format.name}, {best.layout.name}")
