"""What most commands need first: the checkout, its checked settings, the engine, the running local stage."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sluiceway import catalog, settings
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.resolve import Engine, resolve
from sluiceway.engine.shell_env import stage_env
from sluiceway.engine.shims import node_of, write_shims
from sluiceway.errors import UserError
from sluiceway.golden.probes import probe_bodies
from sluiceway.local import lifecycle
from sluiceway.local.daemon import DEFAULT_API_PORT, DEFAULT_FRONT_PORT
from sluiceway.local.lifecycle import Runtime
from sluiceway.local.runtime_file import write_private
from sluiceway.planning import StagePlan, plan
from sluiceway.progress import Progress
from sluiceway.settings import Settings
from sluiceway.workspace import Workspace


def find_workspace() -> Workspace:
    return Workspace.find()


@dataclass(frozen=True)
class Checked:
    """A stage whose settings, catalogue and plan were found good; nothing has been touched yet."""

    workspace: Workspace
    stage: str
    settings: Settings
    plan: StagePlan


def check_stage(workspace: Workspace, stage: str) -> Checked:
    """Reads and checks all that a stage is made from. Raises UserError at the first fault."""
    settings.require_stage(workspace, stage)
    loaded = settings.load(workspace, stage)
    known = catalog.load_for(workspace, stage)
    return Checked(workspace, stage, loaded, plan(loaded, known, probe_bodies(workspace, loaded, known)))


def local_ports(front: int | None = None, api: int | None = None) -> tuple[int, int]:
    """What was asked for, else SLUICEWAY_LOCAL_PORT and SLUICEWAY_LOCAL_API_PORT, else the usual ones."""
    return (
        _port("SLUICEWAY_LOCAL_PORT", DEFAULT_FRONT_PORT) if front is None else _in_range(front, "--port"),
        _port("SLUICEWAY_LOCAL_API_PORT", DEFAULT_API_PORT) if api is None else _in_range(api, "--api-port"),
    )


def _port(name: str, usual: int) -> int:
    given = os.environ.get(name)
    if not given:
        return usual
    if not given.isascii() or not given.isdigit():
        raise _not_a_port(name, given)
    return _in_range(int(given), name)


def _in_range(port: int, path: str) -> int:
    if not 0 <= port <= 65535:
        raise _not_a_port(path, port)
    return port


def _not_a_port(path: str, got: object) -> UserError:
    return UserError("not a port", path=path, got=got, hint="a whole number up to 65535; 0 takes a free one")


def start_local(
    workspace: Workspace, progress: Progress, *, front_port: int, api_port: int, ai_url: str | None = None
) -> Runtime:
    """The running local stage, started if need be, with keys of its own: the callers' and the admin's."""
    runtime = lifecycle.start(
        workspace.local,
        front_port=front_port,
        api_port=api_port,
        node=node_of(workspace),
        progress=progress,
        ai_url=ai_url,
    )
    _ensure_key(workspace.local / "api-key")
    _ensure_key(workspace.local / "admin-key")
    return runtime


def _ensure_key(key: Path) -> None:
    """A key that the local stage's Worker asks for: random, made once, readable by its owner only."""
    made = key.with_name(f".{key.name}.{os.getpid()}")
    write_private(made, f"slw-{secrets.token_urlsafe(24)}\n")
    try:
        if key.exists() and not key.read_bytes().strip():  # somebody was killed between making and writing it
            key.unlink(missing_ok=True)
        with suppress(FileExistsError):
            os.link(made, key)  # whole, and only if there is none: two at once get the same
    finally:
        made.unlink(missing_ok=True)


def get_engine(workspace: Workspace, progress: Progress) -> Engine:
    """The engine, made if there is none, with the small programs that put it and its plugins in reach."""
    engine = resolve(workspace, progress)
    write_shims(workspace, engine)
    return engine


def stage_variables(workspace: Workspace, stage: str, engine: Engine) -> dict[str, str]:
    """What ``sluiceway env`` prints. Raises UserError when the stage is local and does not run."""
    if stage != LOCAL:
        return stage_env(workspace, stage, None, engine)
    runtime = lifecycle.require_runtime(workspace.local)
    # The engine wants the folder of its state to be there.
    workspace.pulumi_state.mkdir(parents=True, exist_ok=True)
    return stage_env(workspace, stage, runtime, engine)
