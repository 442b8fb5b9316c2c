"""HTTP to Cloudflare's API: one call at a time, retried where a retry can help, errors as ApiFault."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sluiceway.engine.provider import retries
from sluiceway.engine.provider.faults import MAYBE_GONE, MAYBE_MADE, ApiFault
from sluiceway.engine.provider.values import Value

if TYPE_CHECKING:
    import httpx

TIMEOUT = 60.0
_TITLE = re.compile(r"<title>(?:\d+\s*)?(.*?)</title>", re.IGNORECASE | re.DOTALL)

_LATER = "run it again in a while; what was made is kept"
_SILENT = "is the local stage running? `sluiceway local start`"
_BROKEN_OFF = "`sluiceway local status` tells how the local stage is, and with which faults; then run it again"

Sleep = Callable[[float], Awaitable[None]]
Made = Callable[[float], Awaitable[Value]]
"""Looks whether a call has done what it was to do; gets the seconds since it was first made. Its result, or None."""


def loopback(url: str) -> bool:
    """Whether ``url`` can only reach this machine."""
    host = (urlsplit(url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Request:
    """One call below the API's base URL. ``path`` begins with a slash and is already percent-encoded."""

    method: str
    path: str
    json: Value = None
    files: Mapping[str, Value] | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class _Failed:
    fault: ApiFault
    verdict: retries.Verdict


class Client:
    """Calls as one token. ``sleep`` takes seconds, ``clock`` tells them; ``chance`` is from 0 to 1; ``http`` is given
    in tests."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.token = token
        self.here = loopback(base_url)
        self._sleep = sleep
        self._clock = clock
        self._chance = chance
        self._http = http

    async def call(self, request: Request, made: Made | None = None) -> Value:
        """The ``result`` of Cloudflare's envelope; raises ApiFault.

        ``made`` is asked before a call is made again that may have been carried out; what it finds is the result.
        """
        response = await self._exchange(request, made)
        return response.value if isinstance(response, _Found) else _result(request, response)

    async def send(self, request: Request) -> httpx.Response:
        """The answer as it came, with status below 400; raises ApiFault."""
        response = await self._exchange(request, None)
        assert not isinstance(response, _Found)
        return response

    async def _exchange(self, request: Request, made: Made | None) -> httpx.Response | _Found:
        began, attempt = self._clock(), 0
        while True:
            outcome = await self._once(request, attempt)
            if not isinstance(outcome, _Failed):
                return outcome
            wait = outcome.verdict.wait
            if wait is not None:
                await self._sleep(wait)
            if made and outcome.verdict.unsure:
                found = await _look(made, self._clock() - began, outcome.fault)
                if found is not None:
                    return _Found(found)
            if wait is None:
                raise outcome.fault
            attempt += 1

    async def _once(self, request: Request, attempt: int) -> httpx.Response | _Failed:
        import httpx

        try:
            response = await self._http_client().request(
                request.method,
                f"{self.base_url}{request.path}",
                json=request.json,
                files=request.files,
                params=request.params or None,
                headers={"X-Stainless-Retry-Count": str(attempt), **request.headers},
            )
        except httpx.TransportError as error:
            verdict = retries.of_silence(error, attempt, self._chance(), here=self.here)
            return _Failed(self._unreachable(request, error, attempt), verdict)
        if response.status_code < 400:
            return response
        verdict = retries.of_answer(response.status_code, response.headers, attempt, self._chance())
        return _Failed(_fault(request, response, attempt), verdict)

    def _http_client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            self._http = httpx.AsyncClient(
                timeout=TIMEOUT,
                # A proxy set for the outside world must not see, nor break, calls to this machine.
                trust_env=not self.here,
                headers={"authorization": f"Bearer {self.token}"},
            )
        return self._http

    def _unreachable(self, request: Request, error: httpx.TransportError, attempt: int) -> ApiFault:
        import httpx

        hint = (_SILENT if isinstance(error, httpx.ConnectError) else _BROKEN_OFF) if self.here else _LATER
        text = f"{self.base_url}: {str(error) or type(error).__name__}"
        return ApiFault(request.label, 0, 0, text + _tried(attempt), hint)

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()


@dataclass(frozen=True)
class _Found:
    value: Value


async def _look(made: Made, since: float, fault: ApiFault) -> Value:
    try:
        return await made(since)
    except ApiFault:
        # Sent again without knowing, a thing might be made twice.
        hint = MAYBE_GONE if fault.call.startswith("DELETE ") else MAYBE_MADE
        raise ApiFault(fault.call, fault.status, fault.code, fault.text, hint) from None


def _tried(attempt: int) -> str:
    return f" (tried {attempt + 1} times)" if attempt else ""


def _document(response: httpx.Response) -> Value:
    try:
        return response.json()
    except ValueError:
        return None


def _result(request: Request, response: httpx.Response) -> Value:
    document = _document(response)
    if isinstance(document, dict) and "success" in document:
        if not document["success"]:
            raise _fault(request, response, 0)
        return document.get("result")
    return document


def _fault(request: Request, response: httpx.Response, attempt: int) -> ApiFault:
    document = _document(response)
    errors = document.get("errors") if isinstance(document, dict) else None
    found = [error for error in errors or [] if isinstance(error, dict)]
    code, text = 0, _plain(response.text)
    if found:
        code, text = int(found[0].get("code") or 0), "; ".join(str(error.get("message", "")) for error in found)
    asked = retries.asked_too_much(response.headers)
    hint = f"Cloudflare asks to be left alone for {asked:.0f} s: run it again after that" if asked else None
    return ApiFault(request.label, response.status_code, code, text + _tried(attempt), hint)


def _plain(text: str) -> str:
    """An answer that isn't JSON, short; of a page, its title."""
    title = _TITLE.search(text)
    return (title.group(1) if title else text[:300]).strip() or "no message"
