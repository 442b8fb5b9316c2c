"""What `sluiceway up local` costs over plain `pulumi up -s local`, when there is nothing to change."""

from __future__ import annotations

import subprocess

from bench.measure import compare
from sluiceway.cli.context import find_workspace, get_engine, stage_variables
from sluiceway.progress import Progress


def main(rounds: int = 3) -> None:
    workspace = find_workspace()
    env = stage_variables(workspace, "local", get_engine(workspace, Progress()))

    def run(*words: str) -> None:
        subprocess.run(words, cwd=workspace.root, env=env, check=True, capture_output=True)

    compare(
        "an up without changes: sluiceway up / pulumi up",
        lambda: run(str(workspace.root / ".venv/bin/sluiceway"), "up", "local"),
        lambda: run("pulumi", "up", "-s", "local", "--yes", "--non-interactive"),
        rounds,
    )


if __name__ == "__main__":
    main()
