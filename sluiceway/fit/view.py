"""The answer for a terminal: the verdict first, then a table for each question."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sluiceway.fit.cards import Plan
from sluiceway.fit.count import Parameters
from sluiceway.fit.memory import CACHE_BYTES, CONTEXTS, FORMATS, as_published, cache, weights
from sluiceway.fit.money import BUSY, BreakEven, Reserved
from sluiceway.fit.report import GPU_FORMATS, Report
from sluiceway.fit.shape import Precision
from sluiceway.fit.speed import Range
from sluiceway.fit.units import human_bytes, human_count, human_time, human_usd

Row = tuple[str, ...]


def lines(report: Report) -> Iterator[str]:
    yield f"{report.subject.name}: {report.verdict}"
    sections: tuple[tuple[str, list[Row]], ...] = (
        ("model", _model(report)),
        ("parameters", _parameters(report)),
        ("weights", _weights(report)),
        (f"cache of one sequence ({report.subject.shape.attention.name})", _cache(report)),
        ("tiers", [(tier.name, "fits" if tier.fits else "misses", tier.detail) for tier in report.tiers]),
        (_asked(report), _cards(report)),
        ("speed, estimated", _speed(report)),
        ("cost of a month", _cost(report)),
    )
    for title, rows in sections:
        if rows:
            yield ""
            yield title
            yield from _table(rows)
    for note in report.subject.shape.notes:
        yield f"note: {note}"


def _table(rows: list[Row]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(max(map(len, rows)))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()


def _model(report: Report) -> list[Row]:
    shape = report.subject.shape
    kind = "encoder" if shape.encoder else "mixture of experts" if shape.experts else "dense decoder"
    return [
        ("read from", report.subject.source),
        ("architecture", f"{shape.architecture} ({shape.model_type}), {kind}, {shape.layers} layers"),
        ("context", f"{shape.limit:,} tokens"),
        ("published as", _precision(shape.precision, report.counted)),
    ]


def _precision(it: Precision, counted: Parameters) -> str:
    if it.method is None:
        return it.dtype
    bits = "its size isn't known here" if it.bits is None else f"{it.bits:.4g} bits a weight"
    parts = [part.replace("_", " ") for part in sorted(it.kept) if getattr(counted, part)]
    kept = f"; in {it.dtype}: {', '.join(parts)}" if parts else ""
    return f"{it.method}, {bits}{kept}"


def _parameters(report: Report) -> list[Row]:
    counted, experts = report.counted, report.subject.shape.experts
    rows: list[Row] = [("total", human_count(counted.total))]
    if experts:
        rows.append(("active for a token", human_count(counted.active)))
    shared = "also the head (tied)" if counted.tied else ""
    rows += [("  embedding", human_count(counted.embedding), shared), ("  attention", human_count(counted.attention))]
    if experts:
        taken = f"{experts.count} in {experts.layers} layers, of which a token takes {experts.per_token}"
        active = f"{taken}: {human_count(counted.experts_active)}"
        rows.append(("  experts", human_count(counted.experts), active))
    rest = ("shared_experts", "router", "indexer", "mlp", "norms", "head", "pooler")
    rows += [
        (f"  {part.replace('_', ' ')}", human_count(getattr(counted, part))) for part in rest if getattr(counted, part)
    ]
    if counted.mtp:
        rows.append(("besides", human_count(counted.mtp), "predicts further tokens; for speculative decoding alone"))
    return rows


def _weights(report: Report) -> list[Row]:
    published = as_published(report.counted, report.subject.shape.precision)
    rows: list[Row] = [("as published", human_bytes(published) if published else "not known", "")]
    return rows + [(each.name, human_bytes(weights(report.counted, each)), each.note) for each in FORMATS]


def _cache(report: Report) -> list[Row]:
    shape = report.subject.shape
    if shape.encoder:
        return []
    rows: list[Row] = [("", *(f"{context // 1024}K" for context in CONTEXTS))]
    for name, width in CACHE_BYTES.items():
        cells = (
            human_bytes(cache(shape, context, width)) if context <= shape.limit else "over its context"
            for context in CONTEXTS
        )
        rows.append((name, *cells))
    return rows


def _asked(report: Report) -> str:
    load = report.question.load
    cached = "" if report.subject.shape.encoder else f", cache in {load.cache}"
    return f"cards for {load.sequences} sequences of {load.context:,} tokens{cached} (in brackets: what one card lacks)"


def _cards(report: Report) -> list[Row]:
    rows: list[Row] = [("", "memory", *GPU_FORMATS)]
    for card, plans in groupby(report.plans, key=lambda each: each.card):
        if report.question.gpu in (None, card.name):
            rows.append((card.name, human_bytes(card.memory), *(_cell(each) for each in plans)))
    return rows


def _cell(each: Plan) -> str:
    lacks = f" (-{human_bytes(each.short)})" if each.short else ""
    return f"{each.cards}{lacks}" if each.cards else f"over {each.card.most}{lacks}"


def _speed(report: Report) -> list[Row]:
    found, best = report.speed, report.best
    if found is None or best is None or best.layout is None:
        return []
    rows: list[Row] = [("on", f"{best.cards} x {best.card.name} at {best.format.name}, {best.layout.name}")]
    rows.append((f"prompt of {found.prompt:,}", f"{_range(found.first)} to the first token"))
    if found.token:
        each = f"{1 / found.token.slow:,.0f} to {1 / found.token.quick:,.0f} tokens a second for each of {found.batch}"
        rows.append(("a token", f"{_range(found.token)}, {each}"))
    return rows


def _range(it: Range) -> str:
    return f"{human_time(it.quick)} to {human_time(it.slow)}"


def _cost(report: Report) -> list[Row]:
    asked, kept, price = report.question, report.reserved, report.subject.price
    mix = f"{asked.mix.read:g}:{asked.mix.written:g}"
    rows: list[Row] = [("volume", f"{human_count(asked.month)} tokens, read:written {mix}")]
    if report.workers_ai_usd is None or price is None:
        rows.append(("Workers AI", "no price is known"))
    else:
        told = f"{human_usd(report.workers_ai_usd)} (${price.input:g} read, ${price.output:g} written, a million)"
        rows.append(("Workers AI", told))
    if kept is None:
        why = "no price is known: state one with --gpu-price" if report.best else "no number of them holds it"
        return [*rows, ("reserved cards", why)]
    return [*rows, *_reserved(kept, asked.month), *_break_even(report.break_even)]


def _reserved(kept: Reserved, month: int) -> list[Row]:
    low, high = kept.for_volume(month)
    usd = human_usd(low) if low == high else f"{human_usd(low)} to {human_usd(high)}"
    one = f"{kept.cards} x {kept.card} at ${kept.usd_hour:g} an hour is {human_usd(kept.usd)}"
    busy = f"{kept.batch} at once, {BUSY:.0%} of the hours"
    able = f"{human_count(kept.least)} to {human_count(kept.most)} tokens a month: {busy}"
    return [("reserved cards", f"{usd} ({one})"), ("one set does", able)]


def _break_even(even: BreakEven | None) -> list[Row]:
    if even is None:
        return []
    reach = {
        "yes": "one set does that many: above it the cards are cheaper",
        "perhaps": "one set does that many by the quick estimate alone",
        "no": "more than one set does, so that sets like it stay the dearer",
    }[even.reached]
    return [("break-even", f"{human_count(even.tokens)} tokens a month; {reach}")]
