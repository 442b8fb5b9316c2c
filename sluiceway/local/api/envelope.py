"""The envelope around every answer of the v4 API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from starlette.responses import Response

from sluiceway.local.store import Json


def _answer(status: int, body: Mapping[str, Json]) -> Response:
    # Not JSONResponse: non-ASCII text must stay readable in logs and diffs.
    return Response(json.dumps(body, ensure_ascii=False), status, media_type="application/json")


def ok(result: Json, status: int = 200, info: Mapping[str, Json] | None = None) -> Response:
    """``result`` with ``success: true``; ``info`` becomes ``result_info``."""
    body: dict[str, Json] = {"result": result, "success": True, "errors": [], "messages": []}
    if info is not None:
        body["result_info"] = dict(info)
    return _answer(status, body)


def fail(status: int, code: int, message: str) -> Response:
    return _answer(
        status, {"result": None, "success": False, "errors": [{"code": code, "message": message}], "messages": []}
    )


def page(items: Sequence[Json], number: int, size: int) -> Response:
    """One page of a list, with the counts that V4 pagination reads."""
    start = (number - 1) * size
    shown = list(items[start : start + size])
    return ok(
        shown,
        info={
            "page": number,
            "per_page": size,
            "count": len(shown),
            "total_count": len(items),
            "total_pages": max(1, -(-len(items) // size)),
        },
    )
