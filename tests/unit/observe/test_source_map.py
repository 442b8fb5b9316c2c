"""A failure's places are told as those in the sources, and only where the bundle is known to be the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sluiceway.observe.events import Failure
from sluiceway.observe.source_map import Places, read_source_map
from sluiceway.render.bundle import bundle

ROOT = Path(__file__).parents[3]
SOURCE = """import { inner } from "./inner.ts";
export function outer(): never {
  // 模型 🦊
  return inner();
}
"""
INNER = """type Unused = string;

export function inner(): never {
  throw new RangeError("here");
}
"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with a bundle of two sources, its map and its config, as ``up`` leaves it."""
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker" / "entry.ts").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "worker" / "inner.ts").write_text(INNER, encoding="utf-8")
    made = bundle(tmp_path / "worker" / "entry.ts", tmp_path / "build" / "dist", ROOT / "node_modules")
    (made.path.parent / "config.json").write_text(json.dumps({"release": "r-1"}))
    return made.path.parent


def place_of(code: str, words: str) -> tuple[int, int]:
    """Line and column of words in the bundle, counted from 1."""
    at = code.index(words)
    return code.count("\n", 0, at) + 1, at - code.rfind("\n", 0, at)


def failure(*places: str, release: str = "r-1") -> Failure:
    return Failure(0.0, "exception RangeError", "req-1", places, {"release": release})


def test_places_are_those_of_the_sources(built: Path, tmp_path: Path) -> None:
    code = (built / "index.js").read_text(encoding="utf-8")
    call = re.search(r"\w+\(\)\}(?!.*\w+\(\)\})", code, re.DOTALL)
    assert call is not None
    thrown, called = place_of(code, "new RangeError"), place_of(code, call.group())
    places = Places(built, tmp_path).of(
        failure(
            f"at inner (file:///a folder/index.js:{thrown[0]}:{thrown[1]})",
            f"at async index.js:{called[0]}:{called[1]}",
        ),
    )
    assert places == ("at worker/inner.ts:4:9", "at async worker/entry.ts:4:10")


def test_places_of_another_release_and_of_no_map_stay_as_they_are(built: Path, tmp_path: Path) -> None:
    place = "at inner (index.js:1:1)"
    assert Places(built, tmp_path).of(failure(place, release="r-2")) == (place,)
    assert Places(tmp_path / "nowhere", tmp_path).of(failure(place)) == (place,)
    (built / "index.js.map").write_text('{"sources": ["a"], "mappings": "AAAAA,!!"}')
    assert Places(built, tmp_path).of(failure(place)) == (place,)


@pytest.mark.parametrize(
    "place", ["at inner (index.js:999999:1)", "at inner (native)", "at node:internal/x.js:1:1", ""]
)
def test_a_place_that_no_source_made_stays_as_it_is(built: Path, tmp_path: Path, place: str) -> None:
    assert Places(built, tmp_path).of(failure(place)) == (place,)


def test_a_map_that_points_outside_its_sources_is_none(tmp_path: Path) -> None:
    path = tmp_path / "index.js.map"
    path.write_text('{"sources": [], "mappings": "AAAA"}')
    assert read_source_map(path, tmp_path) is None
