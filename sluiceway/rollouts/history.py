"""Time travel: what served at a moment, and why, from the journal alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sluiceway.errors import UserError
from sluiceway.rollouts.views import JournalEntry, Millis, Split


@dataclass(frozen=True)
class Moment:
    """What one model served at a moment.

    ``because`` is the entry that brought these weights, ``last`` the newest one until then: the same, unless
    something happened that moved no weight. ``until`` is when the weights moved next, None when they have not.
    """

    model: str
    weights: Split
    phase: str
    release: str
    because: JournalEntry
    last: JournalEntry
    until: Millis | None


def moments(entries: Iterable[JournalEntry], at: Millis) -> list[Moment]:
    """A moment for each model that the journal knew at ``at``, by name.

    ``entries`` is the whole journal from its first entry, in any order: numbers put it right, since a clock may step.
    """
    by_model: dict[str, list[JournalEntry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.number):
        if entry.weights:
            by_model.setdefault(entry.model, []).append(entry)
    found = (_moment(model, known, at) for model, known in sorted(by_model.items()))
    return [moment for moment in found if moment is not None]


def _moment(model: str, entries: Sequence[JournalEntry], at: Millis) -> Moment | None:
    here = max((place for place, entry in enumerate(entries) if entry.at <= at), default=None)
    if here is None:
        return None
    last, because = entries[here], entries[here]
    for earlier in reversed(entries[:here]):
        if _who(earlier) != _who(last):
            break
        because = earlier
    later = (entry.at for entry in entries[here + 1 :] if _who(entry) != _who(last))
    return Moment(model, last.weights, last.phase, last.release, because, last, next(later, None))


def since_start(entries: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Of one model's entries in their order: those of its last rollout, after the one that shows what was before it."""
    start = max((place for place, entry in enumerate(entries) if entry.kind == "start"), default=0)
    return list(entries[max(0, start - 1) :])


def _who(entry: JournalEntry) -> frozenset[tuple[int, int]]:
    """Who serves: versions at 0 % don't, and the order says nothing."""
    return frozenset((version, weight) for version, weight in entry.weights if weight)


def parse_moment(text: str, now: datetime) -> Millis:
    """``2026-11-01T12:00Z``, or ``2h`` for two hours ago -> milliseconds. Raises UserError for another."""
    path, hint = "--at", "a time with its zone (2026-11-01T12:00Z), or how long ago (30m, 2h, 7d)"
    if ago := re.fullmatch(r"([0-9]{1,6})([smhd])", text):
        seconds = int(ago[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[ago[2]]
        return now.timestamp() * 1000 - seconds * 1000
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UserError("is no moment", path=path, got=text, hint=hint) from None
    if found.tzinfo is None:
        raise UserError("has no zone", path=path, got=text, hint=f"{text}Z is UTC" if "T" in text else hint)
    if found > now:
        raise UserError("has not come yet", path=path, got=text, hint=hint)
    return found.timestamp() * 1000


def stamp(at: Millis) -> str:
    """``2026-11-01 12:00:03Z``."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def weights_text(model: str, weights: Split) -> str:
    """``chat@1 90 %, chat@2 10 %``: those that serve."""
    return ", ".join(f"{model}@{version} {weight} %" for version, weight in weights if weight)
