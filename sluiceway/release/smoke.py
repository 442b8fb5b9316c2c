"""Tries a worker version that has no traffic: Cloudflare sends it the requests that name it in a header.

The header is passed over in silence for a version that is not deployed (or not yet, for some seconds), so an answer
counts only when it says that it came from the version that was meant.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from sluiceway.release.world import WorkerVersion

OVERRIDE: Final = "Cloudflare-Workers-Version-Overrides"
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}
_SECONDS: Final = 15.0
_TRIES: Final = 10
_BETWEEN: Final = 2.0


@dataclass(frozen=True)
class Target:
    """Where the stage answers, with a key of its own; without ``key`` only the release is compared."""

    url: str
    worker: str
    key: str | None = None


def smoke(
    target: Target,
    new: WorkerVersion,
    *,
    transport: httpx.BaseTransport | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """None when ``new`` is ready to answer; else what is wrong, as a phrase.

    ``/readyz`` asks no model, so nothing is spent. It is asked again while another version answers.
    """
    local = urlsplit(target.url).hostname in _LOOPBACK
    with httpx.Client(transport=transport, timeout=_SECONDS, trust_env=not local) as client:
        said = "it was not tried"
        for number in range(_TRIES):
            if number:
                sleep(_BETWEEN)
            said = _once(client, target, new)
            if said == "":
                return None
        return said


def _once(client: httpx.Client, target: Target, new: WorkerVersion) -> str:
    """Empty when all is well."""
    headers = {OVERRIDE: f'{target.worker}="{new.id}"'}
    if target.key:
        headers["authorization"] = f"Bearer {target.key}"
    try:
        answer = client.get(f"{target.url}/readyz", headers=headers)
    except httpx.HTTPError as fault:
        return f"{target.url} did not answer: {type(fault).__name__}"
    body = _body(answer)
    version, release = body.get("worker_version"), answer.headers.get("x-sluiceway-release")
    if version is not None and version != new.id:
        return f"requests that name it are answered by {str(version)[:8]}"
    if new.release is not None and release != new.release:
        return f"it answers as release {release or 'none'}"
    if answer.status_code != 200:
        faults = ", ".join(str(fault) for fault in body.get("faults") or ())
        return f"/readyz answers {answer.status_code}{f': {faults}' if faults else ''}"
    if version is None and target.key:
        return "it takes no key of the stage, so which version answers is not told"
    return ""


def _body(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
