"""``/workers/workers``: the API that separates a Worker from its versions (what the Pulumi provider calls)."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local.api import envelope, errors, shapes
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.workers import state, versions, views
from sluiceway.local.api.workers.upload import from_json
from sluiceway.local.store import Doc, Records

_BASE = f"{ACCOUNT}/workers/workers"


async def create(call: Call) -> Response:
    body = await call.object(shapes.Settings)

    def apply(records: Records) -> Doc:
        worker = state.create(records, call.config, body.get("name"))
        state.configure(worker, body, whole=True)
        state.save(records, call.config, worker)
        return views.worker(records, call.config, worker)

    return envelope.ok(await call.control.change(apply))


async def listing(call: Call) -> Response:
    found = [views.worker(call.state, call.config, worker) for worker in call.state.all("worker")]
    return call.paged(found, size=10)


async def get(call: Call) -> Response:
    worker = state.require(call.state, call.param("worker"))
    return envelope.ok(views.worker(call.state, call.config, worker))


async def update(call: Call) -> Response:
    body = await call.object(shapes.Settings)
    whole = call.request.method == "PUT"

    def apply(records: Records) -> Doc:
        worker = state.require(records, call.param("worker"))
        if body.get("name", worker["name"]) != worker["name"]:
            raise errors.validation("The name of a Worker of the local stage can't be changed.")
        state.configure(worker, body, whole)
        state.save(records, call.config, worker)
        return views.worker(records, call.config, worker)

    return envelope.ok(await call.control.change(apply))


async def delete(call: Call) -> Response:
    await call.control.change(
        lambda records: state.delete(records, state.require(records, call.param("worker")), False)
    )
    return envelope.ok(None)


async def create_version(call: Call) -> Response:
    body = await call.object()
    deploy = call.flag("deploy") or body.pop("deploy", False) is True
    order = versions.Order(call.param("worker"), from_json(body), create=False, deploy=deploy, source="api")
    outcome = await versions.upload(call, order)
    return envelope.ok(views.beta_version(call.config, outcome.worker, outcome.version))


async def list_versions(call: Call) -> Response:
    worker = state.require(call.state, call.param("worker"))
    found = call.state.all("version", worker["id"])[::-1]
    return call.paged([views.beta_version(call.config, worker, version) for version in found], size=10)


async def get_version(call: Call) -> Response:
    worker = state.require(call.state, call.param("worker"))
    version = versions.require(call.state, worker, call.param("version"))
    return envelope.ok(views.beta_version(call.config, worker, version, call.query("include") == "modules"))


async def delete_version(call: Call) -> Response:
    def apply(records: Records) -> None:
        worker = state.require(records, call.param("worker"))
        version = versions.require(records, worker, call.param("version"))
        if version["id"] in {live["id"] for live in state.deployed_versions(records, worker)}:
            raise errors.validation(f"Version {version['id']} is deployed and can't be deleted.")
        records.delete_scope("secret", version["id"])
        records.delete("version", version["id"], worker["id"])

    await call.control.change(apply)
    return envelope.ok(None)


ROUTES: Table = (
    ("POST", _BASE, create),
    ("GET", _BASE, listing),
    ("GET", f"{_BASE}/{{worker}}", get),
    ("PUT PATCH", f"{_BASE}/{{worker}}", update),
    ("DELETE", f"{_BASE}/{{worker}}", delete),
    ("POST", f"{_BASE}/{{worker}}/versions", create_version),
    ("GET", f"{_BASE}/{{worker}}/versions", list_versions),
    ("GET", f"{_BASE}/{{worker}}/versions/{{version}}", get_version),
    ("DELETE", f"{_BASE}/{{worker}}/versions/{{version}}", delete_version),
)
