"""JSON on the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response


def encode(value: object) -> bytes:
    """Compact JSON in UTF-8. Half a surrogate pair, which JSON can spell and UTF-8 can't, stays spelled out."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer. The AI binding parses a body only if its type is this text exactly, with no charset behind it."""
    return Response(encode(value), status, {**(headers or {}), "content-type": "application/json"})


def enveloped(result: object, info: Mapping[str, object] | None = None) -> Response:
    """A result in the envelope of Cloudflare's API."""
    body: dict[str, object] = {"result": result, "success": True, "errors": [], "messages": []}
    return answer({**body, "result_info": dict(info)} if info else body)
