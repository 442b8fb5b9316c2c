"""Writes the missing lines of models/versions.lock: ``python -m sluiceway.catalog``."""

from __future__ import annotations

import sys

from sluiceway.catalog import load, lock
from sluiceway.errors import SluicewayError
from sluiceway.workspace import Workspace


def main() -> int:
    try:
        workspace = Workspace.find()
        added = lock.append(workspace.root / "models", load(workspace).models)
    except SluicewayError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    print(f"added {', '.join(added)}" if added else "nothing to add")
    return 0


if __name__ == "__main__":
    sys.exit(main())
