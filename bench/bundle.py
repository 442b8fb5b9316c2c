"""Bundling with esbuild's own binary against starting Node for it, as npm's launcher does."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from bench.measure import compare
from sluiceway.cli.context import check_stage, find_workspace
from sluiceway.engine.shims import node_of
from sluiceway.render import render_stage
from sluiceway.render.bundle import find_esbuild


def main(rounds: int = 15) -> None:
    workspace = find_workspace()
    entry = render_stage(check_stage(workspace, "local").plan, workspace).out_dir / "src" / "worker-entry.ts"
    launcher = [str(node_of(workspace)), str(workspace.node_modules / "esbuild" / "bin" / "esbuild")]
    with tempfile.TemporaryDirectory() as scratch:
        flags = [str(entry), "--bundle", "--format=esm", "--external:cloudflare:*", "--external:*/config.json"]
        out = f"--outfile={Path(scratch) / 'index.js'}"

        def run(*command: str) -> None:
            subprocess.run([*command, *flags, out], check=True, capture_output=True)

        compare(
            "one bundle: esbuild's binary / Node and its launcher",
            lambda: run(str(find_esbuild(workspace.node_modules))),
            lambda: run(*launcher),
            rounds,
        )


if __name__ == "__main__":
    main()
