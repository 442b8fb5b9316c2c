"""The modules of an adapter against its config and against the layers of the base."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sluiceway.catalog.lora_bases import LoraBase
from sluiceway.errors import UserError
from sluiceway.pipeline.lora.adapter import shown
from sluiceway.pipeline.lora.config import Stated
from sluiceway.pipeline.lora.header import Tensor

_NAME: Final = re.compile(
    r"base_model\.model\.(model\.layers\.(0|[1-9][0-9]{0,3})\.([a-z_]+\.[a-z_]+))\.lora_([AB])\.weight"
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_SHOWN: Final = 3


@dataclass(frozen=True)
class Pair:
    """A module of the base with its two matrices. ``path``: ``model.layers.0.self_attn.q_proj``."""

    path: str
    layer: int
    module: str
    a: Tensor
    b: Tensor

    @property
    def rank(self) -> int:
        return self.a.shape[0]


def pairs(tensors: Sequence[Tensor], stated: Stated, base: LoraBase, config: str, weights: str) -> tuple[Pair, ...]:
    """What the file holds, module by module; a UserError when config, file and base don't agree.

    ``config`` and ``weights`` are what errors call the two files.
    """
    found = _paired(tensors, base, weights)
    wanted = _selected(stated, base, config)
    for path in sorted(found.keys() - wanted):
        hint = (
            "take config and weights of the same training: target_modules and layers_to_transform say what it trained"
        )
        raise UserError("the config doesn't name this module", path=f"{weights}: {path}", hint=hint)
    lacking = [path for path in wanted if path not in found]
    if lacking:
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        hint = "take config and weights of the same training; layers_to_transform says if not all layers were trained"
        raise UserError(f"the weights lack {', '.join(lacking[:_SHOWN])}{more}", path=weights, hint=hint)
    _check_patterns(stated, list(found.values()), config)
    for pair in found.values():
        _shapes(pair, stated, base, weights)
    return tuple(found.values())


def _paired(tensors: Sequence[Tensor], base: LoraBase, weights: str) -> dict[str, Pair]:
    halves: dict[str, dict[str, Tensor]] = {}
    places: dict[str, tuple[int, str]] = {}
    for tensor in tensors:
        match = _NAME.fullmatch(tensor.name)
        if match is None or match[3] not in base.linear:
            hint = f"{base.id} takes matrices for {', '.join(name.rpartition('.')[2] for name in base.linear)}"
            if ".default." in tensor.name:
                hint = "save it by PEFT's save_pretrained, which leaves the adapter's own name out"
            raise UserError("the base has no such module", path=f"{weights}: {shown(tensor.name)}", hint=hint)
        if int(match[2]) >= base.layers:
            hint = f"{base.id} has {base.layers} layers: this was trained on another model"
            raise UserError(
                "the base has no such layer", path=f"{weights}: {tensor.name}", got=int(match[2]), hint=hint
            )
        halves.setdefault(match[1], {})[match[4]] = tensor
        places[match[1]] = (int(match[2]), match[3])
    for path, two in halves.items():
        if len(two) < 2:
            hint = "save the adapter again: half of a pair does nothing"
            raise UserError(
                "a module has lora_A and lora_B", path=f"{weights}: {path}", got=f"lora_{min(two)}", hint=hint
            )
    return {path: Pair(path, *places[path], two["A"], two["B"]) for path, two in halves.items()}


def _selected(stated: Stated, base: LoraBase, config: str) -> dict[str, None]:
    """Paths of the modules that the config trains, in the order of the layers."""
    targets = _names(stated.target_modules, f"{config}: target_modules", base)
    left_out = _names(stated.exclude_modules or [], f"{config}: exclude_modules", base)
    layers = range(base.layers) if stated.layers_to_transform is None else stated.layers_to_transform
    beyond = set(layers) - set(range(base.layers))
    if beyond:
        hint = f"{base.id} has {base.layers} layers, from 0"
        where = f"{config}: layers_to_transform"
        raise UserError("the base has no such layer", path=where, got=min(beyond), hint=hint)
    every = [f"model.layers.{layer}.{module}" for layer in layers for module in base.linear]
    if not targets:
        hint = "take the file that PEFT wrote"
        raise UserError("names no module", path=f"{config}: target_modules", hint=hint)
    for name in targets:
        if not any(_fits(path, (name,)) for path in every):
            hint = f"the base has {', '.join(module.rpartition('.')[2] for module in base.linear)}"
            raise UserError(
                "no module of the base has this name", path=f"{config}: target_modules", got=name, hint=hint
            )
    return {path: None for path in every if _fits(path, targets) and not _fits(path, left_out)}


def _names(stated: list[str] | str | None, where: str, base: LoraBase) -> list[str]:
    if stated == "all-linear":
        return list(base.linear)
    if stated is None or isinstance(stated, str) or not all(_PLAIN.fullmatch(name) for name in stated):
        hint = 'list the modules by name, as ["q_proj", "v_proj"]: a pattern of a file that is not trusted is not run'
        raise UserError("must be a list of names", path=where, got=str(stated)[:100], hint=hint)
    return stated


def _fits(path: str, names: Collection[str]) -> bool:
    """As PEFT reads a list: the whole path, or its end behind a dot."""
    return any(path == name or path.endswith(f".{name}") for name in names)


def _shapes(pair: Pair, stated: Stated, base: LoraBase, weights: str) -> None:
    rank = _by_pattern(pair.path, stated.rank_pattern or {}, stated.r)
    width, out = base.linear[pair.module]
    for tensor, wanted, side in ((pair.a, (rank, width), "rank x in"), (pair.b, (out, rank), "out x rank")):
        if tensor.shape != wanted:
            hint = f"take the weights that belong to this config, trained on {base.made_from}"
            where = f"{weights}: {tensor.name}"
            message = f"must have the shape {list(wanted)} ({side}) on {base.id}"
            raise UserError(message, path=where, got=list(tensor.shape), hint=hint)


def _by_pattern(path: str, pattern: Mapping[str, int], other: int) -> int:
    return next((value for name, value in pattern.items() if _fits(path, (name,))), other)


def _check_patterns(stated: Stated, found: Sequence[Pair], config: str) -> None:
    """UserError for a key of rank_pattern or alpha_pattern that is no name, or matches no module of the adapter."""
    for field, pattern in (("rank_pattern", stated.rank_pattern), ("alpha_pattern", stated.alpha_pattern)):
        for name in pattern or {}:
            where = f"{config}: {field}"
            if not _PLAIN.fullmatch(name):
                hint = "write names of modules: a pattern of a file that is not trusted is not run"
                raise UserError("a key must be the name of a module", path=where, got=name[:100], hint=hint)
            if not any(_fits(pair.path, (name,)) for pair in found):
                raise UserError("matches no module of the adapter", path=where, got=name, hint="take it out")
