"""The answer as one JSON document: bytes, seconds and US dollars, nothing rounded for reading."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sluiceway.fit.cards import Plan
from sluiceway.fit.memory import CACHE_BYTES, CONTEXTS, FORMATS, as_published, cache, weights
from sluiceway.fit.report import Report


def document(report: Report) -> dict[str, Any]:
    shape, asked = report.subject.shape, report.question
    return {
        "model": report.subject.name,
        "source": report.subject.source,
        "verdict": report.verdict,
        "architecture": shape.architecture,
        "model_type": shape.model_type,
        "encoder": shape.encoder,
        "layers": shape.layers,
        "context_limit": shape.limit,
        "attention": shape.attention.name,
        "precision": {**asdict(shape.precision), "kept": sorted(shape.precision.kept)},
        "parameters": report.counted.document(),
        "weights_bytes": {
            "published": as_published(report.counted, shape.precision),
            **{each.name: weights(report.counted, each) for each in FORMATS},
        },
        "cache_bytes": {
            name: {
                str(context): cache(shape, context, width) if context <= shape.limit else None
                for context in sorted({*CONTEXTS, asked.load.context})
            }
            for name, width in CACHE_BYTES.items()
        },
        "asked": {
            **asdict(asked.load),
            "tokens_per_month": asked.month,
            "mix": [asked.mix.read, asked.mix.written],
            "gpu": asked.gpu,
        },
        "tiers": [asdict(tier) for tier in report.tiers],
        "cards": [_plan(each) for each in report.plans],
        "best": _plan(report.best) if report.best else None,
        "speed": asdict(report.speed) if report.speed else None,
        "cost": _cost(report),
        "notes": list(shape.notes),
    }


def _plan(each: Plan) -> dict[str, Any]:
    return {
        "card": each.card.name,
        "format": each.format.name,
        "cards": each.cards,
        "layout": asdict(each.layout) if each.layout else None,
        "need_bytes": each.need,
        "room_bytes": each.card.room,
        "one_card_lacks_bytes": each.short,
    }


def _cost(report: Report) -> dict[str, Any]:
    kept = report.reserved
    return {
        "workers_ai_usd": report.workers_ai_usd,
        "reserved": {**asdict(kept), "usd_for_volume": list(kept.for_volume(report.question.month))} if kept else None,
        "break_even": asdict(report.break_even) if report.break_even else None,
    }
