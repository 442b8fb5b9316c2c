"""R2 buckets and their lifecycle rules. Every call carries the jurisdiction, or R2 finds no bucket."""

from __future__ import annotations

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.existing import Existing
from sluiceway.engine.provider.faults import ApiFault, InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row, none_if_gone
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

_BUCKETS = "/accounts/{accountId}/r2/buckets"
_LOCATIONS = ("apac", "eeur", "enam", "oc", "weur", "wnam")
_JURISDICTIONS = ("default", "eu", "fedramp", "us")


def _jurisdiction(props: Props) -> str:
    return str(props.get("jurisdiction") or "default")


def _check_words(props: Props) -> list[InputFault]:
    faults = []
    location, jurisdiction = props.get("location"), props.get("jurisdiction")
    if isinstance(location, str) and location.lower() not in _LOCATIONS:
        faults.append(InputFault("location", f"R2 knows {', '.join(_LOCATIONS)}, not {location!r}"))
    if isinstance(jurisdiction, str) and jurisdiction not in _JURISDICTIONS:
        faults.append(InputFault("jurisdiction", f"R2 knows {', '.join(_JURISDICTIONS)}, not {jurisdiction!r}"))
    return faults


class _Bucket(Quirks):
    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        faults = _check_words(props)
        was, now = old.get("location"), props.get("location")
        moved = isinstance(was, str) and isinstance(now, str) and was.lower() != now.lower()
        if moved and old.get("name") == props.get("name"):
            # A replacement would delete the bucket with the models in it, and R2 would make the
            # next one of this name in the old place all the same.
            faults.append(
                InputFault("location", f"is fixed when a bucket is first made ({was}); for {now} choose another name")
            )
        return faults

    def headers(self, row: Row, props: Props) -> dict[str, str]:
        return {"cf-r2-jurisdiction": _jurisdiction(props)}

    def body(self, row: Row, props: Props) -> Value:
        body = {"name": props["name"], "storageClass": props.get("storageClass") or "Standard"}
        return {**body, "locationHint": props["location"].lower()} if props.get("location") else body

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        return {"jurisdiction": _jurisdiction(props), **super().facts(row, result, props)}

    async def update(self, client: Client, row: Row, rid: str, old: Props, props: Props) -> Value:
        """Only the storage class of new objects can change; it travels as a header."""
        wanted = str(props.get("storageClass") or "Standard")
        if wanted == (old.get("storageClass") or "Standard"):
            return {}
        headers = {**self.headers(row, props), "cf-r2-storage-class": wanted}
        return await client.call(Request("PATCH", row.read.fill(props, rid), headers=headers))


async def _of_name(client: Client, props: Props) -> Value:
    headers = {"cf-r2-jurisdiction": _jurisdiction(props)}
    return await none_if_gone(client, Request("GET", Call("GET", f"{_BUCKETS}/{{name}}").fill(props), headers=headers))


async def _with_objects(client: Client, props: Props, found: Value) -> str:
    headers = {"cf-r2-jurisdiction": _jurisdiction(props)}
    path = Call("GET", f"{_BUCKETS}/{{name}}/objects").fill(props)
    try:
        objects = await client.call(Request("GET", path, params={"per_page": "1"}, headers=headers))
    except ApiFault:
        return "whether it is empty can't be told"
    return "it holds objects" if objects else ""


R2_BUCKET = Row(
    "cloudflare:index/r2Bucket:R2Bucket",
    create=Call("POST", _BUCKETS),
    read=Call("GET", f"{_BUCKETS}/{{id}}"),
    delete=Call("DELETE", f"{_BUCKETS}/{{id}}"),
    required=("accountId", "name"),
    optional=("location", "jurisdiction", "storageClass"),
    computed=("creationDate",),
    ident="name",
    parts=("accountId", "id", "jurisdiction?"),
    replaces=frozenset({"name", "jurisdiction"}),
    camel_body=True,
    rules=Rules(
        canonical={"location": str.lower, "jurisdiction": str.lower},
        given_once=frozenset({"location", "jurisdiction", "storageClass"}),
    ),
    quirks=_Bucket(),
    existing=Existing(10004, _of_name, _with_objects),
)

_LIFECYCLE = f"{_BUCKETS}/{{bucketName}}/lifecycle"


class _Lifecycle(Quirks):
    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        return _check_words(props)

    def headers(self, row: Row, props: Props) -> dict[str, str]:
        return {"cf-r2-jurisdiction": _jurisdiction(props)}

    def body(self, row: Row, props: Props) -> Value:
        return {"rules": props.get("rules") or []}

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        facts: Props = {"jurisdiction": _jurisdiction(props)}
        if isinstance(result, dict) and "rules" in result:
            facts["rules"] = result["rules"]
        return facts


R2_LIFECYCLE = Row(
    "cloudflare:index/r2BucketLifecycle:R2BucketLifecycle",
    create=Call("PUT", _LIFECYCLE),
    read=Call("GET", _LIFECYCLE),
    update=Call("PUT", _LIFECYCLE),
    required=("accountId", "bucketName"),
    optional=("rules", "jurisdiction"),
    ident="bucketName",
    parts=("accountId", "bucketName", "jurisdiction?"),
    replaces=frozenset({"bucketName", "jurisdiction"}),
    camel_body=True,
    rules=Rules(keyed={"rules": "id"}, given_once=frozenset({"jurisdiction"})),
    quirks=_Lifecycle(),
)
