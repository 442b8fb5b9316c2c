"""Which stages a change touches, told from the paths that it changes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from sluiceway.errors import UserError

_STACK_FILE = re.compile(r"^stacks/Pulumi\.([A-Za-z0-9-]+)\.yaml$")
# Nothing below these reaches a stage.
_WITHOUT_EFFECT = ("tests/", "docs/", "bench/", ".github/", ".ci/")
_WITHOUT_EFFECT_ENDINGS = (".md", ".test.ts", "LICENSE", ".gitignore")


def changed_stages(paths: Iterable[str], stages: Sequence[str]) -> tuple[str, ...]:
    """The stages, in the order of ``stages``, whose preview may differ after a change of ``paths``.

    A stack file touches its own stage; documents and tests touch none; everything else touches all.
    ``paths`` are relative to the repository, with forward slashes.
    """
    touched: set[str] = set()
    for path in paths:
        if path.startswith(_WITHOUT_EFFECT) or path.endswith(_WITHOUT_EFFECT_ENDINGS):
            continue
        stack = _STACK_FILE.match(path)
        if stack is None:
            return tuple(stages)
        touched.add(stack.group(1))
    return tuple(stage for stage in stages if stage in touched)


def changed_paths(root: Path, base: str) -> tuple[str, ...]:
    """The paths that differ between the merge base with ``base`` and the work tree's HEAD."""
    command = ["git", "diff", "--name-only", "-z", "--no-renames", "--end-of-options", f"{base}...HEAD", "--"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise UserError(
            "git could not compare HEAD with this base",
            path=str(root),
            got=base,
            hint=f"fetch the base with its history first (fetch-depth: 0); git said: {done.stderr.strip()}",
        )
    return tuple(path for path in done.stdout.split("\0") if path)
