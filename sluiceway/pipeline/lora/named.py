"""Which model an adapter says that it was trained on, and whether that is the base it is to be put on."""

from __future__ import annotations

import re
from typing import Final

from sluiceway.catalog.lora_bases import LORA_BASES, LoraBase
from sluiceway.errors import UserError

_QUANTISED: Final = re.compile(r"(-unsloth)?-bnb-4bit$|-(gptq|awq)$")


def check(stated: str | None, base: LoraBase, path: str) -> tuple[str, ...]:
    """Notes; a UserError for another model, or none."""
    where = f"{path}: base_model_name_or_path"
    if not stated:
        hint = f"write the model that it was trained on, which for {base.id} is {base.made_from}"
        raise UserError("doesn't say which model it was trained on", path=where, hint=hint)
    name = plain(stated)
    if name in (base.made_from, base.id.rpartition("/")[2]):
        return ()
    if name in base.kin:
        return (f"trained on {name}, of the same shape as {base.made_from} but with other weights",)
    other = next((each for each in LORA_BASES.values() if name in (each.made_from, *each.kin)), None)
    if other is not None:
        hint = f"take --base {other.id}"
    else:
        hint = f"train it on {base.made_from}; if that is what it was trained on, write that name here"
    raise UserError(f"{base.id} is {base.made_from}, and not this", path=where, got=stated[:200], hint=hint)


def plain(stated: str) -> str:
    """``mistral-7b-instruct-v0.2`` of ``unsloth/mistral-7b-instruct-v0.2-bnb-4bit``, of a path, of a snapshot's."""
    parts = [part for part in stated.replace("\\", "/").split("/") if part]
    kept = next((part.split("--")[-1] for part in parts if part.startswith("models--")), parts[-1] if parts else "")
    return _QUANTISED.sub("", kept.lower())


def base_of(text: str) -> LoraBase:
    """The base by its id, or by the last part of it. UserError for any other."""
    found = next((base for id, base in LORA_BASES.items() if text in (id, id.rpartition("/")[2])), None)
    if found is None:
        hint = f"those that take adapters: {', '.join(LORA_BASES)}"
        raise UserError("no model of Workers AI that takes LoRA adapters", path="--base", got=text, hint=hint)
    return found
