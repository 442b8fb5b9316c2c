"""The local stage's own idea of tokens: where a text is cut into pieces, and how many tokens each counts.

It is an estimate that is the same everywhere in the stage (usage, limits, streaming), not a model's
tokeniser: up to six letters or digits with the space before them are one token, so is any other
character (a Chinese character, a Hangul syllable, a full stop), and one beyond the BMP (emoji) is two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PIECE = re.compile(r" ?[0-9A-Za-z\u00c0-\u024f\u0370-\u052f]{1,6}|.", re.DOTALL)
_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")
PER_MESSAGE = 4  # role and separators
PER_IMAGE = 256


def pieces(text: str) -> list[str]:
    """Cuts ``text``; joined, the pieces are the text again."""
    return _PIECE.findall(text)


def weight(piece: str) -> int:
    return 2 if _BEYOND_BMP.search(piece) else 1


def count(text: str) -> int:
    return len(pieces(text)) + len(_BEYOND_BMP.findall(text))


def within(cut: Sequence[str], limit: int) -> tuple[list[str], int, bool]:
    """The pieces that fit ``limit`` tokens, the tokens they count, and whether all fit."""
    used = 0
    for index, piece in enumerate(cut):
        if used + weight(piece) > limit:
            return list(cut[:index]), used, False
        used += weight(piece)
    return list(cut), used, True
