"""What may go from a bucket, and how models/*.yaml, the bucket and the stage are joined."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluiceway.domain.model import ModelRef
from sluiceway.pipeline.publish.gc import decide, remove
from sluiceway.pipeline.publish.registry import join
from sluiceway.pipeline.publish.shelf import Bucket, Shelved, record_key, shelved
from tests.unit.cloudflare.fake_s3 import FakeS3, Stored
from tests.unit.pipeline.publish.test_send import REF, _file, _shelf, _stated, send

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def shelf(*numbers: int, model: str = "tiny") -> list[Shelved]:
    return [Shelved(ModelRef(model, number), (), {}, WHEN) for number in numbers]


@pytest.mark.parametrize(("keep", "gone"), [(0, [1, 3, 4, 5]), (1, [1, 3, 4]), (2, [1, 3]), (9, [])])
def test_the_newest_stay_and_what_somebody_names(keep: int, gone: list[int]) -> None:
    names = [("models/*.yaml", {ModelRef("tiny", 2)}), ("the rollout of dev", {ModelRef("tiny", 2)})]
    fates = decide(shelf(1, 2, 3, 4, 5), keep, names)
    assert [fate.entry.ref.number for fate in fates if fate.because is None] == gone
    said = next(fate.because for fate in fates if fate.entry.ref.number == 2)
    assert said is not None
    assert said.startswith("models/*.yaml, the rollout of dev")


def test_each_model_keeps_its_own_newest() -> None:
    fates = decide([*shelf(1, 2), *shelf(7, model="other")], 1, [])
    assert [str(fate.entry.ref) for fate in fates if fate.because is None] == ["tiny@1"]


def test_what_goes_goes_as_a_whole_record_first_and_nothing_else_is_touched(
    bucket: Bucket, s3: FakeS3, built: Path
) -> None:
    send(bucket, built)
    send(bucket, built, ModelRef("tiny", 4))
    for key in ("models/tiny/3/notes.txt", "models/Other/3/version.json", "elsewhere"):
        s3.objects[key] = Stored(b"x", {}, "")
    s3.requests.clear()
    told: list[int] = []
    remove(bucket, decide(shelved(bucket), 1, []), told.append)
    assert s3.of("DELETE")[0].endswith(record_key(REF))
    assert len(told) == len(list(built.iterdir())) + 1
    left = {key for key in s3.objects if not key.startswith("models/tiny/4/")}
    assert left == {"models/tiny/3/notes.txt", "models/Other/3/version.json", "elsewhere"}
    assert [entry.ref.number for entry in shelved(bucket, "tiny")] == [4]


def entry(number: int, *digits: str) -> Shelved:
    return Shelved(ModelRef("tiny", number), ("k",), {(digit * 64, "model.onnx"): 1 for digit in digits}, WHEN)


def test_a_row_joins_what_is_stated_published_and_served() -> None:
    stated = [
        _stated(1, "a"),
        _stated(2, "b"),
        _stated(3, "c"),
        _stated(4, "d"),
        replace(_stated(5, "e"), backend="workers-ai", files=()),
    ]
    shelves = {found.ref: found for found in (entry(1, "a"), entry(2, "x"), entry(3, "c"), entry(6, "f"))}
    records = dict([_shelf(1, "a"), _shelf(3, "9"), _shelf(6, "f")])
    rows = join(stated, shelves, records, {"tiny": {1: 90, 2: 10}})
    assert [row.published for row in rows] == ["yes", "part", "differs", "no", None, "yes"]
    assert [row.weight for row in rows] == [90, 10, 0, 0, 0, 0]
    assert [row.stated for row in rows] == [True, True, True, True, True, False]
    assert rows[5].files == (_file("f"),)


def test_a_stage_that_can_not_be_asked_is_unknown_and_not_no() -> None:
    row = join([_stated(1, "a")], None, {}, None)[0]
    assert (row.published, row.weight) == ("unknown", None)
    assert join([_stated(1, "a")], {}, {}, {})[0].weight == 0
