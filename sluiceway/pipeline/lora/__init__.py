"""LoRA adapters for the models of Workers AI that take them: read without trust, held to base and limits, published.

Importing this costs nothing: numpy comes in with the first check.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sluiceway.catalog.lora_bases import LoraBase
from sluiceway.pipeline.lora.adapter import CONFIG, WEIGHTS, Adapter, AdapterFile, reopen

__all__ = ["CONFIG", "WEIGHTS", "Adapter", "AdapterFile", "check_adapter", "reopen"]


def check_adapter(folder: Path, base: LoraBase, tell: Callable[[int], None] = lambda _: None) -> Adapter:
    """What lies in ``folder``, which `base` can answer with; a UserError names the first fault and its file.

    Looked at: links, pickles and archives in place of the two files, their sizes, the header of the weights, what the
    config asks that the platform doesn't do, rank, modules and shapes against the base, NaN, infinity and weights that
    change nothing. ``tell`` gets bytes as they are read. Writes nothing.
    """
    from sluiceway.pipeline.lora.check import check

    return check(folder, base, tell)
