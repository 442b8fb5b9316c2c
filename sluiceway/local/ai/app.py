"""The routes of Workers AI, of the sink for what Workers say, and of the views on both."""

from __future__ import annotations

import hmac

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluiceway.local.ai import binding, rest, wire
from sluiceway.local.ai.sink import parse_events
from sluiceway.local.ai.stage import AiStage
from sluiceway.local.api import auth
from sluiceway.local.faults import routes as faults

_SINK_LIMIT = 4 * 1024 * 1024


def routes(stage: AiStage) -> list[BaseRoute]:
    """Everything, each behind the token or the secret that it needs. Put before the API's own catch-all."""

    async def from_binding(http: Request) -> Response:
        return await binding.serve(stage, http) if _knows(stage, http) else Response(status_code=404)

    async def from_host(http: Request) -> Response:
        return await _take_events(stage, http) if _knows(stage, http) else Response(status_code=404)

    return [
        Route("/_local/ai/{secret}", from_binding, methods=["GET", "POST", "PATCH"]),
        Route("/_local/sink/{secret}", from_host, methods=["POST"]),
        *auth.guarded(
            [*rest.routes(stage), *_views(stage), *faults.routes(stage.faults)], stage.token, stage.account_id
        ),
    ]


def _views(stage: AiStage) -> list[BaseRoute]:
    async def calls(http: Request) -> Response:
        if http.method == "DELETE":
            stage.calls.clear()
            return wire.enveloped({})
        found = stage.calls.recent(limit=_number(http, "limit", 100), since=_number(http, "since", 0))
        return wire.enveloped([call.as_json() for call in found])

    async def events(http: Request) -> Response:
        found = stage.sink.recent(
            kind=http.query_params.get("kind"), since=_number(http, "since", 0), limit=_number(http, "limit", 100)
        )
        return wire.enveloped({"events": found, "next": stage.sink.last_seq})

    return [
        Route("/client/v4/_local/ai/calls", calls, methods=["GET", "DELETE"]),
        Route("/client/v4/_local/events", events, methods=["GET"]),
    ]


async def _take_events(stage: AiStage, http: Request) -> Response:
    body = await http.body()
    if len(body) > _SINK_LIMIT:
        return Response("too large", 413)
    try:
        stage.sink.add(parse_events(body))
    except ValueError as error:
        return Response(f"not events: {error}", 400)
    return Response(status_code=204)


def _knows(stage: AiStage, http: Request) -> bool:
    return hmac.compare_digest(str(http.path_params["secret"]).encode(), stage.secret.encode())


def _number(http: Request, name: str, default: int) -> int:
    given = http.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 12 else default
