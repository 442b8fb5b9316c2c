"""The version of models/MODEL.yaml that answers with an adapter."""

from __future__ import annotations

from collections.abc import Sequence

from sluiceway.domain.model import ModelRef
from sluiceway.errors import UserError
from sluiceway.pipeline.publish import write
from sluiceway.pipeline.publish.stated import FOLDER, Stated


def block(ref: ModelRef, base: str, lora: str, indent: int = 2) -> str:
    """The version as it stands in models/MODEL.yaml, in whole lines."""
    lines = (f"- version: {ref}", "  backend: workers-ai", f'  id: "{base}"', f"  lora: {lora}")
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def choose(model: str, known: Sequence[Stated], base: str, lora: str, number: int | None) -> tuple[ModelRef, bool]:
    """(the version, whether it is there): the one that answers so already, else ``number``, else the next."""
    path = f"{FOLDER}/{model}.yaml"
    task = next((version.task for version in known if version.task != "chat"), None)
    if task is not None:
        raise UserError(
            f"the model's task is {task}, and {base} chats", path=path, got=model, hint="name another model"
        )
    same = next((v.ref for v in known if (v.id, v.lora) == (base, lora) and number in (None, v.ref.number)), None)
    if same is not None:
        return same, True
    last = max((version.ref.number for version in known), default=0)
    if number is not None and number <= last:
        hint = f"leave --version out, and it becomes {model}@{last + 1}"
        raise UserError(f"{model}@{last} is there, and a new version stands last", path=path, got=number, hint=hint)
    return ModelRef(model, number or last + 1), False


def added(text: str | None, ref: ModelRef, base: str, lora: str) -> str:
    """The text of models/MODEL.yaml with the version at its end. UserError when it can't be added."""
    if text is None:
        return f"task: chat\nversions:\n{block(ref, base, lora)}"
    return write.appended(text, ref, lambda indent: block(ref, base, lora, indent))
