"""Golden prompts on a stage that is up: two versions answer them, and a broken one is stopped by the gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Served
from tests.warm import Done

# A whole stage at work; each part has its own test in seconds.
pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def no_fault_left(served: Served) -> Iterator[None]:
    yield
    assert served.checkout.sluiceway("local", "faults", "clear").code == 0


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prompts that the stand-in for a model answers as it is asked to: 15 of them, in two languages."""
    path = tmp_path_factory.mktemp("golden") / "repeated.jsonl"
    words = [("en", f"river {at}") if at % 2 else ("zh", f"河流 {at}") for at in range(15)]
    lines = [
        {"id": f"repeat-{at}", "language": language, "topic": "instructions", "prompt": f"repeat after me: {word}",
         "checks": [{"kind": "exact", "text": word}, {"kind": "numeric", "value": at}]}
        for at, (language, word) in enumerate(words)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


def evaluate(served: Served, *words: str) -> Done:
    return served.checkout.sluiceway("models", "evaluate", "chat@2", "local", "--against", "chat@1", *words)


def test_an_equal_version_passes_and_one_that_refuses_is_stopped_by_the_gate(served: Served, repeated: Path) -> None:
    words = ("--golden", str(repeated), "--margin", "0.25", "--rounds", "3", "--require-pass")
    well = evaluate(served, *words)
    assert well.code == 0, well.err
    rows = [line.split() for line in well.out.splitlines()]
    assert rows[0][:4] == ["pairs", "chat@1", "chat@2", "difference"]
    assert rows[1][0] == "all" and rows[1][2:5] == ["1.00", "1.00", "+0.00"]
    assert {" ".join(row[:2]) for row in rows} >= {"language en", "language zh", "check exact", "check numeric"}
    assert well.out.splitlines()[-1].startswith("pass: chat@2 scores 1.00 and chat@1 1.00")

    added = served.checkout.sluiceway("local", "faults", "add", "--model", "chat@2", "--refuse")
    assert added.code == 0, added.err
    ill = evaluate(served, *words, "--json")
    assert ill.code == 3, ill.err
    told = json.loads(ill.out)
    assert (told["verdict"], told["rows"][0]["stable"], told["rows"][0]["candidate"]) == ("fail", 1.0, 0.0)
    assert told["losses"][0]["answer"] == "I can't help with that."
    assert served.key not in well.out + well.err + ill.out + ill.err


def test_the_shipped_prompts_say_nothing_of_a_stand_in_that_is_no_model(served: Served) -> None:
    done = evaluate(served, "--limit", "14", "--rounds", "1")
    assert done.code == 0, done.err
    last = done.out.splitlines()[-1]
    assert last.startswith("inconclusive: ") and "chat@1 itself scores 0." in last
    assert "14 of at most 14 pairs" in done.err
