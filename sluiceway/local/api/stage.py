"""``/_local``: what only the local stage has. Nothing here exists on the platform."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local import world
from sluiceway.local.api import envelope
from sluiceway.local.api.http import Call, Table
from sluiceway.local.api.workers import state
from sluiceway.local.store import Doc, Records

_MASK = "(secret)"


async def health(call: Call) -> Response:
    return envelope.ok({"data_plane": await call.control.host.health()})


async def get_main_worker(call: Call) -> Response:
    return envelope.ok({"name": _world(call)["main_worker"]})


async def put_main_worker(call: Call) -> Response:
    """Which Worker answers on the plain port; ``null`` brings back the first that was deployed."""
    name = (await call.object()).get("name")

    def apply(records: Records) -> Doc:
        value = state.require(records, str(name))["name"] if name else None
        records.put("setting", "main_worker", {"value": value})
        return {"name": value}

    return envelope.ok(await call.control.change(apply))


async def get_world(call: Call) -> Response:
    """What the data plane was told, without secret texts."""
    picture = _world(call)
    for worker in picture["workers"]:
        for version in worker["versions"]:
            version["bindings"] = [
                {**b, "text": _MASK} if b["type"] == "secret_text" else b for b in version["bindings"]
            ]
    return envelope.ok(picture)


def _world(call: Call) -> Doc:
    return world.build(call.state, call.config.modules, call.config.subdomain)


ROUTES: Table = (
    ("GET", "/_local/health", health),
    ("GET", "/_local/main_worker", get_main_worker),
    ("PUT", "/_local/main_worker", put_main_worker),
    ("GET", "/_local/world", get_world),
)
