"""Every model version in one view: models/*.yaml, what lies in a stage's bucket, what the stage serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sluiceway.domain.model import ModelRef
from sluiceway.pipeline.publish.shelf import FileLike, Record, RecordFile, Shelved, same, state
from sluiceway.pipeline.publish.stated import Stated

Where = Literal["yes", "part", "no", "differs", "unknown"]


@dataclass(frozen=True)
class Row:
    """One version on one stage.

    ``published``: ``differs`` when the record lists other files than models/*.yaml, ``part`` when files lack; None for
    a backend without files. ``weight``: its share of the traffic in percent, None where the stage does not say.
    """

    ref: ModelRef
    backend: str
    answers: str
    stated: bool
    published: Where | None
    published_at: datetime | None
    weight: int | None
    files: tuple[RecordFile, ...]
    lora: str | None = None

    @property
    def shown(self) -> str:
        """What answers, by the backend's own names."""
        return f"{self.answers} + {self.lora}" if self.lora else self.answers


def join(
    stated: Sequence[Stated],
    shelf: Mapping[ModelRef, Shelved] | None,
    records: Mapping[ModelRef, Record],
    weights: Mapping[str, Mapping[int, int]] | None,
) -> tuple[Row, ...]:
    """A row for each version of either. ``shelf``, ``weights``: None where the stage can't be asked.

    ``weights``: by model, the share of each version; a model that isn't in it is not served.
    """
    known = {version.ref: version for version in stated}
    refs = sorted({*known, *(shelf or {}), *records})
    return tuple(_row(ref, known.get(ref), shelf, records.get(ref), weights) for ref in refs)


def _row(
    ref: ModelRef,
    version: Stated | None,
    shelf: Mapping[ModelRef, Shelved] | None,
    record: Record | None,
    weights: Mapping[str, Mapping[int, int]] | None,
) -> Row:
    files: Sequence[FileLike] = version.files if version else record.files if record else ()
    entry = shelf.get(ref) if shelf is not None else None
    return Row(
        ref=ref,
        backend=version.backend if version else "onnx",
        answers=(version.id or "") if version else "",
        stated=version is not None,
        published=_published(version, files, shelf is not None, entry, record),
        published_at=entry.published if entry else None,
        weight=None if weights is None else weights.get(ref.model, {}).get(ref.number, 0),
        files=tuple(RecordFile(name=f.name, sha256=f.sha256, bytes=f.bytes) for f in files),
        lora=version.lora if version else None,
    )


def _published(
    version: Stated | None, files: Sequence[FileLike], asked: bool, entry: Shelved | None, record: Record | None
) -> Where | None:
    if version is not None and version.backend != "onnx":
        return None
    if not asked:
        return "unknown"
    if version is not None and record is not None and not same(version.files, record.files):
        return "differs"
    found = state(entry, files)
    return "part" if found == "no" and entry is not None and entry.keys else found
