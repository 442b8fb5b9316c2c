"""Workers AI's REST API: run by model name, and the paths that OpenAI's clients use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluiceway.local.ai import answer, batch, models, wire
from sluiceway.local.ai.answer import CallerLeftError, Stream
from sluiceway.local.ai.errors import AiError, bad_input
from sluiceway.local.ai.request import read_json
from sluiceway.local.ai.stage import BODY_LIMIT, AiStage
from sluiceway.local.faults import responses
from sluiceway.local.faults.engine import DroppedError, SpoiledError

_BASE = "/client/v4/accounts/{account}/ai"
_GATEWAY = "/_local/gateway/v1/{account}/{gateway}"
Handler = Callable[[Request], Awaitable[Response]]


def routes(stage: AiStage) -> list[BaseRoute]:
    """Without the check of the caller, which `app.routes` adds."""

    async def run_model(http: Request) -> Response:
        return await _run(stage, http, str(http.path_params["model"]))

    async def chat_completions(http: Request) -> Response:
        return await _openai(stage, http, "Text Generation")

    async def embeddings(http: Request) -> Response:
        return await _openai(stage, http, "Text Embeddings")

    found: list[BaseRoute] = []
    for base in (_BASE, f"{_GATEWAY}/workers-ai", f"{_GATEWAY}/compat"):
        prefix = base if base.endswith("compat") else f"{base}/v1"
        found += [
            Route(f"{prefix}/chat/completions", _caught(stage, chat_completions), methods=["POST"]),
            Route(f"{prefix}/embeddings", _caught(stage, embeddings), methods=["POST"]),
        ]
    return [
        *found,
        Route(f"{_BASE}/run/{{model:path}}", _caught(stage, run_model), methods=["POST"]),
        Route(f"{_GATEWAY}/workers-ai/{{model:path}}", _caught(stage, run_model), methods=["POST"]),
        Route(f"{_BASE}/models/search", _caught(stage, _search), methods=["GET"]),
    ]


def _caught(stage: AiStage, handler: Handler) -> Handler:
    async def endpoint(http: Request) -> Response:
        request_id = stage.new_id()
        try:
            response = await handler(http)
        except AiError as error:
            response = wire.answer(error.for_rest(request_id), error.status, error.headers)
        except (DroppedError, SpoiledError) as error:
            response = responses.failed(error, {})
        except CallerLeftError:
            return Response(status_code=499)
        response.headers["cf-ai-req-id"] = request_id
        return response

    return endpoint


async def _run(stage: AiStage, http: Request, model: str) -> Response:
    body = read_json(await http.body(), BODY_LIMIT)
    options = body.pop("options", None) or {}
    queued = http.query_params.get("queueRequest") == "true"
    call = stage.calls.open("rest", model, body, options, _headers(http), len(await http.body()))
    if queued or batch.is_batch(body):
        return wire.enveloped(await batch.run(stage, http, call, body))
    result = await answer.run(stage, http, call, body)
    return result.response({}) if isinstance(result, Stream) else wire.enveloped(result)


async def _openai(stage: AiStage, http: Request, task: str) -> Response:
    body = read_json(await http.body(), BODY_LIMIT)
    name = body.get("model")
    if not isinstance(name, str):
        raise bad_input("required properties at '/' are 'model'")
    name = name.removeprefix("workers-ai/")
    if models.find(name).task != task:
        raise bad_input(f"{name} is not a model for this path")
    call = stage.calls.open("rest", name, body, {"openai": True}, _headers(http), len(await http.body()))
    result = await answer.run(stage, http, call, body, "openai")
    return result.response({}) if isinstance(result, Stream) else wire.answer(result)


async def _search(http: Request) -> Response:
    query = http.query_params
    page, size = query.get("page", "1"), query.get("per_page", "50")
    if not (page.isdigit() and size.isdigit() and int(page) and int(size)):
        raise bad_input("page and per_page must be whole numbers from 1")
    found, total = models.search(
        text=query.get("search", ""), task=query.get("task", ""), page=int(page), per_page=int(size)
    )
    info = {"page": int(page), "per_page": int(size), "count": len(found), "total_count": total}
    return wire.enveloped(found, info)


def _headers(http: Request) -> dict[str, str]:
    return dict(http.headers.items())
