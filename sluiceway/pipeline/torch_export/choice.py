"""Which of the two exporters makes a model: drawn by hand where the architecture is known here, else torch."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from sluiceway.errors import UserError
from sluiceway.pipeline.recipe.model import Export

Tool = Literal["graphs", "torch"]
OPSETS: Final = {"graphs": 17, "torch": 21}
"""Where a recipe states none: what every runtime in use reads, and what torch writes without converting."""
IRS: Final = {"graphs": 8, "torch": 10}


def tool(export: Export, source: Path) -> Tool:
    """What exports the checkpoint in the folder ``source``, as ``export.tool`` says or as its config.json shows."""
    if export.kind == "given":
        return "graphs"
    if export.tool != "auto":
        return export.tool
    return "graphs" if is_drawn(export.kind, source) else "torch"


def is_drawn(kind: str, source: Path) -> bool:
    """Whether the architecture is one that is drawn without torch. A config at fault is: the exporter says why."""
    from sluiceway.pipeline.graphs.config import NotDrawn, bert_config, llama_config, read_config

    read = llama_config if kind == "causal-lm" else bert_config
    try:
        read(read_config(source), str(source / "config.json"))
    except NotDrawn:
        return False
    except UserError:
        return True
    return True
