"""The records: transactions, order, and a writer that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.local.store import Records, Store

_WRITER = """
import sys
from pathlib import Path
from sluiceway.local.store import Store
store = Store.open(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    with store.transaction() as records:
        records.put("a", "n", {"value": number})
        records.put("b", "n", {"value": number})
    print(number, flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "state.sqlite")


def test_what_is_not_committed_is_not_read(store: Store) -> None:
    with store.transaction() as records:
        records.put("queue", "1", {"n": 1})
        assert records.get("queue", "1") and store.committed.get("queue", "1") is None
    assert store.committed.get("queue", "1") == {"n": 1}


def test_a_transaction_that_raises_is_undone(store: Store) -> None:
    def fail(records: Records) -> None:
        records.put("queue", "1", {})
        raise ValueError

    with pytest.raises(ValueError), store.transaction() as records:
        fail(records)
    assert store.committed.all("queue") == []


def test_a_savepoint_undoes_its_own_writes_alone(store: Store) -> None:
    with store.transaction() as records:
        records.put("queue", "kept", {})
        with pytest.raises(ValueError), records.savepoint():
            records.put("queue", "gone", {})
            raise ValueError
    assert [key for key in ("kept", "gone") if store.committed.get("queue", key) is not None] == ["kept"]


def test_documents_keep_the_order_of_their_creation(store: Store) -> None:
    with store.transaction() as records:
        for key in ("z", "a", "m"):
            records.put("queue", key, {"key": key}, scope="s")
        records.put("queue", "z", {"key": "z", "changed": True}, scope="s")
    assert [doc["key"] for doc in store.committed.all("queue", "s")] == ["z", "a", "m"]
    assert [doc["key"] for doc in store.committed.newest("queue", "s", 2)] == ["m", "a"]
    assert store.committed.all("queue", "other") == []


def test_a_killed_writer_loses_nothing_that_it_said_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout
    said = [int(writer.stdout.readline()) for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    said += [int(line) for line in writer.stdout.read().split("\n") if line.strip()]
    writer.wait()
    writer.stdout.close()
    store = Store.open(path)
    a, b = store.committed.get("a", "n"), store.committed.get("b", "n")
    assert a == b and a is not None and a["value"] >= max(said)
    store.close()


@pytest.mark.parametrize(
    "damage",
    [lambda whole: b"", lambda whole: b"garbage " * 512, lambda whole: whole[: len(whole) // 2],
     lambda whole: whole[:4096] + b"\xa5" * 8192 + whole[12288:]],
    ids=["empty", "garbage", "cut", "pages overwritten"],
)  # fmt: skip
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "state.sqlite"
    opened = Store.open(path)
    with opened.transaction() as records:
        for number in range(100):
            records.put("kv", str(number), {"text": "x" * 200})
    opened.close()
    broken = damage(path.read_bytes())
    path.write_bytes(broken)
    with pytest.raises(SluicewayError, match="damaged") as caught:
        Store.open(path)
    assert caught.value.path == str(path)
    assert "reset" in (caught.value.hint or "")
    assert path.read_bytes() == broken


def test_a_new_file_is_there_whole_or_not_at_all_and_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / ".state.sqlite.new").write_bytes(b"of one that was killed")
    Store.open(tmp_path / "state.sqlite").close()
    assert (tmp_path / "state.sqlite").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / ".state.sqlite.new").exists()
