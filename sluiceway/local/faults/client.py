"""The faults of a running local stage, asked over HTTP by whoever has its data directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from sluiceway.errors import SluicewayError, UserError
from sluiceway.local import lifecycle
from sluiceway.local.runtime_file import Runtime

_WITHIN = 10.0  # seconds


def add(data: Path, fault: Mapping[str, Any]) -> dict[str, Any]:
    """Adds one. Raises UserError for what is no fault, and when the stage does not run."""
    added: dict[str, Any] = _ask(data, "POST", "", fault)
    return added


def listed(data: Path) -> list[dict[str, Any]]:
    """All of them, in the order in which they are tried."""
    found: list[dict[str, Any]] = _ask(data, "GET")
    return found


def clear(data: Path, number: int | None = None) -> int:
    """Takes one off, or all; how many that were. UserError for a number that none has."""
    return int(_ask(data, "DELETE", "" if number is None else f"/{number}")["cleared"])


def _ask(data: Path, method: str, path: str = "", body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
    runtime = lifecycle.require_runtime(data)
    answer = _answer(data, runtime, method, path, body)
    if answer.is_success:
        return answer.json()["result"]
    try:
        (error,) = answer.json()["errors"]
        raise UserError(error["message"], path=error["path"], hint=error["hint"])
    except (ValueError, KeyError, TypeError):
        hint = "a stage that was started by older code has no faults: sluiceway local stop, start"
        raise SluicewayError(
            f"the local stage answered {answer.status_code}", path=runtime.api_url, hint=hint
        ) from None


def _answer(data: Path, runtime: Runtime, method: str, path: str, body: Mapping[str, Any] | None) -> httpx.Response:
    headers = {"authorization": f"Bearer {lifecycle.read_token(data)}"}
    try:
        with httpx.Client(trust_env=False, timeout=_WITHIN, headers=headers) as client:
            return client.request(method, f"{runtime.api_url}/_local/faults{path}", json=body)
    except httpx.HTTPError as error:
        said = str(error) or type(error).__name__
        hint = "`sluiceway local status` tells how it is"
        raise SluicewayError(f"the local stage does not answer: {said}", path=runtime.api_url, hint=hint) from error
