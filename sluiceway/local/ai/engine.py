"""What an engine is: something that turns a chat request into a series of events, and texts into vectors.

Whatever answers (the scripted engine, a server by URL), the shapes that clients see are made from the
same events in `shapes.py`, so that a streamed answer and a whole one can't differ.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sluiceway.local.ai.models import AiModel


@dataclass(frozen=True)
class Message:
    """One turn. ``text`` is its text parts joined; ``raw`` is the message as the client sent it."""

    role: str
    text: str
    images: int
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    name: str
    parameters: Mapping[str, Any]
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class ChatRequest:
    """A checked request. ``lora``: the adapter's name or id, as it was asked for, then its name. ``body`` is everything
    that the client sent, for engines that pass it on."""

    model: AiModel
    messages: tuple[Message, ...]
    max_tokens: int
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"  # auto, none, required, or the name of a tool
    parallel_tools: bool = True
    thinking: bool = False
    json_mode: bool = False
    schema: Mapping[str, Any] | None = None
    lora: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EmbedRequest:
    model: AiModel
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Reasoning:
    text: str


@dataclass(frozen=True)
class ToolCall:
    """The beginning of a call; its arguments follow as `ToolArguments` of the same ``index``."""

    index: int
    id: str
    name: str


@dataclass(frozen=True)
class ToolArguments:
    index: int
    text: str


@dataclass(frozen=True)
class Usage:
    """Tokens. ``completion`` includes ``reasoning``; ``prompt`` includes ``cached``."""

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning},
        }


@dataclass(frozen=True)
class Finish:
    """Always the last event. ``usage`` is None when a remote server told none."""

    reason: Literal["stop", "length", "tool_calls", "content_filter"]
    usage: Usage | None


Event = Text | Reasoning | ToolCall | ToolArguments | Finish


class Engine(Protocol):
    """Raises AiError; an error before the first event becomes the HTTP status of the answer."""

    def chat(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Event, None]: ...

    async def embed(self, request: EmbedRequest) -> tuple[Sequence[Sequence[float]], int]:
        """Vectors in the order of the texts, and the tokens read."""
        ...
