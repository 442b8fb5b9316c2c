"""Finds Pulumi Outputs among values that are about to become text.

An Output that is printed gives a sentence about Outputs, or its address, instead of its value,
and the deploy succeeds with a broken Worker. Both spellings are known, so a value that was
formatted into a string on its way here is found too.

pulumi is not imported: where nobody loaded it, no Output can exist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass

from sluiceway.errors import SluicewayError

SPELLINGS = ("Calling __str__ on an Output", "<pulumi.output.Output object")

_HINT = "render inside Output.apply or Output.all, on resolved values"


def is_output(value: object) -> bool:
    """Whether ``value`` is a Pulumi Output, or what stands for one in a preview."""
    module = sys.modules.get("pulumi.output")
    return module is not None and isinstance(value, (module.Output, module.Unknown))


def find_output(value: object, path: str, *, texts: bool = True) -> str | None:
    """The path (``kv.ids[0]``) of the first Output in ``value``, or (``texts``) of a text that was one."""
    if is_output(value):
        return path
    if isinstance(value, str):
        return path if texts and any(spelling in value for spelling in SPELLINGS) else None
    for step, child in _children(value):
        found = find_output(child, f"{path}{step}", texts=texts)
        if found is not None:
            return found
    return None


def refuse_outputs(variables: Mapping[str, object], source: str, *, texts: bool = True) -> None:
    """Raises SluicewayError, naming the variable, if any of ``variables`` holds an Output.

    ``texts=False`` lets text pass that only looks like one: a prompt may talk about Pulumi.
    """
    for name, value in variables.items():
        found = find_output(value, name, texts=texts)
        if found is not None:
            raise SluicewayError(f"the variable {found!r} is a Pulumi Output, not a value", path=source, hint=_HINT)


def refuse_spellings(text: str, source: str) -> None:
    """Raises SluicewayError if a rendered ``text`` holds what an Output prints."""
    for number, line in enumerate(text.splitlines(), start=1):
        if any(spelling in line for spelling in SPELLINGS):
            raise SluicewayError(f"line {number} of the rendered text holds a Pulumi Output", path=source, hint=_HINT)


def _children(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield f".{key}", child
    elif isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes, bytearray)):
        for index, child in enumerate(value):
            yield f"[{index}]", child
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield f".{field.name}", getattr(value, field.name)
    elif not isinstance(value, type):
        # Resources and the like: their Outputs are attributes, and what else hangs on them may go round in circles.
        for name, child in getattr(value, "__dict__", {}).items():
            if is_output(child):
                yield f".{name}", child
