"""The protocol of ``env.AI``: what workerd's binding sends through miniflare's remote proxy.

Everything comes as one URL of ours; the URL that the binding means is in ``mf-url``, its headers have the
prefix ``mf-header-``. Before the first call the proxy tries a WebSocket for RPC, which may be refused.

| meant URL (https://workers-binding.ai)          | is                                                    |
| ----------------------------------------------- | ----------------------------------------------------- |
| POST /run?version=3                             | ``env.AI.run(model, inputs, options)``                |
| POST /ai-gateway/run?version=3                  | the same with ``options.gateway.id``                  |
| POST /ai-gateway/universal/run/{gateway}        | ``env.AI.gateway(id).run(steps)``: first that answers |
| GET /ai-gateway/gateways/{gateway}/url/{name}   | ``env.AI.gateway(id).getUrl(name)``                   |
| GET, PATCH /ai-gateway/gateways/{g}/logs/{id}   | ``env.AI.gateway(id).getLog(id)``, ``patchLog``       |
| GET /ai-api/models/search                       | ``env.AI.models(params)``                             |
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from sluiceway.local.ai import answer, batch, models, wire
from sluiceway.local.ai.answer import CallerLeftError, Stream
from sluiceway.local.ai.calls import Call
from sluiceway.local.ai.errors import AiError, bad_input
from sluiceway.local.ai.request import read_json
from sluiceway.local.ai.stage import BODY_LIMIT, AiStage
from sluiceway.local.faults import responses
from sluiceway.local.faults.engine import DroppedError, SpoiledError

_PREFIX = "mf-header-"
_GATEWAY = re.compile(r"/ai-gateway/gateways/([^/]+)/(url|logs)/(.+)")


async def serve(stage: AiStage, http: Request) -> Response:
    """Answers one message of the binding."""
    if http.headers.get("upgrade"):
        return Response("only HTTP here", 400)
    meant = urlsplit(http.headers.get("mf-url", ""))
    headers = {name[len(_PREFIX) :]: value for name, value in http.headers.items() if name.startswith(_PREFIX)}
    try:
        if http.method == "POST" and meant.path in ("/run", "/ai-gateway/run"):
            return await _run(stage, http, headers)
        if http.method == "POST" and meant.path.startswith("/ai-gateway/universal/run/"):
            return await _universal(stage, http, headers, unquote(meant.path.rsplit("/", 1)[-1]))
        if http.method == "GET" and meant.path == "/ai-api/models/search":
            return _models(parse_qs(meant.query))
        found = _GATEWAY.fullmatch(meant.path)
        if found:
            return _gateway(stage, http.method, unquote(found[1]), found[2], unquote(found[3]))
        raise AiError(7003, f"No route for {http.method} {meant.path}", status=404)
    except AiError as error:
        return wire.answer(error.for_binding(), error.status, {**error.headers, "cf-ai-req-id": stage.new_id()})
    except (DroppedError, SpoiledError) as error:
        return responses.failed(error, {"cf-ai-req-id": stage.new_id()})
    except CallerLeftError:
        return Response(status_code=499)


async def _run(stage: AiStage, http: Request, headers: Mapping[str, str]) -> Response:
    sent = read_json(await http.body(), BODY_LIMIT)
    body, options = sent.get("inputs"), sent.get("options") or {}
    model = str(headers.get("cf-consn-model-id") or sent.get("model") or "")
    if not isinstance(body, dict) or not isinstance(options, dict):
        raise bad_input("required properties at '/' are 'inputs'")
    call = stage.calls.open("binding", model, body, options, headers, len(await http.body()))
    gateway = options.get("gateway")
    extra = {"cf-ai-req-id": stage.new_id()}
    if isinstance(gateway, dict) and gateway.get("id"):
        call.log_id = stage.new_id()
        extra |= {"cf-aig-log-id": call.log_id, "cf-aig-cache-status": "MISS"}
        try:
            check_gateway(stage, str(gateway["id"]))
        except AiError as error:
            call.close("error", str(error))
            raise
    if batch.is_batch(body):
        return wire.answer(await batch.run(stage, http, call, body), 200, extra)
    return _response(await answer.run(stage, http, call, body), extra)


async def _universal(stage: AiStage, http: Request, headers: Mapping[str, str], gateway: str) -> Response:
    """Tries the steps in turn; the answer is that of the first that works, else the last error."""
    check_gateway(stage, gateway)
    sent = await http.body()
    try:
        steps = json.loads(sent)
    except ValueError:
        steps = None
    if not isinstance(steps, list) or not steps:
        raise bad_input("a list of steps is expected")
    failed: AiError | None = None
    for at, step in enumerate(steps):
        call = _step_call(stage, step, {**headers, "cf-aig-gateway": gateway})
        extra = {"cf-aig-step": str(at), "cf-aig-log-id": call.log_id or "", "cf-aig-cache-status": "MISS"}
        try:
            openai = bool(call.options.get("openai"))
            result = await answer.run(stage, http, call, call.inputs, "openai" if openai else None)
        except AiError as error:
            failed = error
            continue
        if isinstance(result, Stream):
            return result.response(extra)
        wrapped = result if openai else {"result": result, "success": True, "errors": [], "messages": []}
        return wire.answer(wrapped, 200, extra)
    assert failed is not None
    return wire.answer(failed.for_rest(stage.new_id()), failed.status, failed.headers)


def _step_call(stage: AiStage, step: object, headers: Mapping[str, str]) -> Call:
    if not isinstance(step, dict) or step.get("provider") != "workers-ai":
        raise AiError(2019, "The local stage answers for provider workers-ai alone", status=400)
    given = step.get("query")
    query = given if isinstance(given, dict) else {}
    endpoint = str(step.get("endpoint", ""))
    openai = endpoint.removeprefix("/") in ("v1/chat/completions", "v1/embeddings")
    model = str(query.get("model", "")) if openai else endpoint.removeprefix("/").removeprefix("run/")
    call = stage.calls.open("gateway", model, query, {"openai": openai}, headers)
    call.log_id = stage.new_id()
    return call


def check_gateway(stage: AiStage, gateway: str) -> None:
    """AiError 2001 for a gateway that the account does not have."""
    if stage.gateway_exists and not stage.gateway_exists(gateway):
        raise AiError(2001, "Please configure AI Gateway in the Cloudflare dashboard", status=400)


def _gateway(stage: AiStage, method: str, gateway: str, what: str, name: str) -> Response:
    if what == "url":
        path = "" if name == "universal" else f"/{name}"
        url = f"{stage.base_url}/_local/gateway/v1/{stage.account_id}/{gateway}{path}"
        return wire.enveloped({"url": url})
    call = stage.calls.by_log(name)
    if call is None:
        error = {"code": 7002, "message": "Log not found"}
        return wire.answer({"result": None, "success": False, "errors": [error], "messages": []}, 404)
    usage = call.usage or {}
    result = {
        "id": name,
        "created_at": call.at,
        "provider": "workers-ai",
        "model": call.model,
        "success": call.status == "ok",
        "status_code": 200 if call.status == "ok" else 500,
        "tokens_in": usage.get("prompt_tokens", 0),
        "tokens_out": usage.get("completion_tokens", 0),
        "cached": False,
    }
    return wire.enveloped(result if method == "GET" else {})


def _models(query: Mapping[str, list[str]]) -> Response:
    def one(name: str, default: str) -> str:
        return query.get(name, [default])[0]

    page, size = one("page", "1"), one("per_page", "50")
    if not (page.isdigit() and size.isdigit() and int(page) and int(size)):
        raise bad_input("page and per_page must be whole numbers from 1")
    found, _ = models.search(text=one("search", ""), task=one("task", ""), page=int(page), per_page=int(size))
    return wire.enveloped(found)


def _response(result: Stream | dict[str, Any], headers: Mapping[str, str]) -> Response:
    return result.response(headers) if isinstance(result, Stream) else wire.answer(result, 200, headers)
