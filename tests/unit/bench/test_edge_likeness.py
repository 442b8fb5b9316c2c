"""The pairs that the semantic cache's threshold is measured on."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from bench.edge.likeness import DIRECTIONS, packed, pairs

ROOT = Path(__file__).parents[3]


def test_there_are_many_pairs_of_both_kinds_and_none_that_the_cache_tells_apart_by_a_number() -> None:
    found = pairs()
    assert {kind for kind, *_ in found} == {"same", "other"}
    for kind in ("same", "other"):
        assert len({row[1:] for row in found if row[0] == kind}) >= 40
    assert not any(re.search(r"\d", one + two) or one == two for _, one, two in found)


def test_a_direction_is_what_the_worker_takes_for_one() -> None:
    code = (ROOT / "worker/src/cache/likeness.ts").read_text("utf-8")
    (source,) = re.findall(r"directions: new RegExp\(`(.+)\$\{WORD\}`, \"giu\"\)", code)
    assert source.replace("\\\\", "\\") + r"\w+" == DIRECTIONS.pattern
    assert DIRECTIONS.findall("convert my dollars to euros") == ["to euros"]
    assert DIRECTIONS.findall("is london larger than the paris of today") == ["than the paris"]


def test_a_vector_is_kept_in_whole_numbers_of_its_largest() -> None:
    assert packed(np.array([0.5, -0.25, 0.001], dtype=np.float32)).tolist() == [127, -64, 0]
