"""Faults by HTTP: ``/client/v4/_local/faults``, behind the stage's token; and what the door of R2's S3 API asks.

GET                 all of them
POST {...}          adds one (or a list of them, all or none)
DELETE              clears all
DELETE .../{id}     clears one
"""

from __future__ import annotations

import hmac
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sluiceway.local.ai import wire
from sluiceway.local.faults import hook
from sluiceway.local.faults.active import Faults
from sluiceway.local.faults.read import read_fault
from sluiceway.local.faults.when import BadFaultError

PATH = "/client/v4/_local/faults"


def routes(faults: Faults) -> list[Route]:
    """Without the check of the caller."""

    async def several(http: Request) -> Response:
        if http.method == "GET":
            return wire.enveloped(faults.as_json())
        if http.method == "DELETE":
            cleared = faults.clear()
            await faults.tell()
            return wire.enveloped({"cleared": cleared})
        try:
            added = _added(faults, await http.body())
        except BadFaultError as error:
            return _refused(400, error)
        await faults.tell()
        return wire.enveloped(added)

    async def one(http: Request) -> Response:
        number = http.path_params["number"]
        if faults.clear(number):
            await faults.tell()
            return wire.enveloped({"cleared": 1})
        return _refused(404, BadFaultError("id", f"there is no fault {number}", "sluiceway local faults list"))

    return [
        Route(PATH, several, methods=["GET", "POST", "DELETE"]),
        Route(f"{PATH}/{{number:int}}", one, methods=["DELETE"]),
    ]


def of_s3(faults: Faults, secret: str) -> Route:
    """``POST /_local/fault/{secret}`` with ``{"method", "path"}``: what such a call is to meet, or null."""

    async def asked(http: Request) -> Response:
        if not hmac.compare_digest(str(http.path_params["secret"]).encode(), secret.encode()):
            return Response(status_code=404)
        call = await http.json()
        return JSONResponse(hook.s3(faults, str(call["method"]), str(call["path"])))

    return Route("/_local/fault/{secret}", asked, methods=["POST"])


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
