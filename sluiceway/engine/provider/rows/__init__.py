"""The table: resource token -> row. A new resource is a row in a file here and its name below."""

from __future__ import annotations

from sluiceway.engine.provider.row import Row
from sluiceway.engine.provider.rows.ai_gateway import AI_GATEWAY
from sluiceway.engine.provider.rows.kv import KV_NAMESPACE, KV_VALUE
from sluiceway.engine.provider.rows.queue import QUEUE
from sluiceway.engine.provider.rows.r2 import R2_BUCKET, R2_LIFECYCLE
from sluiceway.engine.provider.rows.ruleset import RULESET
from sluiceway.engine.provider.rows.triggers import CRON, CUSTOM_DOMAIN, ROUTE, SUBDOMAIN
from sluiceway.engine.provider.rows.worker import DEPLOYMENT, WORKER
from sluiceway.engine.provider.rows.worker_version import WORKER_VERSION

ROWS: dict[str, Row] = {
    row.token: row
    for row in (
        WORKER,
        WORKER_VERSION,
        DEPLOYMENT,
        SUBDOMAIN,
        ROUTE,
        CUSTOM_DOMAIN,
        CRON,
        KV_NAMESPACE,
        KV_VALUE,
        R2_BUCKET,
        R2_LIFECYCLE,
        RULESET,
        AI_GATEWAY,
        QUEUE,
    )
}
