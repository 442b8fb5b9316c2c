"""What can't be in a rollout, whoever declares it. Each Fault says where inside of the rollout it stood."""

from __future__ import annotations

from collections.abc import Sequence

from sluiceway.domain.fault import Fault


def different(stable: int | str, candidates: Sequence[int | str], strategy: str) -> None:
    """The candidates are other versions than stable, each once; versions by number or as ``chat@2``."""
    for at, number in enumerate(candidates):
        place = f".arms[{at}].version" if strategy == "ab" else ".candidate"
        if number == stable:
            hint = "name the version that is to be tried; stable is the one that serves now"
            raise Fault("is stable itself", got=number, hint=hint, at=place)
        if number in candidates[:at]:
            raise Fault("a version is one arm", got=number, hint="add its weights up in one entry", at=place)


def rising(weights: Sequence[int]) -> None:
    """Each step gives the candidate more than the one before it."""
    for at, weight in enumerate(weights[1:], 1):
        before = weights[at - 1]
        if weight <= before:
            hint = f"write {before + 1} or more, or take the step out" if before < 100 else "take the step out"
            raise Fault(
                f"weights rise from step to step, and the one before has {before}",
                got=weight,
                hint=hint,
                at=f".steps[{at}].weight",
            )


def room_for_stable(arms: Sequence[int]) -> None:
    """Stable has what the arms leave, and there must be some of it to compare them with."""
    total = sum(arms)
    if total >= 100:
        hint = f"lower them by {total - 99} or more in all: stable has the rest, and they are compared with it"
        raise Fault("the arms' weights sum to less than 100", got=total, hint=hint, at=".arms")
