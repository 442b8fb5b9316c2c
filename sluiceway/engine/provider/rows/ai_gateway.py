"""AI Gateway. Its id is chosen by the user and is called ``id`` by the API."""

from __future__ import annotations

import re

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.existing import Existing
from sluiceway.engine.provider.faults import UNROUTABLE, ApiFault, InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row, none_if_gone
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Secret, Value

_GATEWAYS = "/accounts/{accountId}/ai-gateway/gateways"


class _AiGateway(Quirks):
    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        gateway = props.get("aiGatewayId")
        if isinstance(gateway, str) and not re.fullmatch(r"[a-z0-9_-]{1,64}", gateway):
            return [InputFault("aiGatewayId", "1 to 64 lower-case letters, digits, hyphens or underscores")]
        return []

    def body(self, row: Row, props: Props) -> Value:
        return {"workers_ai_billing_mode": "postpaid", **super().body(row, props)}

    def secrets(self, state: Props) -> Props:
        """Keys of the services that logs and usage are sent to."""
        out = dict(state)
        if isinstance(stripe := state.get("stripe"), dict) and stripe.get("authorization"):
            out["stripe"] = {**stripe, "authorization": Secret(stripe["authorization"])}
        if isinstance(otels := state.get("otels"), list):
            out["otels"] = [
                {
                    key: Secret(item) if key in {"authorization", "headers"} and item else item
                    for key, item in otel.items()
                }
                if isinstance(otel, dict)
                else otel
                for otel in otels
            ]
        return out


async def _of_id(client: Client, props: Props) -> Value:
    path = Call("GET", f"{_GATEWAYS}/{{aiGatewayId}}").fill(props)
    return await none_if_gone(client, Request("GET", path))


async def _with_logs(client: Client, props: Props, found: Value) -> str:
    path = Call("GET", f"{_GATEWAYS}/{{aiGatewayId}}/logs").fill(props)
    try:
        logs = await client.call(Request("GET", path, params={"per_page": "1"}))
    except ApiFault as fault:
        # The local stage keeps none; elsewhere a gateway whose logs can't be read may have some.
        if client.here and fault.code in UNROUTABLE:
            return ""
        return "whether it has logs can't be told"
    return "it has logs" if logs else ""


AI_GATEWAY = Row(
    "cloudflare:index/aiGateway:AiGateway",
    create=Call("POST", _GATEWAYS),
    read=Call("GET", f"{_GATEWAYS}/{{id}}"),
    update=Call("PUT", f"{_GATEWAYS}/{{id}}"),
    delete=Call("DELETE", f"{_GATEWAYS}/{{id}}"),
    required=(
        "accountId",
        "aiGatewayId",
        "cacheInvalidateOnUpdate",
        "cacheTtl",
        "collectLogs",
        "rateLimitingInterval",
        "rateLimitingLimit",
    ),
    optional=(
        "rateLimitingTechnique",
        "authentication",
        "byokOnly",
        "dlp",
        "guardrails",
        "logClassification",
        "logManagement",
        "logManagementStrategy",
        "logpush",
        "logpushPublicKey",
        "otels",
        "retryBackoff",
        "retryDelay",
        "retryMaxAttempts",
        "spendLimits",
        "storeId",
        "stripe",
        "workersAiBillingMode",
        "zdr",
    ),
    computed=("createdAt", "modifiedAt", "isDefault"),
    ident="aiGatewayId",
    parts=("accountId", "id"),
    replaces=frozenset({"aiGatewayId"}),
    renames={"aiGatewayId": "id"},
    deep_renames={"aiGatewayProvider": "provider"},
    rules=Rules(
        written_only=frozenset({"authorization"}),
        defaults={"workersAiBillingMode": "postpaid", "authentication": False, "logpush": False, "zdr": False},
    ),
    quirks=_AiGateway(),
    existing=Existing(7004, _of_id, _with_logs),
)
