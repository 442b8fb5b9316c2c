"""Workers KV: namespaces, and single values in them."""

from __future__ import annotations

import json
from typing import ClassVar

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.existing import Existing, first, listed
from sluiceway.engine.provider.faults import ApiFault, InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

_NAMESPACES = "/accounts/{accountId}/storage/kv/namespaces"


async def _of_title(client: Client, props: Props) -> Value:
    path = Call("GET", _NAMESPACES).fill(props)
    return await first(listed(client, Request("GET", path)), lambda item: item.get("title") == props["title"])


async def _with_keys(client: Client, props: Props, found: Value) -> str:
    path = Call("GET", f"{_NAMESPACES}/{{id}}/keys").fill(props, str(found["id"]))
    return "it holds keys" if await client.call(Request("GET", path, params={"limit": "10"})) else ""


KV_NAMESPACE = Row(
    "cloudflare:index/workersKvNamespace:WorkersKvNamespace",
    create=Call("POST", _NAMESPACES),
    read=Call("GET", f"{_NAMESPACES}/{{id}}"),
    update=Call("PUT", f"{_NAMESPACES}/{{id}}"),
    delete=Call("DELETE", f"{_NAMESPACES}/{{id}}"),
    required=("accountId", "title"),
    optional=("jurisdiction", "mode"),
    computed=("supportsUrlEncoding",),
    replaces=frozenset({"jurisdiction", "mode"}),
    existing=Existing(10014, _of_title, _with_keys),
)

_VALUE = f"{_NAMESPACES.replace('namespaces', 'namespaces/{namespaceId}')}/values/{{keyName}}"


class _KvValue(Quirks):
    """The body is the value itself, in a form, with its metadata beside it."""

    LONGEST_KEY: ClassVar = 512
    SHORTEST_TTL: ClassVar = 60

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        faults = []
        key, ttl, metadata = (props.get(name) for name in ("keyName", "expirationTtl", "metadata"))
        if isinstance(key, str) and (len(key.encode()) > self.LONGEST_KEY or key in {"", ".", ".."}):
            faults.append(InputFault("keyName", f"a key has 1 to {self.LONGEST_KEY} bytes and is not . or .."))
        if isinstance(ttl, (int, float)) and ttl < self.SHORTEST_TTL:
            faults.append(InputFault("expirationTtl", f"KV keeps a value for at least {self.SHORTEST_TTL} seconds"))
        if isinstance(metadata, str) and _as_json(metadata) is None:
            faults.append(InputFault("metadata", "must be JSON text"))
        return faults

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        params = {"expiration": props.get("expiration"), "expiration_ttl": props.get("expirationTtl")}
        files = {"value": (None, str(props["value"]))}
        if props.get("metadata") is not None:
            files["metadata"] = (None, str(props["metadata"]))
        await client.call(
            Request(
                "PUT",
                row.create.fill(props),
                files=files,
                params={name: str(value) for name, value in params.items() if value is not None},
            )
        )
        return {}

    async def update(self, client: Client, row: Row, rid: str, old: Props, props: Props) -> Value:
        return await self.create(client, row, props, frozenset())

    async def read(self, client: Client, row: Row, rid: str, props: Props) -> Value:
        path = row.read.fill(props)
        try:
            value = (await client.send(Request("GET", path))).content.decode("utf-8", "replace")
            metadata = await client.call(Request("GET", path.replace("/values/", "/metadata/", 1)))
        except ApiFault as fault:
            if fault.gone:
                return None
            raise
        return {"value": value, "metadata": metadata}

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        facts: Props = {"value": result["value"]} if "value" in result else {}
        metadata = result.get("metadata")
        if "metadata" in result:
            facts["metadata"] = None if metadata in (None, {}) else json.dumps(metadata, sort_keys=True)
        return facts


def _as_json(text: str) -> str | None:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return None


KV_VALUE = Row(
    "cloudflare:index/workersKv:WorkersKv",
    create=Call("PUT", _VALUE),
    read=Call("GET", _VALUE),
    update=Call("PUT", _VALUE),
    delete=Call("DELETE", _VALUE),
    required=("accountId", "namespaceId", "keyName", "value"),
    optional=("metadata", "expiration", "expirationTtl"),
    ident="keyName",
    parts=("accountId", "namespaceId", "keyName"),
    replaces=frozenset({"namespaceId", "keyName"}),
    rules=Rules(
        canonical={"metadata": lambda text: _as_json(text) or text},
        written_only=frozenset({"expiration", "expirationTtl"}),
    ),
    quirks=_KvValue(),
)
