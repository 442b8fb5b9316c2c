"""A way for a handler to end its caller's connection without an answer, which ASGI has no word for."""

from __future__ import annotations

import asyncio

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

_NAME = "sluiceway.connection"


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's own HTTP connection, which tells each request its transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        app = self.config.loaded_app

        async def with_transport(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("extensions", {})[_NAME] = transport
            await app(scope, receive, send)

        self.app = with_transport


async def end(scope: Scope, receive: Receive, *, at_once: bool) -> bool:
    """Ends the connection of a request: ``at_once`` by a reset, else behind what has been written.

    False when the server isn't ours and can't.
    """
    transport: asyncio.Transport | None = scope.get("extensions", {}).get(_NAME)
    if transport is None:
        return False
    if at_once:
        transport.abort()
    else:
        transport.close()
    # Until the server knows that it is gone: it would complain of an answer that isn't complete.
    while (await receive())["type"] != "http.disconnect":
        pass
    return True
