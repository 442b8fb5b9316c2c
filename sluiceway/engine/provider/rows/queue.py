"""Queues. The API's id is ``queue_id``."""

from __future__ import annotations

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.row import Call, Row

_QUEUES = "/accounts/{accountId}/queues"

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
    rules=Rules(defaults={"deliveryDelay": 0, "deliveryPaused": False, "messageRetentionPeriod": 345600}),
)
