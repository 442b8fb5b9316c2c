"""Libraries that print and warn as they work, held still: what matters of it we check ourselves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def library() -> Iterator[None]:
    """No log lines below an error and no warnings while it lasts; the root logger is left as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        root.handlers[:] = handlers
        root.setLevel(level)
