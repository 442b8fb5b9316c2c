"""Faults by HTTP: ``/client/v4/_local/faults``, behind the stage's token.

GET                 all of them
POST {...}          adds one (or a list of them, all or none)
DELETE              clears all
DELETE .../{id}     clears one
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluiceway.local.ai import wire
from sluiceway.local.faults.active import Faults
from sluiceway.local.faults.fault import BadFaultError, read_fault

PATH = "/client/v4/_local/faults"


def routes(faults: Faults) -> list[Route]:
    """Without the check of the caller."""

    async def several(http: Request) -> Response:
        if http.method == "GET":
            return wire.enveloped(faults.as_json())
        if http.method == "DELETE":
            return wire.enveloped({"cleared": faults.clear()})
        try:
            return wire.enveloped(_added(faults, await http.body()))
        except BadFaultError as error:
            return _refused(400, error)

    async def one(http: Request) -> Response:
        number = http.path_params["number"]
        if faults.clear(number):
            return wire.enveloped({"cleared": 1})
        return _refused(404, BadFaultError("id", f"there is no fault {number}", "sluiceway local faults list"))

    return [
        Route(PATH, several, methods=["GET", "POST", "DELETE"]),
        Route(f"{PATH}/{{number:int}}", one, methods=["DELETE"]),
    ]


def _added(faults: Faults, sent: bytes) -> Any:  # noqa: ANN401 - an object for an object, a list for a list
    try:
        body = json.loads(sent)
    except (ValueError, RecursionError):
        body = None
    given = body if isinstance(body, list) else [body]
    if not given or not all(isinstance(each, dict) for each in given):
        raise BadFaultError("body", "a fault is a JSON object", 'such as {"status": 429, "share": 0.5}')
    checked = [read_fault(each) for each in given]
    added = [faults.add(each) for each in checked]
    return added if isinstance(body, list) else added[0]


def _refused(status: int, error: BadFaultError) -> Response:
    told = {"code": 10000 + status, "message": error.message, "path": error.path, "hint": error.hint}
    return wire.answer({"result": None, "success": False, "errors": [told], "messages": []}, status)
