"""What a script has without versions: workers.dev, schedules, settings; and secrets, which make a version each."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local.api import cron, envelope, errors, shapes
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.workers import bindings, state, versions, views
from sluiceway.local.store import Doc, Json, Records

_SCRIPT = f"{ACCOUNT}/workers/scripts/{{script}}"
MAX_CRONS = 250
MAX_BULK_SECRETS = 100


async def get_subdomain(call: Call) -> Response:
    return envelope.ok(state.require(call.state, call.param("script"))["subdomain"])


async def put_subdomain(call: Call) -> Response:
    off: Doc = {"enabled": False}
    body = off if call.request.method == "DELETE" else await call.object(shapes.Subdomain)

    def apply(records: Records) -> Doc:
        worker = state.require(records, call.param("script"))
        given = {**body}
        if "previews_enabled" not in given and given.get("enabled") == worker["subdomain"]["enabled"]:
            given["previews_enabled"] = worker["subdomain"]["previews_enabled"]
        worker["subdomain"] = state.subdomain(given)
        state.save(records, call.config, worker)
        return dict(worker["subdomain"])

    return envelope.ok(await call.control.change(apply))


async def account_subdomain(call: Call) -> Response:
    return envelope.ok({"subdomain": call.config.subdomain})


async def get_schedules(call: Call) -> Response:
    return envelope.ok({"schedules": state.require(call.state, call.param("script"))["schedules"]})


async def put_schedules(call: Call) -> Response:
    wanted = [str(item.get("cron") if isinstance(item, dict) else item) for item in await call.array()]
    for text in wanted:
        cron.check(text)

    def apply(records: Records) -> Doc:
        worker = state.require(records, call.param("script"))
        others = sum(len(w["schedules"]) for w in records.all("worker") if w["id"] != worker["id"])
        if others + len(wanted) > MAX_CRONS:
            raise errors.ApiError(400, 10072, "workers.api.error.too_many_crons")
        before = {item["cron"]: item["created_on"] for item in worker["schedules"]}
        now = call.config.stamp()
        worker["schedules"] = [
            {"cron": text, "created_on": before.get(text, now), "modified_on": now} for text in dict.fromkeys(wanted)
        ]
        state.save(records, call.config, worker)
        return {"schedules": worker["schedules"]}

    return envelope.ok(await call.control.change(apply))


async def get_script_settings(call: Call) -> Response:
    return envelope.ok(views.script_settings(state.require(call.state, call.param("script"))))


async def patch_script_settings(call: Call) -> Response:
    body = await call.object(shapes.Settings)

    def apply(records: Records) -> Doc:
        worker = state.require(records, call.param("script"))
        state.configure(worker, {key: value for key, value in body.items() if key != "subdomain"}, whole=False)
        state.save(records, call.config, worker)
        return views.script_settings(worker)

    return envelope.ok(await call.control.change(apply))


async def get_settings(call: Call) -> Response:
    """Settings with the bindings of what is live."""
    worker = state.require(call.state, call.param("script"))
    newest = state.deployed_versions(call.state, worker) or call.state.newest("version", worker["id"], 1)
    version = newest[0] if newest else None
    return envelope.ok(
        {
            **views.script_settings(worker),
            "bindings": bindings.in_api_order(version["bindings"]) if version else [],
            "compatibility_date": version["compatibility_date"] if version else None,
            "compatibility_flags": version["compatibility_flags"] if version else [],
            "migration_tag": worker["migration_tag"],
            "usage_model": "standard",
        }
    )


async def list_secrets(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"))
    newest = call.state.newest("version", worker["id"], 1)
    held = newest[0]["bindings"] if newest else []
    return envelope.ok([{"name": b["name"], "type": b["type"]} for b in held if b["type"] == "secret_text"])


async def put_secret(call: Call) -> Response:
    body = await call.object()
    name, text = body.get("name"), body.get("text")
    if not isinstance(name, str) or not isinstance(text, str) or body.get("type", "secret_text") != "secret_text":
        raise errors.validation("A secret needs a name, a text and the type secret_text.")
    await _edit_secrets(call, {name: text})
    return envelope.ok({"name": name, "type": "secret_text"})


async def delete_secret(call: Call) -> Response:
    await _edit_secrets(call, {call.param("name"): None})
    return envelope.ok(None)


async def patch_secrets(call: Call) -> Response:
    """Merge patch: an object per secret to write, null to remove it."""
    given: Json = (await call.object(shapes.Secrets))["secrets"]
    if len(given) > MAX_BULK_SECRETS:
        raise errors.validation(f"secrets must be an object of at most {MAX_BULK_SECRETS} entries.")
    await _edit_secrets(call, {name: entry["text"] if entry else None for name, entry in given.items()})
    return envelope.ok([{"name": name, "type": "secret_text"} for name, entry in given.items() if entry])


async def _edit_secrets(call: Call, changed: dict[str, str | None]) -> None:
    for name, text in changed.items():
        bindings.check_secret(name, text)

    def apply(records: Records) -> None:
        worker = state.require(records, call.param("script"))
        newest = records.newest("version", worker["id"], 1)
        live = {version["id"] for version in state.deployed_versions(records, worker)}
        if newest and live and newest[0]["id"] not in live:
            raise errors.ApiError(
                400,
                10215,
                "Secret edit failed. You attempted to modify a secret, but the latest version of your Worker isn't"
                " currently deployed.",
            )
        held = {b["name"]: b["type"] for b in newest[0]["bindings"]} if newest else {}
        for name, text in changed.items():
            if text is None and held.get(name) != "secret_text":
                raise errors.ApiError(404, 10056, f"Binding '{name}' not found.")
            if held.get(name, "secret_text") != "secret_text":
                raise errors.ApiError(400, 10053, f"Binding name '{name}' already in use.")
        versions.copy(records, call, worker, changed, "secret")

    await call.control.change(apply)


ROUTES: Table = (
    ("GET", f"{ACCOUNT}/workers/subdomain", account_subdomain),
    ("GET", f"{_SCRIPT}/subdomain", get_subdomain),
    ("POST DELETE", f"{_SCRIPT}/subdomain", put_subdomain),
    ("GET", f"{_SCRIPT}/schedules", get_schedules),
    ("PUT", f"{_SCRIPT}/schedules", put_schedules),
    ("GET", f"{_SCRIPT}/script-settings", get_script_settings),
    ("PATCH", f"{_SCRIPT}/script-settings", patch_script_settings),
    ("GET", f"{_SCRIPT}/settings", get_settings),
    ("GET", f"{_SCRIPT}/secrets", list_secrets),
    ("PUT", f"{_SCRIPT}/secrets", put_secret),
    ("DELETE", f"{_SCRIPT}/secrets/{{name}}", delete_secret),
    ("PATCH", f"{_SCRIPT}/secrets-bulk", patch_secrets),
)
