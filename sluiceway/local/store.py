"""What the control plane of the local stage remembers: JSON documents in SQLite.

One table, keyed by kind (``worker``, ``version``, ``kv`` ...), scope (a parent's id, or empty) and
id. One writer connection runs transactions; one reader connection sees only what is committed, so
that a request never reads a change whose push to the data plane is still under way.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sluiceway.errors import SluicewayError

# What json.loads gives: checked where it is used, at the border of each product.
Json = Any
Doc = dict[str, Any]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    kind TEXT NOT NULL, scope TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (kind, scope, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_in_order ON records (kind, seq);
"""

_HINT = "put a copy of the file back, or empty the stage by `sluiceway local reset`, then `sluiceway up local`"


class Records:
    """Reads and writes documents over one connection. Documents come back in order of creation."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def get(self, kind: str, key: str, scope: str = "") -> Doc | None:
        row = self._db.execute(
            "SELECT body FROM records WHERE kind = ? AND scope = ? AND id = ?", (kind, scope, key)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def all(self, kind: str, scope: str | None = None) -> list[Doc]:
        """Every document of a kind; ``scope=None`` means in all scopes."""
        if scope is None:
            rows = self._db.execute("SELECT body FROM records WHERE kind = ? ORDER BY seq", (kind,))
        else:
            rows = self._db.execute("SELECT body FROM records WHERE kind = ? AND scope = ? ORDER BY seq", (kind, scope))
        return [json.loads(row[0]) for row in rows.fetchall()]

    def newest(self, kind: str, scope: str, limit: int) -> list[Doc]:
        """The last ``limit`` documents of a scope, newest first."""
        rows = self._db.execute(
            "SELECT body FROM records WHERE kind = ? AND scope = ? ORDER BY seq DESC LIMIT ?", (kind, scope, limit)
        )
        return [json.loads(row[0]) for row in rows.fetchall()]

    def put(self, kind: str, key: str, doc: Doc, scope: str = "") -> None:
        """Creates or replaces; a replaced document keeps its place in the order."""
        self._db.execute(
            "INSERT INTO records (kind, scope, id, seq, body)"
            " VALUES (?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM records), ?)"
            " ON CONFLICT (kind, scope, id) DO UPDATE SET body = excluded.body",
            (kind, scope, key, json.dumps(doc, ensure_ascii=False, sort_keys=True)),
        )

    def delete(self, kind: str, key: str, scope: str = "") -> bool:
        done = self._db.execute("DELETE FROM records WHERE kind = ? AND scope = ? AND id = ?", (kind, scope, key))
        return done.rowcount > 0

    def delete_scope(self, kind: str, scope: str) -> None:
        self._db.execute("DELETE FROM records WHERE kind = ? AND scope = ?", (kind, scope))

    @contextlib.contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undoes what the body wrote if it raises, leaving the transaction around it alive."""
        self._db.execute("SAVEPOINT step")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK TO step")
            raise
        finally:
            self._db.execute("RELEASE step")


class Store:
    """The database file. Not safe for two processes at once: the daemon owns it."""

    def __init__(self, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self.committed = Records(reader)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Opens or creates the file (mode 0600, since versions may hold secrets).

        SluicewayError for a file that is damaged, which is left as it is: never an empty store in its place."""
        try:
            if not path.exists():
                _create(path)
            elif path.stat().st_size == 0:
                raise sqlite3.DatabaseError("it is empty")
            writer, reader = _connect(path), _connect(path)
            found = str(writer.execute("PRAGMA quick_check(1)").fetchone()[0])
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            writer.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            message = f"what the local stage remembers is damaged: {error}"
            raise SluicewayError(message, path=str(path), hint=_HINT) from error
        return cls(writer, reader)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Records]:
        """Commits when the body ends, rolls back when it raises."""
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield Records(self._writer)
        except BaseException:
            self._writer.execute("ROLLBACK")
            raise
        self._writer.execute("COMMIT")

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


def _create(path: Path) -> None:
    """Makes the file elsewhere and moves it: one that is there is never half-made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.new")
    made.unlink(missing_ok=True)
    os.close(os.open(made, os.O_CREAT | os.O_RDWR, 0o600))
    with contextlib.closing(sqlite3.connect(made)) as connection:
        connection.executescript(_SCHEMA)
    made.replace(path)


def _connect(path: Path) -> sqlite3.Connection:
    # isolation_level None: transactions are ours to begin and end. Another thread than the opener's may
    # serve requests (a test client does), but never two at a time.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
