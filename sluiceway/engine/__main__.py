"""``python -m sluiceway.engine``: gets the engine and writes the shims. Set-up calls it."""

from __future__ import annotations

import sys

from sluiceway.engine.resolve import resolve
from sluiceway.engine.shims import write_shims
from sluiceway.errors import SluicewayError
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace


def main() -> int:
    progress = Progress()
    try:
        workspace = Workspace.find()
        engine = resolve(workspace, progress)
        write_shims(workspace, engine)
    except SluicewayError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; run it again to go on", file=sys.stderr)
        return 130
    progress.say(f"engine: Pulumi {engine.version}, {engine.why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
