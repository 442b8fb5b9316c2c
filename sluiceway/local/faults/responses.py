"""Answers that are none: a connection that ends, a body that is no JSON or stops half-way."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sluiceway.local import connection
from sluiceway.local.ai.errors import BrokenOffError
from sluiceway.local.ai.wire import encode
from sluiceway.local.faults.engine import DroppedError, SpoiledError


class _Dropped(Response):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not await connection.end(scope, receive, at_once=True):
            raise DroppedError("dropped by a fault")


class _HalfWay(Response):
    """Promises its whole length and ends in the middle."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        half = bytes(self.body[: len(self.body) // 2])
        await send({"type": "http.response.body", "body": half, "more_body": True})
        if not await connection.end(scope, receive, at_once=False):
            raise BrokenOffError("cut by a fault")


def failed(error: DroppedError | SpoiledError, headers: Mapping[str, str]) -> Response:
    """The answer of a call that such an error ended."""
    if isinstance(error, DroppedError):
        return _Dropped()
    body = encode(error.result)
    kept = {**headers, "content-type": "application/json"}
    return _HalfWay(body, 200, kept) if error.how == "cut" else Response(body[: len(body) // 2], 200, kept)
