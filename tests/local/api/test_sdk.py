"""Cloudflare's own Python SDK against the API on a real port."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import cloudflare
import pytest
import uvicorn
from cloudflare import Cloudflare
from starlette.applications import Starlette

from sluiceway.local.api.app import ApiConfig, Control, routes
from sluiceway.local.api.config import zone_id
from sluiceway.local.api.host_client import HostClient
from sluiceway.local.runtime_file import ACCOUNT_ID
from sluiceway.local.store import Store
from tests.local.api.conftest import CODE, TOKEN
from tests.local.api.fake_host import FakeHost

A, ZONE = ACCOUNT_ID, zone_id("sluiceway.test")


@pytest.fixture
def sdk(tmp_path: Path) -> Iterator[Cloudflare]:
    store = Store.open(tmp_path / "state.sqlite")
    host = HostClient("http://host", "t", transport=FakeHost())
    control = Control(store, host, ApiConfig(TOKEN, tmp_path / "modules"))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes(control)), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with Cloudflare(api_token=TOKEN, base_url=f"http://127.0.0.1:{port}/client/v4", max_retries=0) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        store.close()


def test_the_sdk_reads_who_it_is(sdk: Cloudflare) -> None:
    verified = sdk.user.tokens.verify()
    assert verified and verified.status == "active"
    assert [account.id for account in sdk.accounts.list()] == [A]
    assert [zone.id for zone in sdk.zones.list(name="sluiceway.test")] == [ZONE]


def test_the_sdk_ships_a_worker(sdk: Cloudflare) -> None:
    worker = sdk.workers.beta.workers.create(account_id=A, name="chat", subdomain={"enabled": True})
    module = {
        "name": "index.js",
        "content_type": "application/javascript+module",
        "content_base64": base64.b64encode(CODE.encode()).decode(),
    }
    versions = [
        sdk.workers.beta.workers.versions.create(
            account_id=A,
            worker_id=worker.id,
            main_module="index.js",
            modules=[module],  # type: ignore[list-item]
            compatibility_date="2026-07-01",
            bindings=[{"name": "KEY", "type": "secret_text", "text": "s"}],
            annotations={"workers_tag": f"v{i}"},
        )
        for i in (1, 2)
    ]
    made = sdk.workers.scripts.deployments.create(
        "chat",
        account_id=A,
        strategy="percentage",
        versions=[{"version_id": v.id, "percentage": p} for v, p in zip(versions, (90, 10), strict=True)],
    )
    got = sdk.workers.scripts.deployments.get(made.id, account_id=A, script_name="chat")
    assert [share.percentage for share in got.versions] == [90, 10]
    read = sdk.workers.beta.workers.versions.get(versions[0].id, account_id=A, worker_id=worker.id)
    assert read.annotations and read.annotations.workers_tag == "v1"
    assert [v.id for v in sdk.workers.scripts.versions.list("chat", account_id=A)] == [versions[1].id, versions[0].id]
    sdk.workers.beta.workers.delete(worker.id, account_id=A)
    with pytest.raises(cloudflare.NotFoundError):
        sdk.workers.beta.workers.get(worker.id, account_id=A)


def test_the_sdk_uploads_a_script(sdk: Cloudflare) -> None:
    done = sdk.workers.scripts.update(
        "plain",
        account_id=A,
        metadata={"main_module": "index.js", "compatibility_date": "2026-07-01"},
        files=[("index.js", CODE.encode(), "application/javascript+module")],
    )
    assert done.id == "plain" and done.startup_time_ms == 7
    assert [script.id for script in sdk.workers.scripts.list(account_id=A)] == ["plain"]
    sdk.workers.scripts.schedules.update("plain", account_id=A, body=[{"cron": "*/5 * * * *"}])
    assert sdk.workers.scripts.schedules.get("plain", account_id=A).schedules[0].cron == "*/5 * * * *"


def test_the_sdk_keeps_keys_and_buckets(sdk: Cloudflare) -> None:
    namespace = sdk.kv.namespaces.create(account_id=A, title="cache")
    assert namespace
    sdk.kv.namespaces.values.update(
        "a/b c", account_id=A, namespace_id=namespace.id, value=b"v", metadata=json.dumps(1)
    )
    read = sdk.kv.namespaces.values.get("a/b c", account_id=A, namespace_id=namespace.id)
    assert read.read() == b"v"
    assert [key.name for key in sdk.kv.namespaces.keys.list(namespace.id, account_id=A)] == ["a/b c"]
    assert [n.title for n in sdk.kv.namespaces.list(account_id=A)] == ["cache"]
    sdk.r2.buckets.create(account_id=A, name="models", cf_r2_jurisdiction="eu")
    with pytest.raises(cloudflare.NotFoundError):
        sdk.r2.buckets.get("models", account_id=A)
    assert sdk.r2.buckets.get("models", account_id=A, cf_r2_jurisdiction="eu").name == "models"


def test_the_sdk_makes_queues_gateways_and_rulesets(sdk: Cloudflare) -> None:
    queue = sdk.queues.create(account_id=A, queue_name="events")
    assert queue and [q.queue_id for q in sdk.queues.list(account_id=A)] == [queue.queue_id]
    gateway = sdk.ai_gateway.create(
        account_id=A,
        id="local",
        cache_ttl=0,
        cache_invalidate_on_update=True,
        collect_logs=True,
        rate_limiting_interval=60,
        rate_limiting_limit=50,
        rate_limiting_technique="sliding",
    )
    assert sdk.ai_gateway.get("local", account_id=A).created_at == gateway.created_at
    ruleset = sdk.rulesets.create(zone_id=ZONE, name="limits", kind="zone", phase="http_ratelimit", rules=[])
    with pytest.raises(cloudflare.BadRequestError) as refused:
        sdk.rulesets.create(zone_id=ZONE, name="second", kind="zone", phase="http_ratelimit", rules=[])
    assert refused.value.errors[0].code == 20217
    assert [found.id for found in sdk.rulesets.list(zone_id=ZONE)] == [ruleset["id"]]  # type: ignore[index]
    route = sdk.workers.routes.create(zone_id=ZONE, pattern="sluiceway.test/*")
    assert [r.id for r in sdk.workers.routes.list(zone_id=ZONE)] == [route.id]


def test_the_sdk_makes_an_adapter_and_gives_it_its_files(sdk: Cloudflare) -> None:
    made = sdk.ai.finetunes.create(account_id=A, model="@cf/google/gemma-2b-it-lora", name="tone-1", description="kind")
    config = json.dumps({"r": 8, "model_type": "gemma"}).encode()
    for name, data in (
        ("adapter_config.json", config),
        ("adapter_model.safetensors", (2).to_bytes(8, "little") + b"{}"),
    ):
        sent = sdk.ai.finetunes.assets.create(made.id, account_id=A, file_name=name, file=(name, data))
        assert sent.success is True
        with pytest.raises(cloudflare.BadRequestError, match="can't be changed"):
            sdk.ai.finetunes.assets.create(made.id, account_id=A, file_name=name, file=(name, data))
    listed = sdk.ai.finetunes.with_raw_response.list(account_id=A).http_response.json()["result"]
    assert [(each["name"], each["id"]) for each in listed] == [("tone-1", made.id)]
    assert [each.public for each in sdk.ai.finetunes.public.list(account_id=A)] == [True] * 3
    with pytest.raises(cloudflare.BadRequestError, match="MODEL_NOT_SUPPORTED"):
        sdk.ai.finetunes.create(account_id=A, model="@cf/zai-org/glm-5.2", name="tone-2")
