"""Tail documents as the platform tells them, for tests."""

from __future__ import annotations

import json
from typing import Any

AT = 1_796_046_300.0
WORKER = "gateway"


def line(**changes: object) -> dict[str, object]:
    """A log line of the gateway's for one good request."""
    made: dict[str, object] = {
        "event": "request", "level": "info", "id": "req-0001", "key_id": "0123456789ab", "team": None,
        "method": "POST", "path": "/v1/chat/completions", "status": 200, "model": "chat", "version": 1,
        "variant": "stable", "release": "r-0123456789ab", "stream": True, "cache": "miss", "prompt_tokens": 7,
        "completion_tokens": 40, "cost_usd": 0.000016, "ttft_ms": 120, "total_ms": 980, "fallback": None,
        "fallback_reason": None, "degraded": None, "retries": 0, "guard": [], "error": None,
    }  # fmt: skip
    return {**made, **changes}


def document(*lines: object, at: float = AT, **changes: object) -> dict[str, Any]:
    """One tail document, in which each of ``lines`` is a log: an object as JSON, a text as it is."""
    logs = [
        {"level": "log", "message": [text if isinstance(text, str) else json.dumps(text)], "timestamp": at * 1000}
        for text in lines
    ]
    made = {"kind": "tail", "script": WORKER, "outcome": "ok", "timestamp": at * 1000, "logs": logs, "exceptions": []}
    return {**made, **changes}
