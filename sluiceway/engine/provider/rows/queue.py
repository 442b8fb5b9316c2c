"""Queues. The API's id is ``queue_id``."""

from __future__ import annotations

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.existing import Existing, first, listed
from sluiceway.engine.provider.row import Call, Row
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

_QUEUES = "/accounts/{accountId}/queues"


async def _of_name(client: Client, props: Props) -> Value:
    path = Call("GET", _QUEUES).fill(props)
    return await first(listed(client, Request("GET", path)), lambda item: item.get("queue_name") == props["queueName"])


async def _with_workers(client: Client, props: Props, found: Value) -> str:
    ends = ("consumers", "producers")
    held = [end for end in ends if found.get(end) or found.get(f"{end}_total_count")]
    return f"it has {' and '.join(held)}" if held else ""


QUEUE = Row(
    "cloudflare:index/queue:Queue",
    create=Call("POST", _QUEUES),
    read=Call("GET", f"{_QUEUES}/{{id}}"),
    update=Call("PUT", f"{_QUEUES}/{{id}}"),
    delete=Call("DELETE", f"{_QUEUES}/{{id}}"),
    required=("accountId", "queueName"),
    optional=("settings", "jurisdiction"),
    computed=(
        "queueId",
        "createdOn",
        "modifiedOn",
        "consumers",
        "consumersTotalCount",
        "producers",
        "producersTotalCount",
    ),
    ident="queueId",
    parts=("accountId", "id"),
    replaces=frozenset({"jurisdiction"}),
    existing=Existing(11009, _of_name, _with_workers),
    rules=Rules(defaults={"deliveryDelay": 0, "deliveryPaused": False, "messageRetentionPeriod": 345600}),
)
