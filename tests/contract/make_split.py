"""Writes ``split.json`` and ``split-users.json``: what the Python and the TypeScript side must both answer.

    python tests/contract/make_split.py

The expected values are computed here from the definition, apart from ``sluiceway.domain``, so that the file
can contradict either side.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

FILE = Path(__file__).with_name("split.json")
USERS_FILE = Path(__file__).with_name("split-users.json")

SPLITS: list[list[list[int]]] = [
    [[1, 90], [2, 10]],
    [[1, 100]],
    [[1, 100], [2, 0]],
    [[1, 0], [2, 100]],
    [[1, 60], [2, 30], [3, 10]],
    [[7, 50], [3, 25], [12, 25]],
    [[2, 99], [3, 1]],
    [[1, 69], [2, 1], [3, 5], [4, 25]],
    [[1, 5], [2, 40], [3, 30], [4, 25]],
    [[1, 0], [2, 10], [3, 75], [4, 5], [5, 5], [6, 5]],
]
MODELS = ["chat", "intent", "chat-eu"]
USERS = [
    "",
    "u",
    "user-1",
    "用户-42",
    "こんにちは",
    "🦊",
    "👩‍👩‍👧‍👦",
    "naïve@example.com",
    "nai\u0308ve@example.com",
    "two\nlines",
    " padded ",
    "nul\x00byte",
    "lone\ud800surrogate",
    "x" * 3000,
]


def expected_point(model: str, user: str) -> int:
    text = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in f"{model}\n{user}")
    return int(sha256(text.encode()).hexdigest()[:12], 16) * 10_000 >> 48


def expected_version(split: list[list[int]], point: int) -> int:
    owner = owners_of(split)[point]
    return split[0][0] if owner is None else owner


def owners_of(split: list[list[int]]) -> list[int | None]:
    """Of each point, its candidate; None where it is stable's. Point by point, as a child would hand out sweets."""
    owners: list[int | None] = [None] * 10_000
    regions = len(split) // 2
    left_over = []
    for number, (version, weight) in enumerate(split[1:]):
        region = number // 2
        places = list(range(region * 10_000 // regions, (region + 1) * 10_000 // regions))
        if number % 2 == 1:
            places.reverse()
        wanted = weight * 100
        for place in places:
            if wanted == 0 or owners[place] is not None:
                break
            owners[place] = version
            wanted -= 1
        left_over.append((version, wanted))
    for version, wanted in left_over:
        for place in [place for place, owner in enumerate(owners) if owner is None][:wanted]:
            owners[place] = version
    return owners


def users_document() -> str:
    """A hundred thousand users over four arms: the digest of their versions, one digit after the other."""
    split, count = [[1, 69], [2, 1], [3, 5], [4, 25]], 100_000
    owners = owners_of(split)
    points = (expected_point("chat", f"user-{number}") for number in range(count))
    digits = "".join(str(owners[point] or split[0][0]) for point in points)
    told = {"model": "chat", "prefix": "user-", "count": count, "split": split}
    return json.dumps({**told, "versions_sha256": sha256(digits.encode()).hexdigest()}) + "\n"


def document() -> str:
    users = USERS + [f"user-{number}" for number in range(2, 60)]
    cases = []
    for number, user in enumerate(users):
        for model in MODELS if number < len(USERS) else MODELS[:1]:
            point = expected_point(model, user)
            splits = SPLITS if number < len(USERS) else [SPLITS[number % len(SPLITS)]]
            cases += [
                {
                    "model": model,
                    "user": user,
                    "split": split,
                    "point": point,
                    "version": expected_version(split, point),
                }
                for split in splits
            ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
    USERS_FILE.write_text(users_document(), encoding="utf-8")
    print(f"wrote {FILE.name} and {USERS_FILE.name}")
