"""A fault as a client sends it: of models, or, where it names an ``api``, of Cloudflare's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sluiceway.local.faults import call, fault
from sluiceway.local.faults.call import CallFault
from sluiceway.local.faults.fault import Fault
from sluiceway.local.faults.when import BadFaultError


def read_fault(body: Mapping[str, Any]) -> Fault | CallFault:
    """Checks what a client sent; BadFaultError for the first thing that is wrong."""
    shape: type[Fault] | type[CallFault] = CallFault if "api" in body else Fault
    try:
        return shape.model_validate(dict(body))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = str(first["loc"][0]) if first["loc"] else "fault"
        message = str(first["msg"]).removeprefix("Value error, ")
        raise BadFaultError(path, message, _hint(shape, path, first["type"])) from None


def _hint(shape: type[Fault] | type[CallFault], path: str, kind: str) -> str:
    if kind == "extra_forbidden":
        return f"known fields: {', '.join(shape.model_fields)}"
    if path == "fault":
        return f"say what happens: one of {', '.join(shape.does)}"
    known = call.hint(path) if shape is CallFault else fault.hint(path)
    return known or "`sluiceway local faults add --help` says what each may be"
