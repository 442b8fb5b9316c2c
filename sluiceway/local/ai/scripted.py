"""The engine that needs no model and no network: `script.write` as a series of events, within the token limit."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from sluiceway.local.ai import script, tokens
from sluiceway.local.ai.embeddings import embed
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
from sluiceway.local.ai.errors import AiError, BrokenOffError

_ARGUMENT_PIECES = 4  # tokens of a tool call's arguments in one event


@dataclass
class ScriptedEngine:
    """``token_delay``: seconds between the tokens of a stream; whole answers come at once unless asked."""

    token_delay: float = 0.004
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def chat(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Event, None]:
        written = script.write(request)
        prompt = prompt_tokens(request)
        if written.error:
            raise AiError(written.error)
        if prompt + request.max_tokens > request.model.context:
            raise AiError(
                5021,
                f"The estimated number of input and maximum output tokens ({prompt + request.max_tokens}) exceeded "
                f"this model context window limit ({request.model.context}).",
            )
        if written.wait:
            await self.sleep(written.wait)
        delay = written.delay if written.delay is not None else self.token_delay if streamed else 0.0
        sent = 0
        for event, weight in _events(written, request, prompt):
            if written.cut is not None and sent >= written.cut:
                raise BrokenOffError("broken off as the prompt asked")
            yield event
            sent += weight
            if weight and delay:
                await self.sleep(delay)
            elif sent % 64 == 63:
                await asyncio.sleep(0)  # a very long answer must not hold up the other calls

    async def embed(self, request: EmbedRequest) -> tuple[Sequence[Sequence[float]], int]:
        vectors = [embed(text, request.model.dimensions) for text in request.texts]
        return vectors, sum(tokens.count(text) for text in request.texts)


def prompt_tokens(request: ChatRequest) -> int:
    """Tokens of messages, images and tools, by the estimate of `tokens`."""
    messages = sum(
        tokens.PER_MESSAGE + tokens.count(each.text) + each.images * tokens.PER_IMAGE for each in request.messages
    )
    return messages + sum(tokens.count(str(dict(tool.raw))) for tool in request.tools)


def _events(written: script.Script, request: ChatRequest, prompt: int) -> list[tuple[Event, int]]:
    """All events of an answer, each with the tokens it counts."""
    thought, used, whole = tokens.within(tokens.pieces(written.reasoning), request.max_tokens)
    events: list[tuple[Event, int]] = [(Reasoning(piece), tokens.weight(piece)) for piece in thought]
    reasoning = used
    said, count, whole_text = tokens.within(tokens.pieces(written.text), request.max_tokens - used if whole else 0)
    events += [(Text(piece), tokens.weight(piece)) for piece in said]
    used += count
    whole = whole and whole_text
    for index, (name, arguments) in enumerate(written.calls):
        cut, count, fits = tokens.within(tokens.pieces(arguments), max(0, request.max_tokens - used))
        events.append((ToolCall(index, _call_id(name, arguments, index), name), 0))
        events += [
            (ToolArguments(index, "".join(cut[at : at + _ARGUMENT_PIECES])), len(cut[at : at + _ARGUMENT_PIECES]))
            for at in range(0, len(cut), _ARGUMENT_PIECES)
        ]
        used += count
        whole = whole and fits
    usage = Usage(prompt=prompt, completion=used, reasoning=reasoning)
    reason: Finish = Finish("length" if not whole else "tool_calls" if written.calls else "stop", usage)
    return [*events, (reason, 0)]


def _call_id(name: str, arguments: str, index: int) -> str:
    return "call_" + hashlib.sha256(f"{name}\n{arguments}\n{index}".encode()).hexdigest()[:24]
