"""Which engine is used, and why: on PATH, kept in the store, fetched, or built; in that order.

SLUICEWAY_ENGINE restricts or reorders the ways: a list of ``path``, ``download`` and ``build``, by commas.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sluiceway.engine.build import BuildFailed, build, write_host
from sluiceway.engine.fetch import FetchFailed, fetch
from sluiceway.engine.find import LANGUAGE_HOST, find_on_path
from sluiceway.engine.release import OLDEST, VERSION
from sluiceway.engine.store import Store
from sluiceway.errors import SluicewayError, UserError
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace, cache_dir

WAYS: Final = ("path", "download", "build")


@dataclass(frozen=True)
class Attempt:
    """One way that was looked at. ``taken``: this one gave the engine."""

    way: str
    taken: bool
    why: str


@dataclass(frozen=True)
class Engine:
    """``path`` is the binary; ``source`` is path, download or build; ``language_host`` is the one that runs Python."""

    path: Path
    version: str
    source: str
    why: str
    language_host: Path
    attempts: tuple[Attempt, ...]


def ways(env: Mapping[str, str]) -> tuple[str, ...]:
    """The ways to try, in order. Raises UserError for a word that is none."""
    given = env.get("SLUICEWAY_ENGINE", "").strip()
    if not given:
        return WAYS
    words = tuple(word.strip() for word in given.split(","))
    for word in words:
        if word not in WAYS:
            raise UserError(
                "not a way to get the engine", path="SLUICEWAY_ENGINE", got=word, hint=f"use {', '.join(WAYS)}"
            )
    return words


def recipe_of(workspace: Workspace) -> Path:
    return workspace.root / "engine-build"


def resolve(
    workspace: Workspace, progress: Progress, env: Mapping[str, str] | None = None, *, make: bool = True
) -> Engine:
    """The engine for ``workspace``. Fetches or builds one when there is none, unless ``make`` is false.

    Raises UserError with the reason of each way when none works.
    """
    env = os.environ if env is None else env
    store = Store(cache_dir() / "engine")
    tried: list[Attempt] = []
    allowed = ways(env)
    for way in allowed:
        engine = _look(way, workspace, store, env, tried)
        if engine:
            return engine
    if not make:
        raise _none(store, tried, "run `make setup`, or anything that needs the engine, to fetch or build it")
    with store.locked(progress):
        for way in (way for way in allowed if way != "path"):
            # Again under the lock: the process that was waited for may have made it.
            engine = _look(way, workspace, store, env, []) or _make(way, workspace, store, env, progress, tried)
            if engine:
                return engine
    raise _none(store, tried, _HINT)


_HINT: Final = (
    f"install Pulumi {'.'.join(map(str, OLDEST))} or newer so that `pulumi` is on PATH, or run this once where "
    "get.pulumi.com, or Go's module proxy with Go on PATH or PyPI, can be reached; the result is kept"
)


def describe(engine: Engine) -> dict[str, object]:
    """The same as plain data for ``--json``."""
    data = asdict(engine)
    return {**data, "path": str(engine.path), "language_host": str(engine.language_host)}


def _look(way: str, workspace: Workspace, store: Store, env: Mapping[str, str], tried: list[Attempt]) -> Engine | None:
    """What is already there for ``way``; the outcome is added to ``tried``."""
    if way == "path":
        found, why = find_on_path(env, (workspace.private, store.root))
        tried.append(Attempt(way, found is not None, why))
        return Engine(found.path, found.version, way, why, found.language_host, tuple(tried)) if found else None
    if store.kept() != way:
        return None
    why = f"{'fetched' if way == 'download' else 'built'} before, kept in {store.home}"
    return _kept(way, store, why, tried)


def _make(
    way: str, workspace: Workspace, store: Store, env: Mapping[str, str], progress: Progress, tried: list[Attempt]
) -> Engine | None:
    try:
        why = fetch(store, env, progress) if way == "download" else build(store, recipe_of(workspace), env, progress)
    except (FetchFailed, BuildFailed) as error:
        tried.append(Attempt(way, False, str(error)))
        return None
    except OSError as error:
        raise SluicewayError(
            f"the engine can't be put in the cache: {error.strerror}", path=str(store.root),
            hint="free some space, or set SLUICEWAY_CACHE_DIR to a folder that can be written",
        ) from error  # fmt: skip
    return _kept(way, store, why, tried)


def _kept(way: str, store: Store, why: str, tried: list[Attempt]) -> Engine:
    if way == "build":
        write_host(store.home)
    attempts = (*tried, Attempt(way, True, why))
    return Engine(store.binary, VERSION, way, why, store.home / LANGUAGE_HOST, attempts)


def _none(store: Store, tried: list[Attempt], hint: str) -> UserError:
    reasons = "".join(f"\n  {one.way}: {one.why}" for one in tried)
    return UserError(f"there is no Pulumi engine{reasons}", path=str(store.root), hint=hint)
