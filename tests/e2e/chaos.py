"""Clients that take note of how each of their requests ended."""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PATIENCE = 60  # seconds: longer than every timeout and retry of the stage
QUESTIONS = ("How do sluices work?", "水闸是怎么工作的?", "#count 30", "#tool", "Write a haiku on locks.")
TOOLS = [{"type": "function", "function": {"name": "level", "parameters": {"type": "object", "properties": {}}}}]


@dataclass
class Tally:
    """How requests ended, by kind; ``ids`` of those that were answered at all; ``bad``: those that were lost."""

    ends: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    bad: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, end: str, request_id: str | None, fault: str | None = None) -> None:
        with self.lock:
            self.ends[end] += 1
            if request_id:
                self.ids.add(request_id)
            if fault:
                self.bad.append(f"{end}: {fault}")


@dataclass(frozen=True)
class Client:
    """One caller, which asks again as soon as it was answered, until ``enough`` is set.

    After a refusal it breathes first, as the official clients do: a gateway that refuses in a millisecond would be
    asked more often than the log keeps lines for."""

    url: str
    key: str
    number: int
    enough: threading.Event
    tally: Tally

    def run(self) -> None:
        chance = random.Random(self.number)
        while not self.enough.is_set():
            kind = chance.choice(("whole", "whole", "stream", "stream", "simple", "leave"))
            try:
                if self._ask(kind, chance).startswith("error 5"):
                    self.enough.wait(0.1)
            except Exception as error:
                # Whatever a client was left with is what is counted.
                self.tally.note(kind, None, f"{type(error).__name__}: {error}")

    def _ask(self, kind: str, chance: random.Random) -> str:
        question = chance.choice(QUESTIONS)
        body: dict[str, object]
        if kind == "simple":
            path, body = "/", {"prompt": question}
        else:
            messages = [{"role": "user", "content": question}]
            path, body = "/v1/chat/completions", {"model": "chat", "messages": messages, "max_tokens": 200}
            body |= {"user": f"user-{chance.randrange(500)}", **({"tools": TOOLS} if question == "#tool" else {})}
        if kind in ("stream", "leave"):
            body["stream"] = True
        url = urlsplit(self.url)
        with closing(http.client.HTTPConnection(url.hostname or "", url.port, timeout=PATIENCE)) as connection:
            headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            request_id = answer.headers["x-request-id"]
            if kind == "leave" and answer.status == 200:
                answer.read(40)
                self.tally.note("left", request_id)
                return "left"
            text = answer.read().decode()
        end, fault = judge(answer.status, answer.headers.get("content-type", ""), text)
        self.tally.note(end, request_id, fault)
        return end


def judge(status: int, kind: str, text: str) -> tuple[str, str | None]:
    """How a request ended, and what is wrong with that: None when it is an answer, or an error told as one."""
    if kind.startswith("text/event-stream"):
        return _judge_stream(text)
    try:
        document = json.loads(text)
    except ValueError:
        return "lost", f"{status} with {text[:200]!r}"
    if status != 200:
        error = document.get("error", {})
        told = error.get("code") and error.get("message") and error.get("request_id")
        ours = error.get("code") == "internal_error"
        return f"error {status}", None if told and not ours else f"{status} with {text[:200]!r}"
    if "response" in document:
        return "answer", None if document["response"]["text"] else "an empty answer"
    finish = document["choices"][0]["finish_reason"]
    return "answer", None if finish in ("stop", "length", "tool_calls", "content_filter") else f"finish {finish!r}"


def _judge_stream(text: str) -> tuple[str, str | None]:
    events = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
    if not text.endswith("\n\n") or not events:
        return "lost", f"a stream that stops: {text[-200:]!r}"
    if events[-1] == "[DONE]":
        chunks = [json.loads(event) for event in events[:-1]]
        finished = any(choice["finish_reason"] for chunk in chunks for choice in chunk["choices"])
        return "answer", None if finished and events.count("[DONE]") == 1 else f"no end in {text[-300:]!r}"
    error = json.loads(events[-1]).get("error", {})
    stops = any('"finish_reason":"stop"' in event for event in events)
    return "error in stream", None if error.get("code") and not stops else f"cut without a word: {text[-300:]!r}"
