"""Events in the shapes that clients read: OpenAI's chat.completion and its chunks, and Workers AI's older one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from sluiceway.local.ai import tokens
from sluiceway.local.ai.engine import Event, Finish, Reasoning, Text, ToolArguments, ToolCall, Usage
from sluiceway.local.ai.wire import encode

Shape = Literal["openai", "native"]
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Head:
    """What every chunk of one answer repeats. ``created``: seconds since 1970."""

    id: str
    created: int
    model: str


@dataclass
class Answer:
    """Gathers events."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[ToolCall, list[str]]] = field(default_factory=list)
    finish: Finish | None = None

    def add(self, event: Event) -> None:
        match event:
            case Text(text):
                self.text.append(text)
            case Reasoning(text):
                self.reasoning.append(text)
            case ToolCall():
                self.calls.append((event, []))
            case ToolArguments(index, text):
                self.calls[index][1].append(text)
            case Finish():
                self.finish = event

    def sent(self) -> int:
        """Tokens so far, by the stage's own estimate."""
        arguments = ["".join(parts) for _, parts in self.calls]
        return sum(tokens.count(text) for text in ("".join(self.reasoning), "".join(self.text), *arguments))

    def usage(self) -> Usage | None:
        return self.finish.usage if self.finish else None

    def as_openai(self, head: Head) -> dict[str, Any]:
        """chat.completion. ``content`` is null when the answer is tool calls alone."""
        text = "".join(self.text)
        message: dict[str, Any] = {"role": "assistant", "content": None if self.calls and not text else text}
        if self.reasoning:
            # Cloudflare names the field `reasoning`; clients of these models read `reasoning_content`.
            message["reasoning"] = message["reasoning_content"] = "".join(self.reasoning)
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": "".join(parts)}}
                for call, parts in self.calls
            ]
        reason = self.finish.reason if self.finish else None
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        found = {"id": head.id, "object": "chat.completion", "created": head.created, "model": head.model,
                 "choices": [choice]}  # fmt: skip
        usage = self.usage()
        return {**found, "usage": usage.as_json()} if usage else found

    def as_native(self, *, parsed: bool) -> dict[str, Any]:
        """``{"response", "usage"}``; with ``parsed`` (JSON mode) the response is the value itself."""
        text = "".join(self.text)
        found: dict[str, Any] = {"response": _value(text) if parsed else text, "tool_calls": self._native_calls()}
        usage = self.usage()
        return {**found, "usage": usage.as_json()} if usage else found

    def _native_calls(self) -> list[dict[str, Any]]:
        return [{"name": call.name, "arguments": _value("".join(parts))} for call, parts in self.calls]


def _value(text: str) -> object:
    try:
        found: object = json.loads(text)
        return found
    except ValueError:  # cut off by the token limit
        return text


async def stream(
    events: AsyncIterator[Event], answer: Answer, head: Head, shape: Shape, *, usage: bool
) -> AsyncIterator[bytes]:
    """Server-sent events of one answer, which ``answer`` gathers meanwhile. ``usage``: tell it at the end."""
    first = True
    async for event in events:
        answer.add(event)
        made = _openai_chunks(event, head, first, usage) if shape == "openai" else _native_chunks(event)
        for chunk in made:
            yield _sse(chunk)
        first = False
    yield DONE


def _openai_chunks(event: Event, head: Head, first: bool, usage: bool) -> Iterator[dict[str, Any]]:
    if first:
        yield _chunk(head, {"role": "assistant", "content": ""})
    match event:
        case Text(text):
            yield _chunk(head, {"content": text})
        case Reasoning(text):
            yield _chunk(head, {"reasoning": text, "reasoning_content": text})
        case ToolCall(index, id, name):
            call = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
            yield _chunk(head, {"tool_calls": [call]})
        case ToolArguments(index, text):
            yield _chunk(head, {"tool_calls": [{"index": index, "function": {"arguments": text}}]})
        case Finish(reason, told):
            yield _chunk(head, {}, reason)
            if usage and told:
                yield {**_chunk(head, {}), "choices": [], "usage": told.as_json()}


def _native_chunks(event: Event) -> Iterator[dict[str, Any]]:
    match event:
        case Text(text):
            yield {"response": text, "p": "abdefghijklmnopqrstuvwxyz"[: 4 + len(text) % 8]}
        case ToolCall(index, id, name):
            yield {"response": "", "tool_calls": [{"index": index, "id": id, "name": name, "arguments": ""}]}
        case ToolArguments(index, text):
            yield {"response": "", "tool_calls": [{"index": index, "arguments": text}]}
        case Finish(_, told):
            yield {"response": "", "usage": told.as_json() if told else None}


def _chunk(head: Head, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {"id": head.id, "object": "chat.completion.chunk", "created": head.created, "model": head.model,
            "choices": [choice]}  # fmt: skip


def _sse(value: dict[str, Any]) -> bytes:
    return b"data: " + encode(value) + b"\n\n"
