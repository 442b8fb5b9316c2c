"""How a measurement ends as a command."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sluiceway.errors import SluicewayError


def run(main: Callable[[], int | None]) -> None:
    """Exits with what ``main`` gives; with an error's own code after its words; quietly after an interruption."""
    try:
        sys.exit(main())
    except SluicewayError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
