"""Places in a bundle -> places in the sources it was made from, by the source map that is kept beside it."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluiceway.observe.events import Failure

_DIGITS = {
    letter: value for value, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}
_PLACE = re.compile(r"^(?P<before>at (?:async )?)(?:.*\()?(?P<file>[^()]*?index\.js):(?P<line>\d+):(?P<column>\d+)\)?$")


@dataclass(frozen=True)
class SourceMap:
    """Segments of each line of the bundle, by column: where in which source it comes from (lines count from 0)."""

    sources: tuple[str, ...]
    lines: tuple[tuple[tuple[int, int, int, int], ...], ...]

    def find(self, line: int, column: int) -> str | None:
        """``path:line:column`` of a place in the bundle, all of them counted from 1; None when it is not known."""
        segments = self.lines[line - 1] if 0 < line <= len(self.lines) else ()
        at = bisect_right(segments, (column - 1, len(self.sources), 0, 0)) - 1
        if at < 0:
            return None
        _, source, source_line, source_column = segments[at]
        return f"{self.sources[source]}:{source_line + 1}:{source_column + 1}"


def read_source_map(path: Path, root: Path) -> SourceMap | None:
    """The map in a file, its sources as paths below ``root``; None when there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        sources = tuple(os.path.relpath(path.parent / source, root) for source in found["sources"])
        lines = tuple(_lines(found["mappings"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    known = all(segment[1] < len(sources) for line in lines for segment in line)
    return SourceMap(sources, lines) if known else None


def _lines(mappings: str) -> Iterator[tuple[tuple[int, int, int, int], ...]]:
    # All but the column count on from the segment before, over lines too.
    source = source_line = source_column = 0
    for text in mappings.split(";"):
        column = 0
        segments = []
        for part in filter(None, text.split(",")):
            fields = _fields(part)
            column += fields[0]
            if len(fields) >= 4:
                source, source_line, source_column = (
                    source + fields[1],
                    source_line + fields[2],
                    source_column + fields[3],
                )
                segments.append((column, source, source_line, source_column))
        yield tuple(segments)


def _fields(part: str) -> list[int]:
    """Whole numbers in base 64, lowest digits first: the sixth bit says that more follow, the lowest is the sign."""
    fields, value, shift = [], 0, 0
    for letter in part:
        digit = _DIGITS[letter]
        value += (digit & 31) << shift
        shift += 5
        if not digit & 32:
            fields.append(-(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    return fields


class Places:
    """Tells a failure's places as those in the sources, if it happened in the bundle that is built here."""

    def __init__(self, built: Path, root: Path) -> None:
        """``built``: the folder with ``index.js.map`` and ``config.json``, if there is one."""
        self._built = built
        self._root = root
        self._read: tuple[str, SourceMap | None] | None = None

    def of(self, failure: Failure) -> tuple[str, ...]:
        release = failure.document.get("release")
        if not failure.places or not isinstance(release, str):
            return failure.places
        found = self._map(release)
        return failure.places if found is None else tuple(_translated(found, place) for place in failure.places)

    def _map(self, release: str) -> SourceMap | None:
        if self._read is None or self._read[0] != release:
            built = self._release() == release
            self._read = (release, read_source_map(self._built / "index.js.map", self._root) if built else None)
        return self._read[1]

    def _release(self) -> object:
        try:
            config = json.loads((self._built / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return config.get("release") if isinstance(config, dict) else None


def _translated(found: SourceMap, place: str) -> str:
    match = _PLACE.match(place)
    source = found.find(int(match["line"]), int(match["column"])) if match else None
    # Without the function's name, which the bundle has shortened.
    return f"{match['before']}{source}" if match and source else place
