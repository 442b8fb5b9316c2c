"""One sample of each resource, as a program gives it."""

from __future__ import annotations

import base64
from typing import Any

from sluiceway.engine.provider.values import Secret
from tests.unit.provider.harness import ACCOUNT, ZONE

CANARY = "S3CR-7f2a-canary"
CODE = b"export default { fetch() { return new Response('hello') } }\n"

Props = dict[str, Any]


def worker_version(**more: Any) -> Props:  # noqa: ANN401 - any property of the resource
    return {
        "accountId": ACCOUNT,
        "workerId": "w1",
        "mainModule": "index.js",
        "compatibilityDate": "2026-07-01",
        "modules": [
            {
                "name": "index.js",
                "contentType": "application/javascript+module",
                "contentBase64": base64.b64encode(CODE).decode(),
            }
        ],
        "bindings": bindings(),
        "exports": {"Roll_Out": {"type": "durable-object", "storage": "sqlite"}},
        "annotations": {"workersTag": "r-0123456789ab"},
        **more,
    }


def bindings() -> list[Props]:
    return [
        {"name": "Z_KV", "type": "kv_namespace", "namespaceId": "n1"},
        {"name": "A_TEXT", "type": "plain_text", "text": "hello"},
        {"name": "M_R2", "type": "r2_bucket", "bucketName": "models"},
        {"name": "LIMIT", "type": "ratelimit", "namespaceId": "1001", "simple": {"limit": 600, "period": 60}},
        {"name": "KEY", "type": "secret_text", "text": Secret(CANARY)},
    ]


def rule(ref: str | None, path: str = "/v1") -> Props:
    named = {"ref": ref} if ref else {}
    return {
        **named,
        "action": "block",
        "expression": f'starts_with(http.request.uri.path, "{path}")',
        "ratelimit": {
            "characteristics": ["ip.src", "cf.colo.id"],
            "period": 10,
            "requestsPerPeriod": 20,
            "mitigationTimeout": 10,
        },
    }


SAMPLES: dict[str, Props] = {
    "Worker": {"accountId": ACCOUNT, "name": "gateway", "subdomain": {"enabled": True}},
    "WorkerVersion": worker_version(),
    "WorkersDeployment": {
        "accountId": ACCOUNT,
        "scriptName": "gateway",
        "strategy": "percentage",
        "versions": [{"versionId": "v1", "percentage": 90}, {"versionId": "v2", "percentage": 10}],
    },
    "WorkersScriptSubdomain": {"accountId": ACCOUNT, "scriptName": "gateway", "enabled": True},
    "WorkersRoute": {"zoneId": ZONE, "pattern": "api.fake.test/v1/*", "script": "gateway"},
    "WorkersCustomDomain": {"accountId": ACCOUNT, "zoneId": ZONE, "hostname": "chat.fake.test", "service": "gateway"},
    "WorkersCronTrigger": {
        "accountId": ACCOUNT,
        "scriptName": "gateway",
        "schedules": [{"cron": "*/5 * * * *"}, {"cron": "0 16 * * SUN"}],
    },
    "WorkersKvNamespace": {"accountId": ACCOUNT, "title": "cache"},
    "WorkersKv": {
        "accountId": ACCOUNT,
        "namespaceId": "n1",
        "keyName": "rollouts/chat",
        "value": "模型 🦊",
        "metadata": '{"by": "test", "a": 1}',
    },
    "R2Bucket": {"accountId": ACCOUNT, "name": "models", "location": "weur", "jurisdiction": "eu"},
    "R2BucketLifecycle": {
        "accountId": ACCOUNT,
        "bucketName": "models",
        "jurisdiction": "eu",
        "rules": [
            {
                "id": "abort",
                "enabled": True,
                "conditions": {"prefix": ""},
                "abortMultipartUploadsTransition": {"condition": {"type": "Age", "maxAge": 86400}},
            }
        ],
    },
    "Ruleset": {"zoneId": ZONE, "kind": "zone", "phase": "http_ratelimit", "name": "limits", "rules": [rule("one")]},
    "AiGateway": {
        "accountId": ACCOUNT,
        "aiGatewayId": "gateway",
        "cacheInvalidateOnUpdate": True,
        "cacheTtl": 300,
        "collectLogs": True,
        "rateLimitingInterval": 60,
        "rateLimitingLimit": 100,
        "rateLimitingTechnique": "fixed",
    },
    "Queue": {"accountId": ACCOUNT, "queueName": "events", "settings": {"deliveryDelay": 0}},
}
