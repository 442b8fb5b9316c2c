"""Stages: one deployment of everything, under one name that is also the name of its Pulumi stack."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from sluiceway.domain.fault import Fault

LOCAL: Final = "local"
ORDER: Final = (LOCAL, "dev", "staging", "production")
PLACEHOLDER_ACCOUNT: Final = "0" * 32
"""What a stack file holds until somebody writes the account's id: valid to plan with, refused by an update."""

LOCAL_ACCOUNT: Final = "10ca1000000000000000000000000000"

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?")


@dataclass(frozen=True)
class Stage:
    """A stage's name: lower-case letters, digits and hyphens, at most 32, for it is part of bucket and Worker names."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Fault(
                "a stage's name is 1 to 32 lower-case letters, digits and inner hyphens, first a letter",
                got=self.name,
                hint="name the stage, and so its stack file, like eu-staging",
            )


def in_order(names: list[str]) -> tuple[str, ...]:
    """The way people list stages: from the nearest to the customer's, then the others by name."""
    return tuple(sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)))


def nearest(word: str, known: list[str] | tuple[str, ...]) -> str | None:
    """The known word that ``word`` was probably meant to be, if one is near."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return found[0] if found else None
