"""HTTP to Cloudflare's API: one call at a time, retried where a retry can help, errors as ApiFault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sluiceway.engine.provider.faults import ApiFault
from sluiceway.engine.provider.values import Value

if TYPE_CHECKING:
    import httpx

DELAYS = (0.5, 1.0, 2.0)
"""Seconds before each retry of a 429 or 5xx; the official provider waits about as long."""
LONGEST_WAIT = 30.0
TIMEOUT = 60.0

Sleep = Callable[[float], Awaitable[None]]


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


class Client:
    """Calls as one token. ``sleep`` takes seconds; ``http`` is given in tests."""

    def __init__(
        self, base_url: str, token: str, *, sleep: Sleep = asyncio.sleep, http: httpx.AsyncClient | None = None
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.token = token
        self._sleep = sleep
        self._http = http

    async def call(self, request: Request) -> Value:
        """The ``result`` of Cloudflare's envelope; raises ApiFault."""
        response = await self.send(request)
        document = _document(response)
        if isinstance(document, dict) and "success" in document:
            if not document["success"]:
                raise _fault(request, response)
            return document.get("result")
        return document

    async def send(self, request: Request) -> httpx.Response:
        """The answer as it came, with status below 400; raises ApiFault."""
        import httpx

        attempt = 0
        while True:
            try:
                response = await self._once(request, attempt)
            except httpx.TransportError as error:
                if attempt >= self._tries_without_answer(error):
                    raise self._unreachable(request, error) from None
                await self._sleep(DELAYS[attempt])
                attempt += 1
                continue
            if response.status_code < 400:
                return response
            if attempt >= len(DELAYS) or not (response.status_code == 429 or response.status_code >= 500):
                raise _fault(request, response)
            await self._sleep(_wait(response, attempt))
            attempt += 1

    async def _once(self, request: Request, attempt: int) -> httpx.Response:
        return await self._client().request(
            request.method,
            f"{self.base_url}{request.path}",
            json=request.json,
            files=request.files,
            params=request.params or None,
            headers={"X-Stainless-Retry-Count": str(attempt), **request.headers},
        )

    def _client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            self._http = httpx.AsyncClient(
                timeout=TIMEOUT,
                # A proxy set for the outside world must not see, nor break, calls to this machine.
                trust_env=not loopback(self.base_url),
                headers={"authorization": f"Bearer {self.token}"},
            )
        return self._http

    def _tries_without_answer(self, error: httpx.TransportError) -> int:
        import httpx

        # Nobody listens on a port of this machine: waiting longer won't change that.
        return 1 if loopback(self.base_url) and isinstance(error, httpx.ConnectError) else len(DELAYS)

    def _unreachable(self, request: Request, error: httpx.TransportError) -> ApiFault:
        hint = "is the local stage running? `sluiceway local start`" if loopback(self.base_url) else None
        return ApiFault(request.label, 0, 0, f"{self.base_url}: {str(error) or type(error).__name__}", hint)

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()


def _wait(response: httpx.Response, attempt: int) -> float:
    asked = response.headers.get("retry-after", "")
    return min(float(asked), LONGEST_WAIT) if asked.isdigit() else DELAYS[attempt]


def _document(response: httpx.Response) -> Value:
    try:
        return response.json()
    except ValueError:
        return None


def _fault(request: Request, response: httpx.Response) -> ApiFault:
    document = _document(response)
    errors = document.get("errors") if isinstance(document, dict) else None
    found = [error for error in errors or [] if isinstance(error, dict)]
    if not found:
        return ApiFault(request.label, response.status_code, 0, response.text[:300].strip() or "no message")
    text = "; ".join(str(error.get("message", "")) for error in found)
    return ApiFault(request.label, response.status_code, int(found[0].get("code") or 0), text)
