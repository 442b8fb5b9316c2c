"""One call of a model, from checked inputs to the HTTP answer; notices when the caller leaves.

A streamed answer waits for its first event before its status goes out, so that an error that comes
before any token has a status of its own. When the caller leaves, generation stops at once and the call
is marked ``cancelled`` with what had been sent.
"""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from sluiceway.local import connection
from sluiceway.local.ai import lora
from sluiceway.local.ai import request as inputs
from sluiceway.local.ai.calls import Call
from sluiceway.local.ai.engine import Engine, Event
from sluiceway.local.ai.errors import AiError, BrokenOffError, bad_input
from sluiceway.local.ai.models import AiModel, find
from sluiceway.local.ai.shapes import Answer, Head, Shape, stream
from sluiceway.local.ai.stage import AiStage
from sluiceway.local.faults.engine import FaultyEngine

T = TypeVar("T")
_RERANK_DIMENSIONS = 512


class CallerLeftError(Exception):
    """The caller closed the connection before there was an answer."""


@dataclass(frozen=True)
class Stream:
    """A streamed answer that has begun: its bytes, for a response to send, and what must be done after it."""

    body: AsyncIterator[bytes]
    end: Callable[[], Awaitable[None]]

    def response(self, headers: Mapping[str, str]) -> Response:
        # The type is set as a header, since Starlette would put a charset behind it that Cloudflare does not send.
        kept = {**headers, "content-type": "text/event-stream", "cache-control": "no-cache"}
        return _Streaming(self, kept)


class _Streaming(StreamingResponse):
    def __init__(self, begun: Stream, headers: Mapping[str, str]) -> None:
        super().__init__(begun.body, headers=headers)
        self._begun = begun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A caller may be gone before the first byte is asked of the body, whose own ending then never runs.
        try:
            await super().__call__(scope, receive, send)
        except BrokenOffError:
            if not await connection.end(scope, receive, at_once=False):
                raise
        finally:
            await self._begun.end()


async def run(
    stage: AiStage, http: Request, call: Call, body: Mapping[str, Any], shape: Shape | None = None
) -> Stream | dict[str, Any]:
    """Runs a model on its inputs. ``shape`` None: the model's own. Raises AiError and CallerLeftError."""
    try:
        model = find(call.model)
        if stage.limiter:
            stage.limiter.admit(model)
        faulty = _faulty(stage, call, model, body)
        engine = faulty or stage.engine
        if model.task == "Text Generation":
            chosen = shape or ("native" if model.native else "openai")
            result = await _chat(stage, engine, http, call, model, body, chosen)
        elif model.task == "Text Classification" or "contexts" in body:
            if faulty:
                await _unless_left(http, faulty.before())
            result = _rerank(body)
        else:
            result = await _embed(engine, http, call, model, body, shape)
        if isinstance(result, Stream):
            return result
        if faulty:
            faulty.check_whole(result)
        call.close("ok")
        return result
    except CallerLeftError:
        call.close("cancelled")
        raise
    except AiError as error:
        call.close("error", str(error))
        raise
    except BaseException as error:
        call.close("error", type(error).__name__)
        raise


def _faulty(stage: AiStage, call: Call, model: AiModel, body: Mapping[str, Any]) -> FaultyEngine | None:
    """The stage's engine with the fault that this call is to meet, if it is to meet one."""
    chat = model.task == "Text Generation"
    openai = call.via == "rest" and bool(call.options.get("openai"))
    found = stage.faults.pick(model.id, "openai" if openai else "workers-ai", chat=chat, tools=bool(body.get("tools")))
    call.fault = found.number if found else None
    return FaultyEngine(stage.engine, found.fault) if found else None


async def _chat(
    stage: AiStage, engine: Engine, http: Request, call: Call, model: AiModel, body: Mapping[str, Any], shape: Shape
) -> Stream | dict[str, Any]:
    request = lora.adapted(inputs.chat(model, body), stage.finetune)
    streamed = body.get("stream") is True
    head = Head(f"chatcmpl-{stage.new_id()}", int(stage.clock()), model.id)
    answer = Answer()
    events = engine.chat(request, streamed=streamed)
    if streamed:
        first = await _unless_left(http, anext(events))
        usage = _wants_usage(body, call)
        chunks = stream(_from(first, events), answer, head, shape, usage=usage)
        if isinstance(engine, FaultyEngine):
            chunks = engine.events_on_the_wire(chunks)

        async def end() -> None:
            await events.aclose()
            call.close("cancelled")

        return Stream(_recorded(chunks, answer, call), end)
    try:
        await _unless_left(http, _gather(events, answer))
    finally:
        _record(call, answer)
    return answer.as_openai(head) if shape == "openai" else answer.as_native(parsed=request.json_mode)


def _wants_usage(body: Mapping[str, Any], call: Call) -> bool:
    """Workers AI tells usage at the end of a stream; behind its OpenAI path only to those that ask."""
    asked = (body.get("stream_options") or {}).get("include_usage")
    return asked is True if call.options.get("openai") else asked is not False


async def _gather(events: AsyncGenerator[Event, None], answer: Answer) -> None:
    async with aclosing(events):
        async for event in events:
            answer.add(event)


async def _from(first: Event, rest: AsyncIterator[Event]) -> AsyncIterator[Event]:
    yield first
    async for event in rest:
        yield event


async def _recorded(chunks: AsyncIterator[bytes], answer: Answer, call: Call) -> AsyncIterator[bytes]:
    ended = "cancelled"
    try:
        async for chunk in chunks:
            yield chunk
        ended = "ok"
    except Exception as error:
        ended = "error"
        call.close("error", str(error))
        raise
    finally:
        _record(call, answer)
        call.close(ended)


def _record(call: Call, answer: Answer) -> None:
    usage = answer.usage()
    call.tokens_sent = answer.sent()
    call.finish_reason = answer.finish.reason if answer.finish else None
    call.usage = usage.as_json() if usage else None


async def _unless_left(http: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled when the caller goes away."""
    task = asyncio.ensure_future(work)
    watch = asyncio.create_task(_left(http))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CallerLeftError
        return task.result()
    finally:
        for each in (task, watch):
            each.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)


async def _left(http: Request) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass


async def _embed(
    engine: Engine, http: Request, call: Call, model: AiModel, body: Mapping[str, Any], shape: Shape | None
) -> dict[str, Any]:
    request = inputs.embedding(model, body)
    vectors, read = await _unless_left(http, engine.embed(request))
    usage = {"prompt_tokens": read, "total_tokens": read}
    call.usage = usage
    if shape != "openai":
        size = len(vectors[0]) if vectors else 0
        data = [list(vector) for vector in vectors]
        return {"shape": [len(data), size], "data": data, "pooling": "cls", "usage": usage}
    encode = _base64 if body.get("encoding_format") == "base64" else list
    items = [{"object": "embedding", "index": at, "embedding": encode(vector)} for at, vector in enumerate(vectors)]
    return {"object": "list", "data": items, "model": model.id, "usage": usage}


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _rerank(body: Mapping[str, Any]) -> dict[str, Any]:
    """bge-reranker and bge-m3 with contexts: how near each context is to the query, best first."""
    from sluiceway.local.ai.embeddings import similarity

    query, contexts = body.get("query"), body.get("contexts")
    if not isinstance(query, str) or not isinstance(contexts, list):
        raise bad_input("required properties at '/' are 'query,contexts'")
    texts = [each.get("text") if isinstance(each, Mapping) else None for each in contexts]
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise bad_input(f"required properties at '/contexts/{at}' are 'text'")
    scored = [
        {"id": at, "score": round((1 + similarity(query, str(text), _RERANK_DIMENSIONS)) / 2, 6)}
        for at, text in enumerate(texts)
    ]
    scored.sort(key=lambda each: (-each["score"], each["id"]))
    top = body.get("top_k")
    return {"response": scored[:top] if isinstance(top, int) and top > 0 else scored}
