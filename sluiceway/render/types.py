"""Type-checks what was rendered, together with the Worker that it imports."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sluiceway.errors import SluicewayError, UserError
from sluiceway.workspace import Workspace


def check_types(out_dir: Path, workspace: Workspace, node: Path) -> None:
    """Runs ``tsc --noEmit`` on the tsconfig that `render_stage` wrote to ``out_dir``; takes seconds.

    ``node`` is the Node to run it with. Raises SluicewayError with the compiler's own lines, the
    path being that of the first.
    """
    compiler = workspace.node_modules / "typescript" / "bin" / "tsc"
    if not compiler.is_file():
        raise UserError("TypeScript is not installed", path=str(compiler), hint="run `make setup` (or `npm ci`) first")
    command: list[str | Path] = [node, compiler, "--noEmit", "--pretty", "false", "-p", out_dir]
    done = subprocess.run(command, cwd=workspace.root, capture_output=True, encoding="utf-8", check=False, timeout=300)
    if done.returncode != 0:
        told = f"{done.stdout}{done.stderr}".strip()
        place = re.match(r"(\S+?)\((\d+),(\d+)\): ", told)
        path = ":".join(place.groups()) if place else str(out_dir)
        raise SluicewayError(f"the rendered Worker has type errors\n{told}", path=path)
