"""Queues and their consumers."""

from __future__ import annotations

import re

from starlette.responses import Response

from sluiceway.local.api import envelope, shapes
from sluiceway.local.api.errors import ApiError
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.workers import state
from sluiceway.local.store import Doc, Json, Records

_BASE = f"{ACCOUNT}/queues"
_QUEUE = f"{_BASE}/{{queue}}"
_NAME = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
_SETTINGS = {"delivery_delay": (0, 43_200), "message_retention_period": (60, 1_209_600)}
_DEFAULTS = {"delivery_delay": 0, "delivery_paused": False, "message_retention_period": 345_600}


async def listing(call: Call) -> Response:
    name = call.query("name")
    found = [queue for queue in call.state.all("queue") if not name or queue["queue_name"] == name]
    return call.paged([_view(call.state, queue) for queue in found], size=100)


async def get(call: Call) -> Response:
    return envelope.ok(_view(call.state, _require(call.state, call.param("queue"))))


async def create(call: Call) -> Response:
    body = await call.object(shapes.Queue)
    name, settings = _name(body), _settings(body, _DEFAULTS)

    def apply(records: Records) -> Doc:
        _check_free(records, name)
        now = call.config.stamp()
        queue: Doc = {
            "queue_id": call.config.hex_id(),
            "queue_name": name,
            "created_on": now,
            "modified_on": now,
            "settings": settings,
        }
        if body.get("jurisdiction"):
            queue["jurisdiction"] = body["jurisdiction"]
        records.put("queue", queue["queue_id"], queue)
        return _view(records, queue)

    return envelope.ok(await call.control.change(apply))


async def update(call: Call) -> Response:
    body = await call.object(shapes.Queue)

    def apply(records: Records) -> Doc:
        queue = _require(records, call.param("queue"))
        name = _name(body) if "queue_name" in body else queue["queue_name"]
        if name != queue["queue_name"]:
            _check_free(records, name)
        base = queue["settings"] if call.request.method == "PATCH" else _DEFAULTS
        changed = {
            **queue,
            "queue_name": name,
            "settings": _settings(body, base),
            "modified_on": call.config.stamp(),
        }
        records.put("queue", queue["queue_id"], changed)
        return _view(records, changed)

    return envelope.ok(await call.control.change(apply))


async def delete(call: Call) -> Response:
    def apply(records: Records) -> None:
        queue = _require(records, call.param("queue"))
        records.delete_scope("consumer", queue["queue_id"])
        records.delete("queue", queue["queue_id"])

    await call.control.change(apply)
    return envelope.ok(None)


async def list_consumers(call: Call) -> Response:
    queue = _require(call.state, call.param("queue"))
    return envelope.ok(call.state.all("consumer", queue["queue_id"]))


async def get_consumer(call: Call) -> Response:
    return envelope.ok(_consumer(call.state, call.param("queue"), call.param("consumer")))


async def create_consumer(call: Call) -> Response:
    body = await call.object(shapes.Queue)

    def apply(records: Records) -> Doc:
        queue = _require(records, call.param("queue"))
        if records.all("consumer", queue["queue_id"]):
            raise ApiError(409, 11004, f"Queue '{queue['queue_name']}' already has a consumer.")
        return _write_consumer(records, call, queue, body, None)

    return envelope.ok(await call.control.change(apply))


async def update_consumer(call: Call) -> Response:
    body = await call.object(shapes.Queue)

    def apply(records: Records) -> Doc:
        old = _consumer(records, call.param("queue"), call.param("consumer"))
        return _write_consumer(records, call, _require(records, call.param("queue")), body, old)

    return envelope.ok(await call.control.change(apply))


async def delete_consumer(call: Call) -> Response:
    def apply(records: Records) -> None:
        found = _consumer(records, call.param("queue"), call.param("consumer"))
        records.delete("consumer", found["consumer_id"], found["queue_id"])

    await call.control.change(apply)
    return envelope.ok(None)


def _write_consumer(records: Records, call: Call, queue: Doc, body: Doc, old: Doc | None) -> Doc:
    type_ = body.get("type") or (old or {}).get("type") or "worker"
    consumer: Doc = {
        "consumer_id": old["consumer_id"] if old else call.config.hex_id(),
        "queue_id": queue["queue_id"],
        "queue_name": queue["queue_name"],
        "type": type_,
        "settings": body.get("settings") or {},
        "created_on": old["created_on"] if old else call.config.stamp(),
    }
    if type_ == "worker":
        name = str(body.get("script_name") or body.get("script") or (old or {}).get("script_name") or "")
        worker = state.require(records, name)
        consumer |= {"script": worker["name"], "script_name": worker["name"], "service": worker["name"]}
    if body.get("dead_letter_queue"):
        consumer["dead_letter_queue"] = body["dead_letter_queue"]
    records.put("consumer", consumer["consumer_id"], consumer, queue["queue_id"])
    return consumer


def _view(records: Records, queue: Doc) -> Doc:
    consumers = records.all("consumer", queue["queue_id"])
    producers = [
        {"type": "worker", "script": worker["name"]}
        for worker in records.all("worker")
        if any(
            b["type"] == "queue" and b.get("queue_name") == queue["queue_name"]
            for version in state.deployed_versions(records, worker)
            for b in version["bindings"]
        )
    ]
    return {
        **queue,
        "consumers": consumers,
        "consumers_total_count": len(consumers),
        "producers": producers,
        "producers_total_count": len(producers),
    }


def _name(body: Doc) -> str:
    name = body.get("queue_name")
    if not isinstance(name, str) or not _NAME.match(name):
        raise ApiError(400, 11003, "Queue names must be 1 to 63 lowercase letters, digits and dashes.")
    return name


def _settings(body: Doc, base: Doc) -> Doc:
    given: Json = body.get("settings") or {}
    for key, (low, high) in _SETTINGS.items():
        value = given.get(key)
        if value is not None and (not isinstance(value, int | float) or not low <= value <= high):
            raise ApiError(400, 11003, f"{key} must be a number from {low} to {high}.")
    return {**base, **{key: value for key, value in given.items() if key in _DEFAULTS and value is not None}}


def _check_free(records: Records, name: str) -> None:
    if any(queue["queue_name"] == name for queue in records.all("queue")):
        raise ApiError(409, 11009, f"Queue name '{name}' is already taken. Please use a different name and try again.")


def _require(records: Records, key: str) -> Doc:
    queue = records.get("queue", key)
    if queue is None:
        raise ApiError(404, 11000, "Queue does not exist.")
    return queue


def _consumer(records: Records, queue: str, key: str) -> Doc:
    found = records.get("consumer", key, _require(records, queue)["queue_id"])
    if found is None:
        raise ApiError(404, 11001, "Queue consumer does not exist.")
    return found


ROUTES: Table = (
    ("GET", _BASE, listing),
    ("POST", _BASE, create),
    ("GET", _QUEUE, get),
    ("PUT PATCH", _QUEUE, update),
    ("DELETE", _QUEUE, delete),
    ("GET", f"{_QUEUE}/consumers", list_consumers),
    ("POST", f"{_QUEUE}/consumers", create_consumer),
    ("GET", f"{_QUEUE}/consumers/{{consumer}}", get_consumer),
    ("PUT", f"{_QUEUE}/consumers/{{consumer}}", update_consumer),
    ("DELETE", f"{_QUEUE}/consumers/{{consumer}}", delete_consumer),
)
