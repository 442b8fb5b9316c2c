"""The real engine on our provider while the local stage's API fails: finished, or one error, and then mended by the
next update."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.local.api.config import zone_id
from sluiceway.local.faults import client
from tests.local.conftest import LocalStage
from tests.local.test_engine_cloud import Cloud, cloud

__all__ = ["cloud"]

# Each takes several real updates; call by call it is shown in tests/unit/provider/test_lost_answers.py.
pytestmark = pytest.mark.long

ALL_KINDS = """\
kv = cf.WorkersKvNamespace("kv", account_id=ACCOUNT, title="fault-kv")
cf.WorkersKv("value", account_id=ACCOUNT, namespace_id=kv.id, key_name="a/b", value="c")
cf.R2Bucket("bucket", account_id=ACCOUNT, name="fault-models", location="weur")
cf.Queue("queue", account_id=ACCOUNT, queue_name="fault-events")
cf.AiGateway(
    "gateway", account_id=ACCOUNT, ai_gateway_id="fault", cache_ttl=0, cache_invalidate_on_update=True,
    collect_logs=False, rate_limiting_interval=60, rate_limiting_limit=100,
)
worker, live = serve("fault", [{"name": "KV", "type": "kv_namespace", "namespace_id": kv.id}])
cf.WorkersRoute("route", zone_id=ZONE, pattern="api.sluiceway.test/fault/*", script=worker.name)
cf.WorkersCustomDomain("domain", account_id=ACCOUNT, zone_id=ZONE, hostname="fault.sluiceway.test", service=worker.name,
    opts=pulumi.ResourceOptions(depends_on=[live]))
cf.WorkersCronTrigger("crons", account_id=ACCOUNT, script_name=worker.name, schedules=[{"cron": "0 16 * * SUN"}])
limit = {"characteristics": ["ip.src", "cf.colo.id"], "period": 10, "requests_per_period": 20}
rule = {"action": "block", "expression": 'http.request.uri.path eq "/fault"', "ratelimit": limit}
cf.Ruleset("limits", zone_id=ZONE, kind="zone", phase="http_ratelimit", name="limits", rules=[rule])
"""
MADE = 13
UNIQUE = {
    "storage/kv/namespaces": "fault-kv",
    "r2/buckets": "fault-models",
    "queues": "fault-events",
    "ai-gateway/gateways": '"fault"',
    "workers/workers": '"fault"',
    "workers/domains": "fault.sluiceway.test",
}


@pytest.fixture
def faults(local_stage: LocalStage) -> Iterator[LocalStage]:
    yield local_stage
    client.clear(local_stage.data)


def add(stage: LocalStage, *products: str, **fault: Any) -> None:  # noqa: ANN401
    client.add(stage.data, {"api": list(products) or ["all"], **fault})


def there(cloud: Cloud) -> list[str]:
    """What of the program there is, once for each."""
    account = f"/accounts/{cloud.env['CLOUDFLARE_ACCOUNT_ID']}"
    found = []
    for path, name in UNIQUE.items():
        # Other tests leave things on this stage: one page has them all.
        listed = cloud.api("GET", f"{account}/{path}?per_page=100")
        items = listed["buckets"] if isinstance(listed, dict) else listed
        found += [path for item in items if name in str(item).replace("'", '"')]
    zone = f"/zones/{zone_id('sluiceway.test')}"
    found += ["routes" for route in cloud.api("GET", f"{zone}/workers/routes") if "fault" in route["pattern"]]
    return found + ["rulesets" for _ in cloud.api("GET", f"{zone}/rulesets")]


EACH_ONCE = [*UNIQUE, "routes", "rulesets"]


def test_answers_that_are_lost_late_or_errors_hold_up_no_update_refresh_or_destroy(
    cloud: Cloud, faults: LocalStage
) -> None:
    add(faults, methods=["POST"], drop=True, after=True)
    add(faults, methods=["PUT"], status=504, after=True, share=0.5)
    add(faults, methods=["GET", "PUT"], status=429, retry_after=1, count=2)
    stack = cloud.programmed(ALL_KINDS)
    assert stack.up().changed == MADE
    assert there(cloud) == EACH_ONCE
    account = f"/accounts/{cloud.env['CLOUDFLARE_ACCOUNT_ID']}"
    assert len(cloud.api("GET", f"{account}/workers/workers/fault/versions")) == 1
    assert len(cloud.api("GET", f"{account}/workers/scripts/fault/deployments")["deployments"]) == 1
    client.clear(faults.data)
    add(faults, methods=["GET"], status=502, count=3)
    assert stack.refresh().changed == 0
    assert stack.preview().changed == 0
    add(faults, methods=["DELETE"], drop=True, after=True)
    stack.destroy()
    client.clear(faults.data)
    assert there(cloud) == []


def test_an_update_that_gets_no_answers_is_one_error_for_each_and_the_next_doubles_nothing(
    cloud: Cloud, faults: LocalStage
) -> None:
    unlucky = ["kv", "queues", "ai-gateway", "r2"]
    add(faults, *unlucky, methods=["POST"], drop=True, after=True)
    add(faults, *unlucky, methods=["GET"], status=503)
    stack = cloud.programmed(ALL_KINDS)
    with pytest.raises(SluicewayError) as caught:
        stack.up()
    assert caught.value.exit_code == 1
    told = caught.value.message.splitlines()
    assert "kv: WorkersKvNamespace 'kv': POST /accounts/" in caught.value.message
    assert "failed: no answer: " in caught.value.message
    assert any("what is there is taken over" in line for line in told)
    assert "Traceback" not in caught.value.message
    client.clear(faults.data)
    stack.up()
    assert there(cloud) == EACH_ONCE
    assert stack.preview().changed == 0
    stack.destroy()
    assert there(cloud) == []


def test_plain_pulumi_names_resource_call_and_cloudflares_error_and_goes_on_next_time(
    cloud: Cloud, faults: LocalStage
) -> None:
    cloud.programmed(ALL_KINDS)
    add(faults, "queues", methods=["POST"], status=500, code=10002)
    failed = pulumi(cloud, "up", "--yes", "--skip-preview")
    assert failed.returncode != 0
    error = next(line for line in failed.stdout.splitlines() if "failed: " in line)
    assert "Queue 'queue': POST /accounts/" in error
    assert "failed: error 10002: An unknown error has occurred. (tried 4 times)" in error
    assert "Traceback" not in failed.stdout
    client.clear(faults.data)
    assert pulumi(cloud, "up", "--yes", "--skip-preview").returncode == 0
    assert there(cloud) == EACH_ONCE
    assert pulumi(cloud, "preview", "--expect-no-changes").returncode == 0
    assert pulumi(cloud, "destroy", "--yes", "--skip-preview").returncode == 0


def pulumi(cloud: Cloud, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **cloud.env}
    return subprocess.run(
        ["pulumi", *words, "-s", "local", "--non-interactive"], cwd=cloud.workspace.root, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False,
    )  # fmt: skip
