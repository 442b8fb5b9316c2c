"""All resources of the table in one program. SAMPLE changes it: ``reorder``, ``boom``, ``import``."""

import os
from pathlib import Path

import pulumi

from infra.sdk import load_by_use

load_by_use()
import pulumi_cloudflare as cloudflare  # noqa: E402

ACCOUNT = "10ca1000000000000000000000000000"
ZONE = os.environ.get("SAMPLE_ZONE", "2e0f1a5c5f0c4d7e8a9b0c1d2e3f4a5b")
HOST = os.environ.get("SAMPLE_HOST", "fake.test")
how = os.environ.get("SAMPLE", "")

code = Path("index.js")
code.write_text(
    """\
import { DurableObject } from "cloudflare:workers"
export class RolloutController extends DurableObject {}
export default { fetch() { return new Response("hello") } }

"""
)
secret = pulumi.Output.secret("S3CR-7f2a-canary")

cache = cloudflare.WorkersKvNamespace("cache", account_id=ACCOUNT, title="cache")
cloudflare.WorkersKv(
    "entry",
    account_id=ACCOUNT,
    namespace_id=cache.id,
    key_name="rollouts/chat",
    value=secret.apply(lambda text: f"bearer {text}"),
    metadata='{"by":"test"}',
)
bucket = cloudflare.R2Bucket("models", account_id=ACCOUNT, name="models", location="weur", jurisdiction="eu")
cloudflare.R2BucketLifecycle(
    "lifecycle",
    account_id=ACCOUNT,
    bucket_name=bucket.name,
    jurisdiction="eu",
    rules=[
        {
            "id": "abort",
            "enabled": True,
            "conditions": {"prefix": ""},
            "abort_multipart_uploads_transition": {"condition": {"type": "Age", "max_age": 86400}},
        }
    ],
)
queue = cloudflare.Queue("events", account_id=ACCOUNT, queue_name="events", settings={"delivery_delay": 0})
cloudflare.AiGateway(
    "gateway",
    account_id=ACCOUNT,
    ai_gateway_id="sample",
    cache_invalidate_on_update=True,
    cache_ttl=300,
    collect_logs=True,
    rate_limiting_interval=60,
    rate_limiting_limit=100,
)
worker = cloudflare.Worker(
    "worker",
    account_id=ACCOUNT,
    name="sample",
    subdomain={"enabled": True},
    observability={"enabled": True, "head_sampling_rate": 1, "traces": {"enabled": False}},
)
bindings = [
    {"name": "Z_KV", "type": "kv_namespace", "namespace_id": cache.id},
    {"name": "A_TEXT", "type": "plain_text", "text": "hello"},
    {"name": "M_R2", "type": "r2_bucket", "bucket_name": bucket.name, "jurisdiction": "eu"},
    {"name": "LIMIT", "type": "ratelimit", "namespace_id": "1001", "simple": {"limit": 600, "period": 60}},
    {"name": "EVENTS", "type": "queue", "queue_name": queue.queue_name},
    {"name": "AI", "type": "ai"},
    {"name": "ROLLOUTS", "type": "durable_object_namespace", "class_name": "RolloutController"},
    {"name": "KEY", "type": "secret_text", "text": secret},
]
if how == "reorder":
    bindings.reverse()
if how == "boom":
    bindings[-1] = {"name": "KEY", "type": "secret_text", "text": pulumi.Output.concat("boom-", secret)}
version = cloudflare.WorkerVersion(
    "version",
    account_id=ACCOUNT,
    worker_id=worker.id,
    main_module="index.js",
    compatibility_date="2026-07-01",
    compatibility_flags=[],
    modules=[{"name": "index.js", "content_type": "application/javascript+module", "content_file": str(code)}],
    bindings=bindings,
    exports={"RolloutController": {"type": "durable-object", "storage": "sqlite"}},
    annotations={"workers_tag": "r-0123456789ab"},
)
deployment = cloudflare.WorkersDeployment(
    "deployment",
    account_id=ACCOUNT,
    script_name=worker.name,
    strategy="percentage",
    versions=[{"version_id": version.id, "percentage": 100}],
)
cloudflare.WorkersScriptSubdomain("subdomain", account_id=ACCOUNT, script_name=worker.name, enabled=True)
cloudflare.WorkersRoute("route", zone_id=ZONE, pattern=f"api.{HOST}/*", script=worker.name)
cloudflare.WorkersCustomDomain("domain", account_id=ACCOUNT, zone_id=ZONE, hostname=f"chat.{HOST}", service=worker.name)
cloudflare.WorkersCronTrigger(
    "crons", account_id=ACCOUNT, script_name=worker.name, schedules=[{"cron": "*/5 * * * *"}, {"cron": "0 16 * * SUN"}]
)
cloudflare.Ruleset(
    "limits",
    zone_id=ZONE,
    kind="zone",
    phase="http_ratelimit",
    name="limits",
    rules=[
        {
            "action": "block",
            "expression": 'starts_with(http.request.uri.path, "/v1")',
            "ratelimit": {"characteristics": ["ip.src", "cf.colo.id"], "period": 10, "requests_per_period": 20},
        }
    ],
)
if how == "import":
    cloudflare.Queue(
        "adopted",
        account_id=ACCOUNT,
        queue_name="by-hand",
        opts=pulumi.ResourceOptions(import_=f"{ACCOUNT}/{os.environ['SAMPLE_QUEUE']}"),
    )
pulumi.export("link", pulumi.Output.concat(f"https://chat.{HOST}/", cache.id))
pulumi.export("workers_dev", worker.subdomain.url)
