"""``/workers/scripts`` and ``/workers/services``: upload, versions, deployments (what wrangler calls)."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local.api import envelope, errors, shapes
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.workers import bindings, deployments, state, versions, views
from sluiceway.local.api.workers.upload import from_multipart
from sluiceway.local.store import Doc, Json, Records

_BASE = f"{ACCOUNT}/workers/scripts"
_SCRIPT = f"{_BASE}/{{script}}"


async def listing(call: Call) -> Response:
    return envelope.ok([views.script(call.state, worker) for worker in call.state.all("worker")])


async def put(call: Call) -> Response:
    """Uploads and deploys at 100 %; makes the Worker if there is none."""
    order = versions.Order(
        call.param("script"),
        await from_multipart(call.request),
        create=True,
        deploy=True,
        source=_source(call),
        settings=True,
    )
    outcome = await versions.upload(call, order)
    return envelope.ok(views.uploaded(call.state, outcome.worker, outcome.version))


async def get(call: Call) -> Response:
    """The code itself, as multipart: what ``GET`` of a script answers on the platform."""
    worker = state.require(call.state, call.param("script"))
    wanted = call.query("version")
    if wanted:
        live = [versions.require(call.state, worker, wanted)]
    else:
        live = state.deployed_versions(call.state, worker) or call.state.newest("version", worker["id"], 1)
    if not live:
        raise errors.worker_not_found()
    boundary = live[0]["etag"][:32]
    parts = []
    for module in live[0]["modules"]:
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{module["name"]}"; filename="{module["name"]}"\r\n'
            f"Content-Type: {module['content_type']}\r\n\r\n"
        )
        parts.append(head.encode() + (call.config.modules / module["sha256"]).read_bytes() + b"\r\n")
    return Response(
        b"".join(parts) + f"--{boundary}--\r\n".encode(),
        media_type=f"multipart/form-data; boundary={boundary}",
        headers={"etag": f'"{live[0]["etag"]}"', "cf-entrypoint": live[0]["main_module"]},
    )


async def delete(call: Call) -> Response:
    force = call.flag("force")
    await call.control.change(
        lambda records: state.delete(records, state.require(records, call.param("script")), force)
    )
    return envelope.ok({"id": call.param("script")})


async def upload_version(call: Call) -> Response:
    order = versions.Order(
        call.param("script"), await from_multipart(call.request), create=False, deploy=False, source=_source(call)
    )
    outcome = await versions.upload(call, order)
    return envelope.ok(views.version(outcome.worker, outcome.version))


async def list_versions(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"))
    found = call.state.newest("version", worker["id"], 100_000)
    if call.flag("deployable"):
        found = found[: deployments.DEPLOYABLE]
    size, number = call.number("per_page", 100), call.number("page", 1)
    shown = [views.listed_version(worker, version) for version in found[(number - 1) * size : number * size]]
    info = {"page": number, "per_page": size, "count": len(shown), "total_count": len(found)}
    return envelope.ok({"items": shown}, info=info)


async def get_version(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"))
    return envelope.ok(views.version(worker, versions.require(call.state, worker, call.param("version"))))


async def create_deployment(call: Call) -> Response:
    body = await call.object(shapes.Deployment)
    if body.get("strategy") != "percentage":
        raise errors.validation("The strategy of a deployment must be percentage.")
    force = call.flag("force") or body.get("force") is True

    def apply(records: Records) -> Doc:
        worker = state.require(records, call.param("script"))
        return deployments.create(
            records,
            call.config,
            worker,
            body.get("versions"),
            body.get("annotations"),
            source=_source(call),
            force=force,
        )

    return envelope.ok(await call.control.change(apply))


async def list_deployments(call: Call) -> Response:
    """Newest first: the first one rules."""
    worker = state.require(call.state, call.param("script"))
    return envelope.ok({"deployments": call.state.newest("deployment", worker["id"], 100)})


async def get_deployment(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"))
    found = call.state.get("deployment", call.param("deployment"), worker["id"])
    if not found:
        raise errors.deployment_not_found(call.param("deployment"))
    return envelope.ok(found)


async def service(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"), errors.service_not_found)
    script = views.script(call.state, worker)
    environment = {
        "environment": "production",
        "created_on": worker["created_on"],
        "modified_on": worker["updated_on"],
        "script": script,
    }
    return envelope.ok(
        {
            "id": worker["name"],
            "created_on": worker["created_on"],
            "modified_on": worker["updated_on"],
            "default_environment": environment,
            "environments": [environment],
        }
    )


async def service_bindings(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"), errors.service_not_found)
    live = state.deployed_versions(call.state, worker)
    return envelope.ok(bindings.in_api_order(live[0]["bindings"]) if live else [])


async def references(call: Call) -> Response:
    """Who depends on a script: wrangler asks before it deletes one."""
    worker = state.require(call.state, call.param("script"))
    found = views.worker(call.state, call.config, worker)["references"]
    incoming = [{"service": other["name"], "environment": "production"} for other in found["workers"]]
    objects = [
        {"service": other["worker_name"], "environment": "production", "durable_object_namespace_name": ""}
        for other in found["durable_objects"]
    ]
    return envelope.ok({"services": {"incoming": incoming, "outgoing": []}, "durable_objects": objects})


async def tail_producers(call: Call) -> Response:
    name = call.param("script")
    consumed = [w["name"] for w in call.state.all("worker") if any(name in _names(c) for c in w["tail_consumers"])]
    return envelope.ok([{"producer": {"service": producer}} for producer in consumed])


def _names(consumer: Json) -> tuple[Json, ...]:
    return (consumer,) if isinstance(consumer, str) else (consumer.get("name"), consumer.get("service"))


def _source(call: Call) -> str:
    return "wrangler" if call.request.headers.get("user-agent", "").startswith("wrangler/") else "api"


ROUTES: Table = (
    ("GET", _BASE, listing),
    ("PUT", _SCRIPT, put),
    ("GET", _SCRIPT, get),
    ("GET", f"{_SCRIPT}/content/v2", get),
    ("DELETE", _SCRIPT, delete),
    ("POST", f"{_SCRIPT}/versions", upload_version),
    ("GET", f"{_SCRIPT}/versions", list_versions),
    ("GET", f"{_SCRIPT}/versions/{{version}}", get_version),
    ("POST", f"{_SCRIPT}/deployments", create_deployment),
    ("GET", f"{_SCRIPT}/deployments", list_deployments),
    ("GET", f"{_SCRIPT}/deployments/{{deployment}}", get_deployment),
    ("GET", f"{ACCOUNT}/workers/services/{{script}}", service),
    ("DELETE", f"{ACCOUNT}/workers/services/{{script}}", delete),
    ("GET", f"{ACCOUNT}/workers/services/{{script}}/environments/{{environment}}/bindings", service_bindings),
    ("GET", f"{ACCOUNT}/workers/services/{{script}}/environments/{{environment}}/content/v2", get),
    ("GET", f"{_SCRIPT}/references", references),
    ("GET", f"{ACCOUNT}/workers/tails/by-consumer/{{script}}", tail_producers),
)
