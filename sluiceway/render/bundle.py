"""Bundles a rendered entry into one module, with esbuild's native binary (no Node is started).

Everything that could leak the machine into the bytes is fixed here: the working directory is the
entry's folder and every path esbuild prints is relative to it, compiler options are given and not
read from a tsconfig found above, and no environment variable is passed on.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import SluicewayError, UserError
from sluiceway.render.files import write_file

CONFIG_MODULE = "config.json"
MAIN_MODULE = "index.js"

# Cloudflare's limits on the gzipped size of a Worker, in bytes.
FREE_LIMIT = 3 * 1024 * 1024
PAID_LIMIT = 10 * 1024 * 1024

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}

_FLAGS = (
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--target=es2024",
    "--conditions=workerd,worker,browser",
    "--main-fields=browser,module,main",
    "--external:cloudflare:*",
    # The wildcard makes esbuild compare the import as written, and keep it so: a plain path would
    # be rewritten relative to the output file.
    f"--external:*/{CONFIG_MODULE}",
    '--define:process.env.NODE_ENV="production"',
    "--charset=utf8",
    # Every start of an isolate compiles it all, and short names are a fifth less to read. The source map, uploaded
    # beside it, tells what a stack trace points at.
    "--minify",
    "--sourcemap=external",
    "--sources-content=false",
    # A linked node_modules would otherwise show its real place in the output.
    "--preserve-symlinks",
    '--tsconfig-raw={"compilerOptions":{"verbatimModuleSyntax":true,"useDefineForClassFields":true}}',
    "--color=false",
    "--log-level=warning",
    "--log-limit=5",
)


@dataclass(frozen=True)
class Bundle:
    """One bundled Worker: the code that every stage shares.

    ``digest`` is the sha256 of ``code`` in hex, ``gzip_bytes`` its size as Cloudflare counts it.
    """

    path: Path
    code: bytes
    digest: str
    gzip_bytes: int


def find_esbuild(node_modules: Path) -> Path:
    """esbuild's binary for this system; UserError if the npm packages are not installed."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "win32"}.get(sys.platform, sys.platform)
    machine = _MACHINES.get(platform.machine().lower(), platform.machine())
    folder = node_modules / "@esbuild" / f"{system}-{machine}"
    binary = folder / ("esbuild.exe" if system == "win32" else "bin/esbuild")
    if not binary.is_file():
        raise UserError("esbuild is not installed", path=str(folder), hint="run `make setup` (or `npm ci`) first")
    return binary.absolute()


def bundle(entry: Path, out_dir: Path, node_modules: Path, *flags: str) -> Bundle:
    """Bundles ``entry`` into ``out_dir``/index.js (and index.js.map); ``flags`` are more of esbuild's.

    Raises SluicewayError with esbuild's own words for code that can't be bundled, and for a
    bundle that is larger than Cloudflare takes.
    """
    entry, out_dir = entry.absolute(), out_dir.absolute()
    binary = find_esbuild(node_modules)
    out_dir.parent.mkdir(parents=True, exist_ok=True)
    # Beside out_dir, hence at its depth: the paths in the source map hold after the move.
    with tempfile.TemporaryDirectory(prefix=f".{out_dir.name}-", dir=out_dir.parent) as scratch:
        output = Path(scratch) / MAIN_MODULE
        _run(binary, entry, output, node_modules.absolute().parent, flags)
        code = output.read_bytes()
        source_map = output.with_name(f"{MAIN_MODULE}.map").read_bytes()
    size = gzip_size(code)
    check_size(size)
    write_file(out_dir / MAIN_MODULE, code)
    write_file(out_dir / f"{MAIN_MODULE}.map", source_map)
    return Bundle(out_dir / MAIN_MODULE, code, hashlib.sha256(code).hexdigest(), size)


def gzip_size(*modules: bytes) -> int:
    """Bytes of ``modules`` gzipped together, the same on every run."""
    return len(gzip.compress(b"".join(modules), compresslevel=9, mtime=0))


def check_size(gzip_bytes: int, limit: int = PAID_LIMIT) -> None:
    """Raises SluicewayError if a Worker of this size is refused at upload."""
    if gzip_bytes > limit:
        size, most = gzip_bytes / 1024 / 1024, limit / 1024 / 1024
        raise SluicewayError(
            f"the Worker is {size:.1f} MiB gzipped and Cloudflare takes {most:.0f} MiB",
            hint="import less, or move models and data to R2",
        )


def size_note(gzip_bytes: int) -> str | None:
    """What to tell about a Worker that only some accounts may upload."""
    if gzip_bytes <= FREE_LIMIT:
        return None
    size, most = gzip_bytes / 1024 / 1024, FREE_LIMIT / 1024 / 1024
    return f"the Worker is {size:.1f} MiB gzipped: accounts on the Free plan take {most:.0f} MiB"


def _run(binary: Path, entry: Path, output: Path, root: Path, flags: tuple[str, ...]) -> None:
    command = [str(binary), f"./{entry.name}", f"--outfile={output}", *_FLAGS, *flags]
    done = subprocess.run(
        command, cwd=entry.parent, env={}, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120
    )
    if done.returncode != 0:
        fault = done.stderr.strip()
        place = re.search(r"^\s+(\S+:\d+:\d+):$", fault, re.MULTILINE)
        # esbuild counts from the entry's folder, people from the checkout.
        path = os.path.relpath(entry.parent / (place.group(1) if place else entry.name), root)
        raise SluicewayError(f"the Worker can't be bundled\n{fault}", path=Path(path).as_posix())
