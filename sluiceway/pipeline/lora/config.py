"""adapter_config.json: read without trust, and held to what Workers AI does with an adapter."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sluiceway.catalog.lora_bases import MAX_RANK, LoraBase
from sluiceway.domain.fault import Fault
from sluiceway.errors import UserError
from sluiceway.pipeline.lora import named
from sluiceway.pipeline.lora.adapter import shown
from sluiceway.settings.faults import told


def _scale_of(value: float) -> float:
    if not 0 < value < math.inf:
        raise Fault("must be a number above 0", got=value, hint="take the file that PEFT wrote")
    return value


def _modules(value: object) -> object:
    """Text, or a list of it; None is left for whoever must have one."""
    if (
        value is not None
        and not isinstance(value, str)
        and not (isinstance(value, list) and all(isinstance(name, str) for name in value))
    ):
        hint = 'list the modules by name, as ["q_proj", "v_proj"]'
        raise Fault("must be a list of names", got=value, hint=hint)
    return value


def _layers(value: object) -> object:
    if value is None:
        return None
    found = value if isinstance(value, list) else [value]
    if not all(type(number) is int for number in found):
        raise Fault("must be numbers of layers", got=value, hint="list them, as [0, 1, 2], or take it out for all")
    return found


Ranks = Annotated[int, Field(ge=1, le=2**20)]
Scale = Annotated[float, AfterValidator(_scale_of)]
Modules = Annotated[Any, AfterValidator(_modules)]

# Truthy keys that ask for what an adapter on Workers AI doesn't have: each would silently do nothing there.
_REFUSED: Final = {
    "use_dora": "DoRA has magnitudes beside the two matrices",
    "use_qalora": "QALoRA groups the inputs of its modules",
    "lora_bias": "the matrices have a bias",
    "modules_to_save": "it replaces whole modules of the base",
    "layer_replication": "it repeats layers of the base",
    "trainable_token_indices": "it changes rows of the table of tokens",
    "target_parameters": "it changes parameters that are no linear module",
    "fan_in_fan_out": "its matrices are laid out for Conv1D, which no base has",
    "megatron_config": "its layers are split over machines",
}


class Stated(BaseModel):
    """What is read of the file; other keys go along unread."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    peft_type: str
    r: Ranks
    lora_alpha: Scale
    target_modules: Modules
    base_model_name_or_path: str | None = None
    model_type: str | None = None
    task_type: str | None = None
    bias: str | None = None
    use_rslora: bool | None = None
    rank_pattern: dict[str, Ranks] | None = None
    alpha_pattern: dict[str, Scale] | None = None
    layers_to_transform: Annotated[Any, AfterValidator(_layers)] = None
    exclude_modules: Modules = None


@dataclass(frozen=True)
class Read:
    """``sent``: the file's bytes, with ``model_type`` added if it had none."""

    stated: Stated
    sent: bytes
    added_model_type: bool
    notes: tuple[str, ...]


def read(path: Path, base: LoraBase) -> Read:
    """UserError for the first thing that ``base`` on Workers AI would not do as the file asks."""
    raw = path.read_bytes()
    document = _object(raw, path)
    try:
        stated = Stated.model_validate(document)
    except ValidationError as error:
        raise told(error, Stated, lambda dotted: f"{path}: {shown(dotted)}") from None
    _kind(document, stated, path)
    _ranks(stated, path)
    _scale(stated, path)
    notes = [*named.check(stated.base_model_name_or_path, base, str(path))]
    if stated.alpha_pattern:
        notes.append("alpha_pattern: Cloudflare doesn't say whether it is read; hold the answers to those of training")
    if stated.model_type not in (None, base.model_type):
        hint = f'write "model_type": "{base.model_type}", or take it out: publishing adds it'
        where = f"{path}: model_type"
        raise UserError(
            f"the model_type of {base.id} is {base.model_type}", path=where, got=stated.model_type, hint=hint
        )
    if stated.model_type is None:
        text = json.dumps({**document, "model_type": base.model_type}, indent=2, ensure_ascii=False) + "\n"
        return Read(stated, text.encode(), True, tuple(notes))
    return Read(stated, raw, False, tuple(notes))


def _object(raw: bytes, path: Path) -> Mapping[str, Any]:
    def no_number(text: str) -> NoReturn:
        raise ValueError(f"{text} is no number of JSON")

    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=no_number)
        json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair can't be sent
    except (ValueError, RecursionError) as error:
        hint = "take the file that PEFT wrote"
        raise UserError(f"this isn't JSON: {str(error)[:120]}", path=str(path), hint=hint) from None
    if not isinstance(document, dict):
        got = type(document).__name__
        raise UserError("this must be a mapping", path=str(path), got=got, hint="take the file that PEFT wrote")
    return document


def _kind(document: Mapping[str, Any], stated: Stated, path: Path) -> None:
    if stated.peft_type != "LORA":
        hint = "train a LoRA adapter: Workers AI takes no other kind"
        raise UserError("must be LORA", path=f"{path}: peft_type", got=stated.peft_type, hint=hint)
    if stated.task_type not in (None, "CAUSAL_LM"):
        hint = 'the bases are chat models: train it for "CAUSAL_LM"'
        raise UserError("must be CAUSAL_LM", path=f"{path}: task_type", got=stated.task_type, hint=hint)
    if stated.bias not in (None, "none"):
        raise UserError("must be none", path=f"{path}: bias", got=stated.bias, hint='train it with bias="none"')
    for key, why in _REFUSED.items():
        if document.get(key):
            hint = f"train it without {key}: Workers AI adds two matrices to each module, and nothing else"
            raise UserError(f"{why}, which would be lost", path=f"{path}: {key}", hint=hint)


def _ranks(stated: Stated, path: Path) -> None:
    ranks = {"r": stated.r, **{f"rank_pattern.{shown(key)}": rank for key, rank in (stated.rank_pattern or {}).items()}}
    for where, rank in ranks.items():
        if rank > MAX_RANK:
            hint = f"train it with a rank of at most {MAX_RANK}"
            raise UserError(f"Workers AI takes ranks up to {MAX_RANK}", path=f"{path}: {where}", got=rank, hint=hint)


def _scale(stated: Stated, path: Path) -> None:
    if stated.use_rslora:
        same = stated.lora_alpha * math.sqrt(stated.r)
        hint = f'write "use_rslora": false and "lora_alpha": {same:.6g}, which is the same scale'
        if stated.rank_pattern or stated.alpha_pattern:
            hint = "train it without use_rslora"
        message = "rank-stabilised scaling isn't known to Workers AI, which divides alpha by the rank"
        raise UserError(message, path=f"{path}: use_rslora", hint=hint)
