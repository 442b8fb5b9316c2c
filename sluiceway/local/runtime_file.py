"""runtime.json: which processes are the local stage, and where they answer.

A process is named by its id *and* its start time (`processes`): a file left behind by ``kill -9`` must never make
a stranger look like the stage, or be stopped in its place.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluiceway.processes import is_same_process

ACCOUNT_ID = "10ca1000000000000000000000000000"
SUBDOMAIN = "local"


@dataclass(frozen=True)
class Runtime:
    """A running local stage. URLs have no slash at the end; ``*_start`` are kernel start times; ``code`` says
    which sources it was started from (`lifecycle_code.fingerprint`)."""

    pid: int
    process_start: str
    started_at: str
    api_url: str
    ai_url: str
    front_url: str
    s3_url: str
    host_admin_url: str
    host_pid: int
    host_start: str | None
    workerd_pid: int | None
    workerd_start: str | None
    account_id: str = ACCOUNT_ID
    subdomain: str = SUBDOMAIN
    code: str = ""

    def alive(self) -> bool:
        return is_same_process(self.pid, self.process_start)

    def children(self) -> tuple[tuple[int, str | None], ...]:
        """Host and workerd as (pid, start), for whoever must make sure that none is left."""
        pairs = [(self.host_pid, self.host_start)]
        if self.workerd_pid is not None:
            pairs.append((self.workerd_pid, self.workerd_start))
        return tuple(pairs)


def runtime_path(data: Path) -> Path:
    return data / "runtime.json"


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner reads, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    scratch.replace(path)


def write_runtime(data: Path, runtime: Runtime) -> None:
    write_private(runtime_path(data), json.dumps(dataclasses.asdict(runtime), indent=2) + "\n")


def remove_runtime(data: Path) -> None:
    runtime_path(data).unlink(missing_ok=True)


def load_runtime(data: Path) -> Runtime | None:
    """What the file says, dead or alive; None when there is none or it can't be read as one."""
    try:
        found = json.loads(runtime_path(data).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(found, Mapping):
        return None
    known = {field.name for field in dataclasses.fields(Runtime)}
    try:
        return Runtime(**{str(key): value for key, value in found.items() if key in known})
    except TypeError:  # written by another version of this program: as good as none
        return None
