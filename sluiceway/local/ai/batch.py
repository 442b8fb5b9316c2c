"""Workers AI's asynchronous batches: queued with ``queueRequest``, asked for again by request id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from sluiceway.local.ai import answer
from sluiceway.local.ai.calls import Call
from sluiceway.local.ai.errors import AiError, bad_input
from sluiceway.local.ai.models import find
from sluiceway.local.ai.stage import AiStage
from sluiceway.local.faults.engine import DroppedError, SpoiledError

_KEPT = 100


@dataclass
class Batch:
    """One queued batch; ``responses`` fill in order while it runs."""

    model: str
    size: int
    responses: list[dict[str, Any]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


def is_batch(body: Mapping[str, Any]) -> bool:
    return "requests" in body or set(body) == {"request_id"}


async def run(stage: AiStage, http: Request, call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Queues ``{"requests": [...]}`` or tells how far ``{"request_id": id}`` has come."""
    model = find(call.model)
    if "request_id" in body:
        call.close("ok")
        return _told(stage, str(body["request_id"]))
    requests = body["requests"]
    if not model.batch:
        raise bad_input(f"{model.id} takes no batches")
    if not isinstance(requests, list) or not requests or not all(isinstance(each, dict) for each in requests):
        raise bad_input("'/requests' must be a list of objects with at least one entry")
    request_id = stage.new_id()
    batch = Batch(model.id, len(requests))
    stage.batches[request_id] = batch
    while len(stage.batches) > _KEPT:
        stage.batches.pop(next(iter(stage.batches)))
    batch.task = asyncio.create_task(_work(stage, batch, requests))
    call.close("ok")
    return {"status": "queued", "request_id": request_id, "model": model.id}


async def _work(stage: AiStage, batch: Batch, requests: list[dict[str, Any]]) -> None:
    for at, body in enumerate(requests):
        inner = {key: value for key, value in body.items() if key not in ("external_reference", "stream")}
        call = stage.calls.open("batch", batch.model, inner, {}, {})
        entry: dict[str, Any] = {"id": at, "external_reference": body.get("external_reference")}
        try:
            entry |= {"success": True, "result": await answer.run(stage, _Nobody(), call, inner)}
        except AiError as error:
            entry |= {"success": False, "error": error.for_binding()}
        except (DroppedError, SpoiledError):
            entry |= {"success": False, "error": AiError(3043).for_binding()}
        batch.responses.append(entry)


def _told(stage: AiStage, request_id: str) -> dict[str, Any]:
    batch = stage.batches.get(request_id)
    if batch is None:
        raise bad_input(f"there is no request {request_id}")
    if len(batch.responses) < batch.size:
        return {"status": "running" if batch.responses else "queued", "request_id": request_id}
    return {"responses": batch.responses, "usage": {"requests": batch.size}}


class _Nobody(Request):
    """A caller that never leaves: a batch runs on when the one who queued it is gone."""

    def __init__(self) -> None:
        super().__init__({"type": "http", "headers": []}, self._silence)

    async def _silence(self) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}
