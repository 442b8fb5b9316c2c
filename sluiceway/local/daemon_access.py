"""One line of control.log for each call of the API: what Pulumi, wrangler and the rest really asked."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("sluiceway.local.api")
_WATCHED = "/client/v4/"
# Asked all the time by tests and by people who look on; they say nothing about the stage.
_QUIET = "/client/v4/_local/"


class AccessLog:
    """Method, path without its query, status and milliseconds until the answer began; nothing of bodies or headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(_WATCHED) or path.startswith(_QUIET):
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                took = (time.perf_counter() - started) * 1000
                # A path may hold a key that someone chose: its line ends must not make lines of their own.
                shown = path.encode("unicode_escape").decode("ascii")
                log.info("%s %s %s %.0f ms", scope["method"], shown, message["status"], took)
            await send(message)

        await self._app(scope, receive, watched)
