"""The engine that asks a server which speaks OpenAI's API (llama.cpp, Ollama, vLLM): real answers, no account."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any

import httpx

from sluiceway.local.ai.engine import (
    ChatRequest,
    EmbedRequest,
    Event,
    Finish,
    Reasoning,
    Text,
    ToolArguments,
    ToolCall,
    Usage,
)
from sluiceway.local.ai.errors import AiError, bad_input

_PASSED = (
    "messages", "temperature", "top_p", "seed", "stop", "tools", "tool_choice", "parallel_tool_calls",
    "response_format", "frequency_penalty", "presence_penalty", "chat_template_kwargs", "reasoning_effort",
)  # fmt: skip
_REASONS = ("stop", "length", "tool_calls", "content_filter")


class RemoteEngine:
    """``url`` is the base that ends in ``/v1``. ``model``: the server's name for every model (default: the last
    part of the model's own name)."""

    def __init__(
        self, url: str, client: httpx.AsyncClient, *, key: str | None = None, model: str | None = None
    ) -> None:
        self._url = url.rstrip("/")
        self._client = client
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._model = model

    async def chat(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Event, None]:
        """Always streams from the server, so that a caller who leaves stops it, whole answer or not."""
        body = {name: request.body[name] for name in _PASSED if request.body.get(name) is not None}
        body.setdefault("messages", [dict(each.raw) for each in request.messages])
        # vLLM and its like serve an adapter as a model of its own name.
        name = request.lora or self._model or request.model.short
        body |= {"model": name, "max_tokens": request.max_tokens, "stream": True,
                 "stream_options": {"include_usage": True}}  # fmt: skip
        sent = self._client.build_request("POST", f"{self._url}/chat/completions", json=body, headers=self._headers)
        response = await self._send(sent, stream=True)
        try:
            async for event in _events(response):
                yield event
        except httpx.HTTPError as error:
            raise AiError(3043, f"The server behind SLUICEWAY_LOCAL_AI_URL broke off: {_words(error)}") from error
        finally:
            await response.aclose()

    async def embed(self, request: EmbedRequest) -> tuple[Sequence[Sequence[float]], int]:
        body = {"model": self._model or request.model.short, "input": list(request.texts), "encoding_format": "float"}
        sent = self._client.build_request("POST", f"{self._url}/embeddings", json=body, headers=self._headers)
        response = await self._send(sent, stream=False)
        try:
            found = response.json()
            ordered = sorted(found["data"], key=lambda each: each["index"])
            return [each["embedding"] for each in ordered], int(found.get("usage", {}).get("prompt_tokens", 0))
        except (ValueError, KeyError, TypeError) as error:
            raise AiError(3043, "The server behind SLUICEWAY_LOCAL_AI_URL sent no embeddings") from error

    async def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        try:
            response = await self._client.send(request, stream=stream)
        except httpx.TimeoutException as error:
            raise AiError(3007) from error
        except httpx.HTTPError as error:
            raise AiError(
                3043, f"The server behind SLUICEWAY_LOCAL_AI_URL can't be reached: {_words(error)}"
            ) from error
        if response.is_success:
            return response
        text = (await response.aread()).decode("utf-8", "replace")[:300]
        await response.aclose()
        raise _translated(response.status_code, text)


def _words(error: httpx.HTTPError) -> str:
    """What happened: for a reset or a time-out, httpx has only the name of its class."""
    return str(error) or type(error).__name__


def _translated(status: int, text: str) -> AiError:
    if status == 429:
        return AiError(3040)
    if status == 404:
        return AiError(5007, f"No such model: {text}")
    if status == 413:
        return AiError(3006)
    if status in (400, 422):
        return bad_input(text)
    return AiError(3043, f"The server behind SLUICEWAY_LOCAL_AI_URL answered {status}: {text}")


async def _events(response: httpx.Response) -> AsyncIterator[Event]:
    reason: str | None = None
    usage: Usage | None = None
    calls: dict[int, int] = {}
    async for chunk in _chunks(response):
        if isinstance(chunk.get("usage"), Mapping):
            usage = _usage(chunk["usage"])
        for choice in chunk.get("choices") or ():
            reason = choice.get("finish_reason") or reason
            for event in _delta(choice.get("delta") or {}, calls):
                yield event
    if reason is None:
        raise AiError(3043, "The server behind SLUICEWAY_LOCAL_AI_URL ended in the middle of an answer")
    yield Finish(reason if reason in _REASONS else "stop", usage)  # type: ignore[arg-type]


async def _chunks(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """The JSON of each event; httpx's lines keep split characters and line ends together."""
    async for line in response.aiter_lines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            return
        if data:
            try:
                found = json.loads(data)
            except ValueError as error:
                raise AiError(3043, "The server behind SLUICEWAY_LOCAL_AI_URL sent broken JSON") from error
            if "error" in found:
                raise AiError(3043, f"The server behind SLUICEWAY_LOCAL_AI_URL failed: {found['error']}")
            yield found


def _delta(delta: Mapping[str, Any], calls: dict[int, int]) -> list[Event]:
    events: list[Event] = []
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    if thought:
        events.append(Reasoning(thought))
    if delta.get("content"):
        events.append(Text(delta["content"]))
    for call in delta.get("tool_calls") or ():
        function = call.get("function") or {}
        theirs = int(call.get("index", 0))
        if theirs not in calls:
            calls[theirs] = len(calls)
            events.append(ToolCall(calls[theirs], str(call.get("id", "")), str(function.get("name", ""))))
        if function.get("arguments"):
            events.append(ToolArguments(calls[theirs], function["arguments"]))
    return events


def _usage(told: Mapping[str, Any]) -> Usage:
    prompt_details = told.get("prompt_tokens_details") or {}
    details = told.get("completion_tokens_details") or {}
    return Usage(
        prompt=int(told.get("prompt_tokens") or 0),
        completion=int(told.get("completion_tokens") or 0),
        cached=int(prompt_details.get("cached_tokens") or 0),
        reasoning=int(details.get("reasoning_tokens") or 0),
    )
