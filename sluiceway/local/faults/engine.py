"""What a fault does to an answer: before it, between its tokens, and to its body."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from sluiceway.local.ai import tokens
from sluiceway.local.ai.engine import (
    ChatRequest,
    EmbedRequest,
    Engine,
    Event,
    Finish,
    Reasoning,
    Text,
    ToolArguments,
    Usage,
)
from sluiceway.local.ai.errors import BrokenOffError
from sluiceway.local.faults.fault import Fault

_DECLINED = "I can't help with that."
_BROKEN_EVENT = 2  # the third: behind the start frame, so that the stream has begun well


class DroppedError(ConnectionError):
    """The connection is to end before any answer."""


class SpoiledError(Exception):
    """A whole answer whose body is to be spoiled: no JSON, or ended half-way."""

    def __init__(self, result: dict[str, Any], how: Literal["json", "cut"]) -> None:
        super().__init__(f"spoiled: {how}")
        self.result = result
        self.how = how


@dataclass
class FaultyEngine:
    """``inner`` with one fault on it. ``sleep`` and ``clock`` in seconds."""

    inner: Engine
    fault: Fault
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    async def before(self) -> None:
        """Waits, then refuses or drops, as the fault says."""
        if self.fault.delay_ms:
            await self.sleep(self.fault.delay_ms / 1000)
        refusal = self.fault.refusal()
        if refusal:
            raise refusal
        if self.fault.drop:
            raise DroppedError("dropped by a fault")

    async def chat(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Event, None]:
        await self.before()
        events = _declining(request) if self.fault.refuse else self.inner.chat(request, streamed=streamed)
        cut = self.fault.cut_after if streamed else None
        if cut == 0:
            yield Text("")  # the start frame goes out, and nothing after it
        sent, began = 0, self.clock()
        async with aclosing(events):
            async for event in _tools_broken(events) if self.fault.broken == "tool" else events:
                if cut is not None and sent >= cut:
                    raise BrokenOffError("cut by a fault")
                yield event
                sent += _weight(event)
                await self._keep_pace(began, sent)

    async def embed(self, request: EmbedRequest) -> tuple[Sequence[Sequence[float]], int]:
        await self.before()
        return await self.inner.embed(request)

    async def _keep_pace(self, began: float, sent: int) -> None:
        rate = self.fault.tokens_per_second
        ahead = began + sent / rate - self.clock() if rate else 0.0
        if ahead > 0:
            await self.sleep(ahead)

    def check_whole(self, result: dict[str, Any]) -> None:
        """Raises SpoiledError when a whole answer must not arrive whole."""
        if self.fault.broken == "json":
            raise SpoiledError(result, "json")
        if self.fault.cut_after is not None:
            raise SpoiledError(result, "cut")

    async def events_on_the_wire(self, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Server-sent events, one of which is no JSON if the fault says so."""
        at = 0
        async for event in events:
            broken = self.fault.broken == "json" and at == _BROKEN_EVENT
            yield event[: len(event) // 2].rstrip(b"\n") + b"\n\n" if broken else event
            at += 1


async def _declining(request: ChatRequest) -> AsyncGenerator[Event, None]:
    prompt = sum(tokens.PER_MESSAGE + tokens.count(each.text) for each in request.messages)
    for piece in tokens.pieces(_DECLINED):
        yield Text(piece)
    yield Finish("content_filter", Usage(prompt=prompt, completion=tokens.count(_DECLINED)))


async def _tools_broken(events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """Each call keeps the beginning of its arguments, which is no JSON."""
    begun: set[int] = set()
    async for event in events:
        if not isinstance(event, ToolArguments):
            yield event
        elif event.index not in begun:
            begun.add(event.index)
            yield ToolArguments(event.index, event.text[:-1])


def _weight(event: Event) -> int:
    return tokens.count(event.text) if isinstance(event, Text | Reasoning | ToolArguments) else 0
