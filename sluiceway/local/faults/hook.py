"""Where faults of the API come in: around each of its endpoints, and asked for by the door of R2's S3 API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from sluiceway.local.faults import errors, responses
from sluiceway.local.faults.active import Faults
from sluiceway.local.faults.engine import DroppedError

BASE = "/client/v4"
Endpoint = Callable[[Request], Awaitable[Response]]


def struck(routes: Iterable[BaseRoute], faults: Faults) -> list[BaseRoute]:
    """The same routes, whose calls meet the faults that are on; what only the local stage has meets none."""
    return [
        _struck(route, faults) if isinstance(route, Route) and not route.path.startswith(f"{BASE}/_local/") else route
        for route in routes
    ]


def _struck(route: Route, faults: Faults) -> Route:
    inner: Endpoint = route.endpoint

    async def endpoint(request: Request) -> Response:
        path = request.url.path.removeprefix(BASE)
        found = faults.pick_call(request.method, path)
        if found is None:
            return await inner(request)
        fault = found.fault
        answer = await inner(request) if fault.after else None
        if fault.delay_ms:
            await asyncio.sleep(fault.delay_ms / 1000)
        if answer and (fault.drop or fault.status):
            await _lose(answer)
        if fault.drop:
            return responses.failed(DroppedError("dropped by a fault"), {})
        if fault.status is not None:
            told = errors.of_api(fault, path)
            return Response(told.body, told.status, told.headers)
        return answer or await inner(request)

    return Route(route.path, endpoint, methods=sorted(route.methods or ()), include_in_schema=False)


async def _lose(answer: Response) -> None:
    """Frees what an answer holds that nobody will get."""
    if isinstance(answer, StreamingResponse) and (close := getattr(answer.body_iterator, "aclose", None)):
        await close()


def s3(faults: Faults, method: str, path: str) -> dict[str, Any] | None:
    """What a call of R2's S3 API is to meet, for the door that carries it out; None where nothing.

    ``{"after", "drop", "delay_ms", "answer"}``: times in milliseconds; ``answer`` is None or ``{"status", "headers",
    "body"}``.
    """
    found = faults.pick_s3(method, path)
    if found is None:
        return None
    fault = found.fault
    told = errors.of_s3(fault) if fault.status is not None else None
    answer = told and {"status": told.status, "headers": told.headers, "body": told.body.decode()}
    return {"after": fault.after, "drop": fault.drop, "delay_ms": fault.delay_ms or 0, "answer": answer}
