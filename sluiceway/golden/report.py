"""What a run tells: the verdict in a sentence, scores by language, topic and kind of check, and where it was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from sluiceway.golden.asking import Answer
from sluiceway.golden.checks import weighed
from sluiceway.golden.pairs import Verdict, interval, judge_pairs
from sluiceway.golden.run import Pair, Run

_WORST: Final = 5
_SHOWN: Final = 120


@dataclass(frozen=True)
class Row:
    """Some of the pairs. ``difference``: the candidate's mean score less stable's, and the interval that it lies in
    whenever one looks, each end at the chance beta."""

    group: str
    name: str
    pairs: int
    stable: float
    candidate: float
    difference: tuple[float, float]


@dataclass(frozen=True)
class Loss:
    """A prompt that stable answered better: its scores, the kinds of check that the candidate lost, what it said."""

    id: str
    where: str
    stable: float
    candidate: float
    checks: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Report:
    """``doubt`` is why it is no pass, whatever the test on pairs says, and more pairs would hardly make it one."""

    verdict: Verdict
    sentence: str
    doubt: str | None
    failing: float
    passing: float
    rows: tuple[Row, ...]
    losses: tuple[Loss, ...]
    failures: tuple[dict[str, int], dict[str, int]]


def report(run: Run) -> Report:
    judged = judge_pairs(run.state, run.settings.test)
    doubt = run.doubt() if judged.verdict != "fail" else None
    verdict: Verdict = "inconclusive" if doubt else judged.verdict
    rows = tuple(_rows(run))
    every = [*run.pairs, *run.lost]
    return Report(
        verdict=verdict,
        sentence=_sentence(run, verdict, rows, doubt),
        doubt=doubt,
        failing=judged.failing,
        passing=judged.passing,
        rows=rows,
        losses=_losses(run.pairs),
        failures=(_failures(pair.stable for pair in every), _failures(pair.candidate for pair in every)),
    )


def _sentence(run: Run, verdict: Verdict, rows: tuple[Row, ...], doubt: str | None) -> str:
    candidate, stable, margin = run.settings.candidate, run.settings.stable, run.settings.test.margin
    if not rows:
        return f"{candidate} could not be compared with {stable}: {doubt or 'no pair of answers came'}."
    whole = rows[0]
    low, high = whole.difference
    scores = f"{candidate} scores {whole.candidate:.2f} and {stable} {whole.stable:.2f} in {whole.pairs} pairs"
    end = {
        "pass": f"it is not worse by {margin:g}",
        "fail": f"it is worse by more than {margin:g}",
        "inconclusive": doubt or f"whether it is worse by {margin:g} is not decided",
    }[verdict]
    return f"{scores} (difference {low:+.2f} to {high:+.2f}): {end}."


def _rows(run: Run) -> Iterator[Row]:
    beta = run.settings.test.beta
    yield from _row("all", "", [pair.means for pair in run.pairs], beta)
    by: tuple[tuple[str, Callable[[Pair], str]], ...] = (
        ("language", lambda pair: pair.prompt.language),
        ("topic", lambda pair: pair.prompt.topic),
    )
    for group, name_of in by:
        for name in dict.fromkeys(sorted(name_of(pair) for pair in run.pairs)):
            yield from _row(group, name, [pair.means for pair in run.pairs if name_of(pair) == name], beta)
    for kind in sorted({check.kind for pair in run.pairs for check in pair.prompt.checks}):
        yield from _row("check", kind, [means for pair in run.pairs if (means := _of_kind(pair, kind))], beta)


def _row(group: str, name: str, means: list[tuple[float, float]], beta: float) -> Iterator[Row]:
    bounds = interval([stable - candidate for stable, candidate in means], beta)
    if bounds is not None:
        stable, candidate = (fmean(side) for side in zip(*means, strict=True))
        # The test looks at stable - candidate; people ask how much better the candidate is.
        yield Row(group, name, len(means), stable, candidate, (-bounds[1] + 0.0, -bounds[0] + 0.0))


def _of_kind(pair: Pair, kind: str) -> tuple[float, float] | None:
    """Both means over the checks of that kind alone."""
    at = [number for number, check in enumerate(pair.prompt.checks) if check.kind == kind]
    checks = [pair.prompt.checks[number] for number in at]
    stable = weighed(checks, [pair.stable_scores[number] for number in at])
    candidate = weighed(checks, [pair.candidate_scores[number] for number in at])
    return None if stable is None or candidate is None else (stable, candidate)


def _losses(pairs: list[Pair]) -> tuple[Loss, ...]:
    """The prompts that cost the candidate most, each once, the worst first."""
    seen: dict[str, Pair] = {}
    for pair in sorted(pairs, key=lambda pair: -(pair.difference or 0.0)):
        if (pair.difference or 0.0) > 0 and len(seen) < _WORST:
            seen.setdefault(pair.prompt.id, pair)
    return tuple(_loss(pair) for pair in seen.values())


def _loss(pair: Pair) -> Loss:
    stable, candidate = pair.means
    lost = [
        check.kind
        for check, one, other in zip(pair.prompt.checks, pair.stable_scores, pair.candidate_scores, strict=True)
        if (one or 0.0) > (other or 0.0)
    ]
    said = pair.candidate.text
    brief = f"[{pair.candidate.failure}]" if said is None else _brief(said)
    return Loss(pair.prompt.id, pair.prompt.where, stable, candidate, tuple(dict.fromkeys(lost)), brief)


def _brief(text: str) -> str:
    """The answer's beginning on one line, without what could move a terminal's cursor."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text[: _SHOWN * 4]).split())
    return plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 3]}..."


def _failures(answers: Iterator[Answer]) -> dict[str, int]:
    return dict(Counter(answer.failure for answer in answers if answer.failure is not None).most_common())


def document(run: Run, told: Report) -> dict[str, Any]:
    """The whole as JSON, scores and differences in [-1, 1]."""
    settings = run.settings
    return {
        "candidate": settings.candidate,
        "stable": settings.stable,
        "verdict": told.verdict,
        "sentence": told.sentence,
        "doubt": told.doubt,
        "pairs": len(run.pairs),
        "lost": len(run.lost),
        "planned": run.planned,
        "margin": settings.test.margin,
        "alpha": settings.test.alpha,
        "beta": settings.test.beta,
        "seed": settings.seed,
        "failing": round(told.failing, 6),
        "passing": round(told.passing, 6),
        "rows": [_row_document(row) for row in told.rows],
        "losses": [{**vars(loss), "checks": list(loss.checks)} for loss in told.losses],
        "failures": {settings.stable: told.failures[0], settings.candidate: told.failures[1]},
    }


def _row_document(row: Row) -> dict[str, Any]:
    numbers = {"stable": round(row.stable, 6), "candidate": round(row.candidate, 6)}
    return {
        "group": row.group,
        "name": row.name,
        "pairs": row.pairs,
        **numbers,
        "difference": round(row.candidate - row.stable, 6),
        "interval": [round(end, 6) for end in row.difference],
    }
