"""What a model must be before anything of ours opens it (`check_model`), and before it goes on (`check_shapes`).

Importing this costs nothing: onnx, onnxruntime and numpy come in with the first check.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sluiceway.pipeline.checks.facts import Facts, Limits, Port
from sluiceway.pipeline.types import Model

__all__ = ["Facts", "Limits", "Port", "check_archive", "check_folder", "check_model", "check_shapes", "check_tokenizer"]


def check_model(model: Model, limits: Limits) -> Facts:
    """Reads ``model`` without trusting it, and says what it is; a UserError names the first fault and its file.

    Looked at: links, pickles and archives in its folder, size, versions against the runtimes of ``limits``, where its
    external data lies, weights that are no numbers, axes that should be symbolic, a tokenizer that asks for more rows
    than the table has. Writes nothing.
    """
    from sluiceway.pipeline.checks.model import check

    return check(model, limits)


def check_shapes(model: Model, batches: Sequence[tuple[int, int]]) -> None:
    """Opens ``model``, which `check_model` has passed, in onnxruntime and runs it at each (batch, length).

    A UserError names the node or the output: the checker's finding, a session that does not open, a size that does not
    run, an output that is no number or does not follow the sizes of the input.
    """
    from sluiceway.pipeline.checks.shapes import check

    check(model, batches)


def check_tokenizer(folder: Path, rows: int) -> int:
    """How many ids the tokenizer.json in ``folder`` gives; a UserError if it is missing or is not for ``rows`` rows."""
    from sluiceway.pipeline.checks.tokenizer import check

    return check(folder, rows)


def check_archive(path: Path, limits: Limits) -> None:
    """Refuses an archive that unpacks to more than ``limits`` allow, leaves its folder, or holds a pickle."""
    from sluiceway.pipeline.checks.archives import check

    check(path, limits)


def check_folder(folder: Path, limits: Limits, data: frozenset[str] = frozenset()) -> None:
    """Refuses links, pickles and archives anywhere in ``folder``; ``data`` are the files that hold a model's weights.

    Only names, sizes and first bytes are read.
    """
    from sluiceway.pipeline.checks.folder import check

    check(folder, limits, data)
