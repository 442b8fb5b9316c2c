"""Every row against the real local stage: its API and workerd behind it must agree with the provider."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from sluiceway.engine.provider.transport import Client, Request
from sluiceway.errors import SluicewayError
from tests.local.conftest import LocalStage
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import ACCOUNT, ZONE, Driver, Made
from tests.unit.provider.samples import CANARY, SAMPLES, rule, worker_version
from tests.unit.provider.test_table import IMPORT_IDS, UNDELETABLE

if TYPE_CHECKING:
    pass

LOCAL_ZONE = hashlib.md5(b"sluiceway.test", usedforsecurity=False).hexdigest()
CODE = """\
import { DurableObject } from "cloudflare:workers"
export class Roll_Out extends DurableObject {}
export default { fetch() { return new Response("hello") } }
"""


class OneShotClient(Client):
    """Opens its connection anew for each call, since the driver runs each in a loop of its own."""

    async def _once(self, request: Request, attempt: int) -> Any:  # noqa: ANN401
        self._http = None
        try:
            return await super()._once(request, attempt)
        finally:
            await self.aclose()


@dataclass
class StageDriver(Driver):
    base_url: str = ""
    token: str = ""
    made: dict[str, Made] = field(default_factory=dict)

    def _client(self) -> Client:
        return OneShotClient(self.base_url, self.token)


@pytest.fixture
def stage(local_stage: LocalStage) -> StageDriver:
    return StageDriver(FakeCloudflare(), base_url=local_stage.runtime.api_url, token=local_stage.token)


def module(code: str) -> list[dict[str, Any]]:
    content = base64.b64encode(code.encode()).decode()
    return [{"name": "index.js", "contentType": "application/javascript+module", "contentBase64": content}]


def samples(made: dict[str, Made]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is made, in order; later ones name what earlier ones became."""
    for kind in ("Worker", "WorkersKvNamespace", "R2Bucket", "Queue", "AiGateway", "Ruleset", "R2BucketLifecycle"):
        yield kind, _local(SAMPLES[kind])
    namespace = made["WorkersKvNamespace"].rid
    version = worker_version(workerId=made["Worker"].rid, modules=module(CODE))
    version["bindings"][0]["namespaceId"] = namespace
    version["bindings"][2]["jurisdiction"] = "eu"
    yield "WorkerVersion", version
    versions = [{"versionId": made["WorkerVersion"].rid, "percentage": 100}]
    yield "WorkersDeployment", {**SAMPLES["WorkersDeployment"], "versions": versions}
    for kind in ("WorkersScriptSubdomain", "WorkersRoute", "WorkersCustomDomain", "WorkersCronTrigger"):
        yield kind, _local(SAMPLES[kind])
    yield "WorkersKv", {**SAMPLES["WorkersKv"], "namespaceId": namespace}


def _local(sample: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(sample).replace("fake.test", "sluiceway.test").replace(ZONE, LOCAL_ZONE)
    return dict(json.loads(text))


UPDATES: dict[str, dict[str, Any]] = {
    "Worker": {"tags": ["a"], "observability": {"enabled": True}},
    "WorkersKvNamespace": {"title": "other"},
    "WorkersKv": {"value": "other", "metadata": None},
    "R2Bucket": {"storageClass": "InfrequentAccess"},
    "R2BucketLifecycle": {"rules": []},
    "Queue": {"settings": {"deliveryDelay": 5, "messageRetentionPeriod": 86400}},
    "AiGateway": {"cacheTtl": 600},
    "Ruleset": {"rules": [rule("one"), rule("two")]},
    "WorkersRoute": {"pattern": "api.sluiceway.test/v2/*"},
    "WorkersCronTrigger": {"schedules": [{"cron": "0 9 * * MON-FRI"}]},
    "WorkersScriptSubdomain": {"previewsEnabled": True},
}


@pytest.mark.long
def test_every_row_agrees_with_the_local_stage(stage: StageDriver) -> None:
    """Made, read, imported, updated: never a change that nobody asked for."""
    for kind, wanted in samples(stage.made):
        made = stage.made[kind] = stage.create(kind, wanted)
        fresh = stage.refresh(made)
        assert fresh is not None
        assert (kind, stage.changed(made, wanted), stage.changed(fresh, wanted)) == (kind, [], [])
        assert fresh.inputs == made.inputs
        imported = stage.imported(kind, _import_id(stage, kind))
        assert imported is not None
        assert (kind, imported.rid, stage.changed(imported, wanted)) == (kind, made.rid, [])
    for kind, change in UPDATES.items():
        wanted = {**stage.made[kind].inputs, **change}
        assert stage.diff(stage.made[kind], wanted).replaces == []
        stage.made[kind] = stage.update(stage.made[kind], wanted)
        fresh = stage.refresh(stage.made[kind])
        assert fresh is not None
        assert (kind, stage.changed(fresh, wanted)) == (kind, [])
    _codes_are_those_that_hints_know(stage)
    for kind in reversed(stage.made):
        stage.delete(stage.made[kind])
        gone = stage.refresh(stage.made[kind]) is None
        assert gone or kind in UNDELETABLE | {"WorkersScriptSubdomain"}


def _import_id(stage: StageDriver, kind: str) -> str:
    text = IMPORT_IDS[kind].format(a=ACCOUNT, z=LOCAL_ZONE, id=stage.made[kind].rid)
    for stand_in, real in (("/w1/", "Worker"), ("/n1/", "WorkersKvNamespace")):
        if stand_in in text:
            text = text.replace(stand_in, f"/{stage.made[real].rid}/")
    return text


def _codes_are_those_that_hints_know(stage: StageDriver) -> None:
    # An empty bucket that is as asked for is taken over; what is in use, or otherwise, is refused.
    assert stage.create("R2Bucket", SAMPLES["R2Bucket"]).rid == stage.made["R2Bucket"].rid
    broken = worker_version(workerId=stage.made["Worker"].rid, modules=module(f"throw new Error('{CANARY}')"))
    refused: list[tuple[str, dict[str, Any], int]] = [
        ("R2BucketLifecycle", {**SAMPLES["R2BucketLifecycle"], "jurisdiction": "default"}, 10006),
        ("WorkersCronTrigger", {**SAMPLES["WorkersCronTrigger"], "scriptName": "nobody"}, 10007),
        ("WorkersKvNamespace", {"accountId": ACCOUNT, "title": "other"}, 10014),
        ("Queue", SAMPLES["Queue"], 11009),
        ("Worker", {"accountId": "f" * 32, "name": "x"}, 9109),
        ("WorkerVersion", broken, 10085),
        ("WorkerVersion", {**broken, "bindings": broken["bindings"][-1:], "exports": None}, 10021),
    ]
    for kind, inputs, code in refused:
        with pytest.raises(SluicewayError) as fault:
            stage.create(kind, inputs)
        assert f"failed: error {code}: " in str(fault.value)
        assert fault.value.hint
        assert CANARY not in str(fault.value)
