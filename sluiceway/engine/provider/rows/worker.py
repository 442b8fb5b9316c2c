"""Workers without their code, and deployments of their versions."""

from __future__ import annotations

from sluiceway.engine.provider import lost
from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.existing import Existing
from sluiceway.engine.provider.faults import InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row, none_if_gone
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Unknown, Value

_WORKERS = "/accounts/{accountId}/workers/workers"
_NO_TRACES = {"enabled": False, "head_sampling_rate": 1, "persist": True}


class _Worker(Quirks):
    """The API wants the whole body each time; what is left out of it is set back."""

    def body(self, row: Row, props: Props) -> Value:
        asked = super().body(row, {name: item for name, item in props.items() if name != "force"})
        observability, subdomain = asked.get("observability") or {}, asked.get("subdomain") or {}
        return {
            **asked,
            "logpush": asked.get("logpush", False),
            "tags": asked.get("tags", []),
            "tail_consumers": asked.get("tail_consumers", []),
            "subdomain": {name: bool(subdomain.get(name)) for name in ("enabled", "previews_enabled")},
            "observability": {
                "enabled": False,
                "head_sampling_rate": 1,
                **observability,
                "traces": {**_NO_TRACES, **(observability.get("traces") or {})},
            },
        }

    async def delete(self, client: Client, row: Row, rid: str, props: Props) -> None:
        call = Call("DELETE", f"{_WORKERS}/{{id}}")
        force = {"force": "true"} if props.get("force") else {}
        await self.remove(client, row, Request(call.method, call.fill(props, rid), params=force), rid, props)


async def _of_name(client: Client, props: Props) -> Value:
    path = Call("GET", f"{_WORKERS}/{{name}}").fill(props)
    return await none_if_gone(client, Request("GET", path))


async def _with_versions(client: Client, props: Props, found: Value) -> str:
    path = Call("GET", f"{_WORKERS}/{{id}}/versions").fill(props, str(found["id"]))
    return "it has versions" if await client.call(Request("GET", path, params={"per_page": "1"})) else ""


WORKER = Row(
    "cloudflare:index/worker:Worker",
    create=Call("POST", _WORKERS),
    read=Call("GET", f"{_WORKERS}/{{id}}"),
    update=Call("PUT", f"{_WORKERS}/{{id}}"),
    delete=Call("DELETE", f"{_WORKERS}/{{id}}"),
    required=("accountId", "name"),
    optional=("force", "logpush", "observability", "previewsBaseConfig", "subdomain", "tags", "tailConsumers"),
    computed=("createdOn", "updatedOn", "deployedOn", "references"),
    rules=Rules(
        keyed={"tailConsumers": "name"},
        sets=frozenset({"tags"}),
        written_only=frozenset({"force"}),
        defaults={
            "logpush": False,
            "observability": {"enabled": False, "headSamplingRate": 1},
            "subdomain": {"enabled": False},
            "previewsEnabled": False,
        },
        server=frozenset({"url", "previewUrlSuffix"}),
    ),
    quirks=_Worker(),
    existing=Existing(10040, _of_name, _with_versions),
)

_DEPLOYMENTS = "/accounts/{accountId}/workers/scripts/{scriptName}/deployments"


class _Deployment(Quirks):
    """An event: it is made, and it is read by its own id; it is never changed and never undone."""

    MOST_VERSIONS = 2
    LEAST_SHARE = 0.01
    """The API takes 0; the official provider doesn't, and the local stage must not promise more."""

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        versions = props.get("versions")
        if not isinstance(versions, list):
            return []
        shares = [item.get("percentage") for item in versions if isinstance(item, dict)]
        faults = []
        if len(versions) > self.MOST_VERSIONS:
            faults.append(InputFault("versions", f"Cloudflare splits between two versions, not {len(versions)}"))
        for index, share in enumerate(shares):
            if isinstance(share, (int, float)) and not self.LEAST_SHARE <= share <= 100:
                reason = (
                    f"the provider takes {self.LEAST_SHARE} to 100, not {share:g}; leave a version without traffic out"
                )
                faults.append(InputFault(f"versions[{index}].percentage", reason))
        if not any(isinstance(share, Unknown) for share in shares):
            total = sum(share for share in shares if isinstance(share, (int, float)))
            if round(total, 6) != 100:
                faults.append(InputFault("versions", f"the percentages must add up to 100, not {total:g}"))
        return faults

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        async def made(since: float) -> Value:
            answer = await client.send(Request("GET", row.create.fill(props)))
            found = lost.fresh(answer, answer.json()["result"]["deployments"], since)
            return next((item for item in found if not row.differences(props, item)), None)

        return await client.call(self.request(row, row.create, props), made)

    def body(self, row: Row, props: Props) -> Value:
        body = super().body(row, {name: item for name, item in props.items() if name not in {"force", "annotations"}})
        if annotations := annotations_out(props.get("annotations")):
            body["annotations"] = annotations
        return body

    def params(self, row: Row, props: Props) -> dict[str, str]:
        return {"force": "true"} if props.get("force") else {}

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        facts = super().facts(row, result, props)
        if "annotations" in facts:
            facts["annotations"] = annotations_in(facts["annotations"])
        return facts


def annotations_in(annotations: Value) -> Value:
    """``{"workers/message": ...}`` -> ``{"workersMessage": ...}``."""
    if not isinstance(annotations, dict):
        return None
    names = {
        "workers/message": "workersMessage",
        "workers/tag": "workersTag",
        "workers/triggered_by": "workersTriggeredBy",
    }
    return {names[key]: text for key, text in annotations.items() if key in names} or None


def annotations_out(annotations: Value) -> Value:
    """``{"workersMessage": ...}`` -> ``{"workers/message": ...}``; empty when there are none."""
    names = {"workersMessage": "workers/message", "workersTag": "workers/tag"}
    return {names[key]: text for key, text in (annotations or {}).items() if key in names and text}


DEPLOYMENT = Row(
    "cloudflare:index/workersDeployment:WorkersDeployment",
    create=Call("POST", _DEPLOYMENTS),
    read=Call("GET", f"{_DEPLOYMENTS}/{{id}}"),
    required=("accountId", "scriptName", "strategy", "versions"),
    optional=("annotations", "force"),
    computed=("authorEmail", "createdOn", "source"),
    parts=("accountId", "scriptName", "id"),
    immutable=True,
    rules=Rules(written_only=frozenset({"force"})),
    quirks=_Deployment(),
)
