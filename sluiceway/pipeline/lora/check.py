"""The whole check of an adapter, cheapest first: files, config, header, modules, then every weight."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from sluiceway.catalog.lora_bases import MAX_BYTES, LoraBase
from sluiceway.pipeline.lora import config, header, modules, values
from sluiceway.pipeline.lora.adapter import CONFIG, WEIGHTS, Adapter, AdapterFile, find

_MAX_CONFIG: Final = 2**20


def check(folder: Path, base: LoraBase, tell: Callable[[int], None]) -> Adapter:
    stated_at = find(folder, CONFIG, _MAX_CONFIG)
    weights_at = find(folder, WEIGHTS, MAX_BYTES)
    read = config.read(stated_at, base)
    head = header.read(weights_at)
    found = modules.pairs(head.tensors, read.stated, base, str(stated_at), str(weights_at))
    digest, zero = values.scan(weights_at, head, tell)
    values.refuse_idle(zero, [pair.b.name for pair in found], weights_at)
    size = head.length + sum(tensor.size for tensor in head.tensors)
    return Adapter(
        base=base,
        config=read.sent,
        weights=weights_at,
        files=(
            AdapterFile(CONFIG, sha256(read.sent).hexdigest(), len(read.sent)),
            AdapterFile(WEIGHTS, digest, size),
        ),
        rank=max(pair.rank for pair in found),
        alpha=read.stated.lora_alpha,
        modules=tuple(sorted({pair.module.rpartition(".")[2] for pair in found})),
        layers=len({pair.layer for pair in found}),
        parameters=sum(tensor.elements for tensor in head.tensors),
        dtypes=tuple(sorted({tensor.dtype for tensor in head.tensors})),
        added_model_type=read.added_model_type,
        notes=read.notes,
    )
