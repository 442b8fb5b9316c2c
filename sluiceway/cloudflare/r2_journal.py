"""What an upload has sent so far, in a file beside what it sends: for servers that can't list their open uploads.

One JSON document a line: first the upload, then a line a part. A line that was cut off by a kill counts as not written.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

from sluiceway.errors import UserError


@dataclass(frozen=True)
class Sent:
    """A part that is there: its tag, which completes the upload, and the sha256 of the file up to the part's end."""

    tag: str
    prefix: str


@dataclass(frozen=True)
class Noted:
    """An upload that was begun: its part size in bytes, and its parts by number."""

    id: str
    part_size: int
    parts: dict[int, Sent]


class Journal:
    """One upload's journal, held by one process at a time. Of another object or file it knows nothing."""

    def __init__(self, stream: TextIO, subject: str) -> None:
        self._stream, self._subject = stream, subject

    def read(self) -> Noted | None:
        """The upload of this subject that was left open; None when there is none."""
        self._stream.seek(0)
        lines = list(_documents(self._stream))
        self._rewrite(lines)
        if not lines or lines[0].get("of") != self._subject:
            return None
        parts = {int(line["part"]): Sent(line["tag"], line["prefix"]) for line in lines[1:]}
        return Noted(lines[0]["id"], int(lines[0]["part_size"]), parts)

    def begin(self, upload_id: str, part_size: int) -> None:
        self._stream.seek(0)
        self._stream.truncate()
        self._write({"of": self._subject, "id": upload_id, "part_size": part_size})

    def add(self, number: int, sent: Sent) -> None:
        self._write({"part": number, "tag": sent.tag, "prefix": sent.prefix})

    def forget(self) -> None:
        """Nothing is open any more."""
        self._stream.seek(0)
        self._stream.truncate()
        self._stream.flush()

    def _rewrite(self, lines: list[dict[str, Any]]) -> None:
        """Takes away a line that was cut off, so that the next one doesn't continue it."""
        self._stream.seek(0)
        self._stream.truncate()
        self._stream.write("".join(json.dumps(line) + "\n" for line in lines))
        self._stream.flush()

    def _write(self, document: dict[str, object]) -> None:
        self._stream.seek(0, 2)
        self._stream.write(json.dumps(document) + "\n")
        self._stream.flush()


def place(folder: Path, *subject: str) -> Path:
    """Where the journal of a subject lies: a hidden file in ``folder``."""
    return folder / f".upload-{sha256(' '.join(subject).encode()).hexdigest()[:16]}.jsonl"


@contextmanager
def opened(path: Path, *subject: str) -> Iterator[Journal]:
    """The journal at ``path``, which is gone afterwards unless an upload is left open.

    UserError when another process is at the same upload.
    """
    with path.open("a+", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "wait for it, or end it: this one would go on where it left off"
            raise UserError("another process is uploading this file", path=str(path), hint=hint) from None
        journal = Journal(stream, " ".join(subject))
        try:
            yield journal
        finally:
            if journal.read() is None:
                path.unlink(missing_ok=True)


def _documents(stream: TextIO) -> Iterator[dict[str, Any]]:
    for line in stream:
        try:
            document = json.loads(line)
        except ValueError:
            return
        if not line.endswith("\n") or not isinstance(document, dict):
            return
        yield document
