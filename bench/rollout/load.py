"""So many people a second, each of them new, who ask one model until it has been rolled back and everybody knows."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from sluiceway.errors import SluicewayError
from tests.e2e.checkout import Checkout

LOOK_S = 0.25
PATIENCE_S = 30.0
AFTER_S = 3.0
"""For so long people go on asking after the verdict, to see who still gets the candidate."""
_TOOL = {
    "type": "function",
    "function": {
        "name": "level",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}
_people = itertools.count(1)


@dataclass(frozen=True)
class Asked:
    """One request as its client saw it: milliseconds since the epoch; ``status`` 0 where no answer came."""

    at: float
    ended: float
    candidate: bool
    status: int


@dataclass(frozen=True)
class Gateway:
    """Where the stage answers, and the keys of a caller and of who runs it."""

    url: str
    key: str
    admin_key: str


def bring_up(checkout: Checkout) -> Gateway:
    """Brings the checkout's local stage up as its files say."""
    up = checkout.sluiceway("up", "local")
    if up.code:
        raise SluicewayError(f"the stage did not come up: {up.err[-1000:]}")
    local = checkout.root / ".sluiceway/local"
    key, admin_key = ((local / name).read_text().strip() for name in ("api-key", "admin-key"))
    return Gateway(checkout.sluiceway("output", "local", "url").out.strip(), key, admin_key)


@dataclass
class Crowd:
    """The clients of one run: ``rate`` more each second. ``tools``: half of them want a tool called."""

    gateway: Gateway
    client: httpx.AsyncClient
    model: str
    rate: float
    tools: bool
    asked: list[Asked] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def until_rolled_back(self, most_s: float) -> dict[str, Any] | None:
        """Asks until the journal has the verdict and a little longer; that entry, or None after ``most_s`` seconds."""
        entry: dict[str, Any] | None = None
        looking = asyncio.create_task(self._verdict(most_s))
        async for now in _beats(1 / self.rate):
            if looking.done():
                entry = looking.result()
                if entry is None or now * 1000 > entry["at"] + AFTER_S * 1000:
                    break
            self._one_more()
        await asyncio.gather(*self._tasks)
        return entry

    async def until(self, over: asyncio.Event) -> None:
        """Asks until ``over`` is set, and waits for what is still to be answered."""
        async for _ in _beats(1 / self.rate):
            if over.is_set():
                break
            self._one_more()
        await asyncio.gather(*self._tasks)

    def _one_more(self) -> None:
        task = asyncio.create_task(self._ask(next(_people)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def leave(self) -> None:
        """Nobody waits for an answer any longer."""
        for task in (left := list(self._tasks)):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _ask(self, person: int) -> None:
        text = f"How deep is the water at lock {person}?"
        body: dict[str, Any] = {"model": self.model, "user": f"person-{person}"}
        body["messages"] = [{"role": "user", "content": text}]
        if self.tools and person % 2:
            body |= {"tools": [_TOOL], "tool_choice": "required"}
        headers = {"authorization": f"Bearer {self.gateway.key}"}
        began = time.time() * 1000
        try:
            url = f"{self.gateway.url}/v1/chat/completions"
            answer = await self.client.post(url, json=body, headers=headers)
            candidate = answer.headers.get("x-sluiceway-variant") == "candidate"
            self.asked.append(Asked(began, time.time() * 1000, candidate, answer.status_code))
        except httpx.HTTPError:
            self.asked.append(Asked(began, time.time() * 1000, False, 0))

    async def _verdict(self, most_s: float) -> dict[str, Any] | None:
        began = time.time()
        while time.time() < began + most_s:
            entries: list[dict[str, Any]] = []
            # A stage that is too busy for a look is looked at again.
            with suppress(httpx.HTTPError):
                entries = await journal(self.gateway, self.client, self.model)
            ends = [each for each in entries if each["kind"] == "rolled-back" and each["at"] >= began * 1000]
            if ends:
                return ends[-1]
            await asyncio.sleep(LOOK_S)
        return None


async def journal(gateway: Gateway, client: httpx.AsyncClient, model: str) -> list[dict[str, Any]]:
    """What happened to the model, oldest first."""
    headers = {"authorization": f"Bearer {gateway.admin_key}"}
    url = f"{gateway.url}/_sluiceway/rollouts/journal?model={model}&limit=500"
    entries: list[dict[str, Any]] = (await client.get(url, headers=headers)).raise_for_status().json()["entries"]
    return entries


async def settle(gateway: Gateway, client: httpx.AsyncClient, pinned: str) -> None:
    """Until the version answers for itself again: after many failures the gateway doesn't ask it for a while."""
    headers = {"authorization": f"Bearer {gateway.key}"}
    well = 0
    for _ in range(300):
        body = {"model": pinned, "messages": [{"role": "user", "content": f"Is lock {next(_people)} open?"}]}
        answer = await client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers)
        own = answer.status_code == 200 and "x-sluiceway-fallback" not in answer.headers
        well = well + 1 if own else 0
        if well == 10:
            return
        await asyncio.sleep(0 if own else 0.5)
    raise TimeoutError(f"{pinned} does not answer for itself again")


async def _beats(gap_s: float) -> AsyncIterator[float]:
    """The time at each beat; what was missed is made up for, so that the rate holds."""
    began = time.monotonic()
    for beat in itertools.count():
        await asyncio.sleep(max(0.0, began + beat * gap_s - time.monotonic()))
        yield time.time()
