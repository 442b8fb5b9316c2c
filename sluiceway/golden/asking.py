"""Asks the versions of a stage, through its gateway, as politely as any caller: it waits when it is told to.

Every request pins its version, passes by the cache and takes no stand-in: an answer is that version's, or none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from sluiceway.domain.base_url import check_base_url
from sluiceway.domain.fault import Fault
from sluiceway.errors import SluicewayError, UserError

TRIES: Final = 4
"""Of a request that fails; one that meets a limit waits for its turn up to so many times:"""
TURNS: Final = 8
_LONGEST_WAIT: Final = 60.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_TIMEOUT: Final = httpx.Timeout(240.0, connect=15.0)
_HEADERS: Final = {"x-sluiceway-cache": "bypass", "x-sluiceway-fallback": "none"}
_OWN_LIMITS: Final = ("rate_limit_exceeded", "tokens_per_minute_exceeded", "budget_exceeded")
# What the gateway says of itself, of a provider's limits, or of the prompt whoever answers: nothing of how well a
# version answers.
_NOT_ITS_OWN: Final = (
    *("upstream_rate_limited", "upstream_out_of_capacity", "upstream_quota_exceeded"),
    *("internal_error", "access_unavailable", "budget_unavailable", "conversation_unavailable"),
    *("prompt_injection", "string_above_max_length", "request_too_large"),
)

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Answer:
    """``text``: what the version said. None: it said nothing, for the reason ``failure``, which is the gateway's own
    or lies in the prompt when ``neutral``."""

    text: str | None
    failure: str | None = None
    neutral: bool = False


class Gateway:
    """The chat endpoint at ``url``; ``key`` is a caller's, None where none is asked for.

    ``chance`` gives numbers in [0, 1), for the pauses before another try. To be used in one ``async with``.
    """

    def __init__(
        self, url: str, key: str | None, *, chance: Callable[[], float], sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic, transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._url = checked_url(url)
        if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
            raise UserError("the key can't travel in a header", path="API_KEY", hint="printable ASCII on one line")
        parts = urlsplit(self._url)
        self._chance, self._sleep, self._clock = chance, sleep, clock
        self._not_before = 0.0
        self._http = httpx.AsyncClient(
            headers={**_HEADERS, **({"authorization": f"Bearer {key}"} if key else {})},
            timeout=_TIMEOUT,
            transport=transport,
            # A proxy of the person's can't reach this machine, and must not see the key.
            trust_env=parts.scheme == "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"),
            follow_redirects=False,
        )

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(
        self, model: str, messages: Sequence[Mapping[str, str]], options: Mapping[str, Any], *, pinned: bool = True
    ) -> Answer:
        """One answer of ``model``, after a bounded number of tries.

        Raises UserError for what no try will mend (a key that is refused, a version that isn't served),
        SluicewayError when the gateway can't be reached or a limit of the key's holds.
        """
        body = {"model": model, "messages": list(messages), **options}
        failed = limited = 0
        while True:
            await self._wait_for_turn()
            try:
                response = await self._http.post(f"{self._url}/v1/chat/completions", json=body)
            except httpx.TransportError as fault:
                failed += 1
                if failed == TRIES:
                    raise self._unreachable(fault) from fault
                await self._sleep(self._pause(failed))
                continue
            if response.is_success:
                return _said(response, model if pinned else None)
            limit = response.status_code == 429
            failed, limited = failed + (not limit), limited + limit
            pause = self._again(response, limited if limit else failed, TURNS if limit else TRIES)
            if pause is None:
                return self._refused(response.status_code, *_error(response), model)
            if limit:
                self._not_before = max(self._not_before, self._clock() + pause)  # all of us wait
            else:
                await self._sleep(pause)

    async def _wait_for_turn(self) -> None:
        while (wait := self._not_before - self._clock()) > 0:
            await self._sleep(wait)

    def _again(self, response: httpx.Response, done: int, most: int) -> float | None:
        """Seconds until another try; None when there is to be none."""
        said = response.headers.get("x-should-retry")
        worth = response.status_code in (429, 500, 502, 503, 504) or said == "true"
        if not worth or done >= most or said == "false":
            return None
        told = _seconds(response.headers.get("retry-after"))
        if told is None:
            return self._pause(done)
        return told if told <= _LONGEST_WAIT else None

    def _pause(self, done: int) -> float:
        """Half a second that doubles with each try, and by chance up to as much again."""
        return min(_LONGEST_PAUSE, float(_FIRST_PAUSE * 2 ** (done - 1)) * (1 + self._chance()))

    def _refused(self, status: int, code: str, message: str, model: str) -> Answer:
        if code in _OWN_LIMITS:
            hint = "ask fewer at once (--parallel), or give the key a larger limit; `sluiceway spend STAGE` shows money"
            raise SluicewayError(f"the stage lets this key ask no more: {message} ({code})", path=self._url, hint=hint)
        if status in (401, 403):
            hint = "the key must be one of the stage's that may use the model: set SLUICEWAY_SECRET_API_KEY"
            raise UserError(f"the gateway refuses the key: {message} ({code})", path=self._url, hint=hint)
        if status in (404, 405, 501) or code == "http_error":
            hint = "bring the stage up with that version first, or name the gateway's own URL with --url"
            raise UserError(f"{model} is not served there: {message} ({code})", path=self._url, hint=hint)
        return Answer(None, code, neutral=code in _NOT_ITS_OWN)

    def _unreachable(self, fault: httpx.TransportError) -> SluicewayError:
        hint = "see whether that URL can be reached from here, then try again"
        return SluicewayError(f"the gateway did not answer: {type(fault).__name__}", path=self._url, hint=hint)


def checked_url(url: str) -> str:
    """``url`` without slashes at its end; UserError when a key must not be sent there."""
    try:
        return check_base_url(url)
    except Fault:
        hint = "an https URL without user or query, or http on this machine"
        raise UserError("is no URL to send a key to", path="--url", hint=hint) from None


def _said(response: httpx.Response, version: str | None) -> Answer:
    answered = response.headers.get("x-sluiceway-model")
    if response.headers.get("x-sluiceway-degraded"):
        return Answer(None, "degraded")
    if version is not None and answered is not None and answered != version:
        return Answer(None, "answered_by_another")
    try:
        message = response.json()["choices"][0]["message"]
        content = message.get("content")
    except (ValueError, LookupError, TypeError, AttributeError):
        return Answer(None, "no_chat_completion")
    return Answer(content if isinstance(content, str) else "")


def _error(response: httpx.Response) -> tuple[str, str]:
    """Code and message of an error in OpenAI's shape; else ``http_error`` (below 500) or ``http_<status>``."""
    try:
        told = response.json()["error"]
        return str(told["code"]), str(told["message"]).rstrip(".")
    except (ValueError, LookupError, TypeError):
        status = response.status_code
        return "http_error" if status < 500 and status != 429 else f"http_{status}", f"HTTP {status}"


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isascii() and header.isdigit() else None
