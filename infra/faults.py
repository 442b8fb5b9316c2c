"""How a fault of ours reaches the engine: as the text that a person sees, without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi

from sluiceway.errors import SluicewayError


@contextmanager
def faults_told() -> Iterator[None]:
    """Turns a SluicewayError of the body into a RunError, which the engine prints as it is behind "error: "."""
    try:
        yield
    except SluicewayError as fault:
        raise pulumi.RunError(fault.render().removeprefix("error: ")) from None
