"""Worker versions moved, tried and taken back by Cloudflare's own deployments, on the API and in workerd."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from sluiceway.cloudflare.worker_api import WorkerApi, sdk
from sluiceway.errors import UserError
from sluiceway.release.gates import Reading, Window
from sluiceway.release.proof import Changed, Exists, proofs
from sluiceway.release.ramp import Plan
from sluiceway.release.read import read
from sluiceway.release.rollback import rollback
from sluiceway.release.runner import Options, Runner, Told
from sluiceway.release.smoke import Target, smoke
from sluiceway.release.world import WorkerVersion
from tests.local.conftest import LocalStage

CODE = """\
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {}
export class Extra extends DurableObject {}
export default {
  fetch(request, env) {
    const body = { status: "ready", worker_version: env.VERSION.id };
    return Response.json(body, { status: STATUS, headers: { "x-sluiceway-release": env.VERSION.tag } });
  },
};
"""
COUNTER = {"Counter": {"type": "durable-object", "storage": "sqlite"}}
EXTRA = {**COUNTER, "Extra": {"type": "durable-object", "storage": "sqlite"}}


class ToStage(httpx.BaseTransport):
    """Every host is the local stage's."""

    def __init__(self, stage: LocalStage) -> None:
        self._front = httpx.URL(stage.runtime.front_url)
        self._transport = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host=self._front.host, port=self._front.port)
        return self._transport.handle_request(request)

    def close(self) -> None:
        self._transport.close()


class Worker:
    """A Worker of this test's own, with what a gateway says on ``/readyz``."""

    def __init__(self, stage: LocalStage, name: str) -> None:
        self.stage, self.name, self.account = stage, name, stage.runtime.account_id
        self.client = sdk(stage.token, stage.runtime.api_url)
        self.api = WorkerApi(self.client, self.account, name)
        self.client.workers.beta.workers.create(account_id=self.account, name=name, subdomain={"enabled": True})
        self.uploads = 0

    def upload(
        self,
        *,
        status: int = 200,
        tag: str | None = None,
        exports: dict[str, Any] = COUNTER,
        bindings: Sequence[dict[str, str]] = (),
    ) -> str:
        self.uploads += 1
        code = base64.b64encode(f"const STATUS = {status};\n{CODE}".encode()).decode()
        body = {
            "main_module": "index.js",
            "compatibility_date": "2026-07-01",
            "modules": [{"name": "index.js", "content_type": "application/javascript+module", "content_base64": code}],
            "bindings": [{"name": "VERSION", "type": "version_metadata"}, *bindings],
            "exports": exports,
            "annotations": {"workers/tag": tag or f"r-{self.uploads:012}"},
        }
        path = f"/accounts/{self.account}/workers/workers/{self.name}/versions"
        made: Any = self.client.post(path, body=body, cast_to=object)
        return str(made["result"]["id"])

    @property
    def target(self) -> Target:
        return Target(f"http://{self.name}.local.workers.dev", self.name, "key")

    def smoke(self, version: WorkerVersion) -> str | None:
        return smoke(self.target, version, transport=ToStage(self.stage), sleep=lambda _: None)

    def answers(self, count: int = 40) -> Counter[str]:
        with httpx.Client(transport=ToStage(self.stage), timeout=30) as client:
            return Counter(client.get(self.target.url).headers["x-sluiceway-release"] for _ in range(count))


class Gates:
    """Says the same of every step but ``bad``; looks at what is answered at each."""

    def __init__(self, worker: Worker, bad: float | None = None) -> None:
        self.worker, self.bad, self.source = worker, bad, "a test"
        self.seen: dict[float, Counter[str]] = {}
        self.ended = False

    def verdict(self, old: str, new: str, window: Window) -> Reading:
        percent = dict(self.worker.api.deployments()[0].shares)[new]
        self.seen.setdefault(percent, self.worker.answers())
        return Reading("fail", "errors fail", "errors") if percent == self.bad else Reading("pass", "errors pass")

    def end(self) -> None:
        self.ended = True


def run(worker: Worker, gates: Gates, told: list[Told] | None = None, **options: bool) -> Told:
    plan = Plan((50, 100), timedelta(0))
    runner = Runner(
        worker.api, plan, gates, worker.smoke, lambda _: None, lambda: datetime.now(UTC), lambda _: None,
        (told if told is not None else []).append,
    )  # fmt: skip
    return runner.run(Options(**options))  # type: ignore[arg-type]


@pytest.fixture
def worker(local_stage: LocalStage, request: pytest.FixtureRequest) -> Iterator[Worker]:
    name = f"rel-{abs(hash(request.node.name)) % 10**8}"
    made = Worker(local_stage, name)
    made.api.deploy([(made.upload(), 100)], "")
    yield made
    made.client.workers.beta.workers.delete(made.name, account_id=made.account)
    made.client.close()


def test_a_new_version_is_tried_without_traffic_and_then_gets_it_step_by_step(worker: Worker) -> None:
    new = worker.upload()
    gates = Gates(worker)
    assert not run(worker, gates).failed
    assert gates.ended
    assert gates.seen[50]["r-000000000001"] and gates.seen[50]["r-000000000002"]
    assert worker.answers() == {"r-000000000002": 40}
    shares = [made.shares for made in worker.api.deployments()]
    assert shares[0] == ((new, 100.0),)
    assert [dict(made)[new] for made in shares[:-1]] == [100, 95, 50, 0]


def test_the_smoke_test_knows_an_answer_of_another_version(worker: Worker) -> None:
    uploaded = worker.upload()
    new = next(version for version in read(worker.api).versions if version.id == uploaded)
    told = worker.smoke(new)
    assert told is not None and "answered by" in told, "it is not part of the deployment yet"
    worker.api.deploy([(read(worker.api).versions[1].id, 100), (new.id, 0)], "")
    assert worker.smoke(new) is None
    assert worker.answers() == {"r-000000000001": 40}


def test_a_version_that_is_not_ready_is_taken_out_before_anybody_gets_it(worker: Worker) -> None:
    worker.upload(status=503)
    gates = Gates(worker)
    told = run(worker, gates)
    assert told.failed and "503" in told.sentence
    assert gates.seen == {}
    assert worker.answers() == {"r-000000000001": 40}


def test_a_failing_gate_gives_all_back(worker: Worker) -> None:
    worker.upload()
    assert run(worker, Gates(worker, bad=50)).failed
    assert worker.answers() == {"r-000000000001": 40}
    assert run(worker, Gates(worker)).failed, "it is held"


def test_tf_04_a_release_with_a_migration_is_never_split_and_a_plain_deployment_of_it_works(worker: Worker) -> None:
    with pytest.raises(Exception, match="10211"):
        worker.upload(exports=EXTRA)  # the platform's own rule: it can't even be uploaded
    path = f"/accounts/{worker.account}/workers/workers/{worker.name}/versions?deploy=true"
    worker.client.post(path, body=_with_extra(worker), cast_to=object)
    assert worker.answers() == {"r-extra": 40}
    with pytest.raises(UserError, match="adds the class Extra"):
        rollback(read(worker.api), None, actor="ann", force=True)


def _with_extra(worker: Worker) -> dict[str, Any]:
    code = base64.b64encode(f"const STATUS = 200;\n{CODE}".encode()).decode()
    return {
        "main_module": "index.js", "compatibility_date": "2026-07-01", "exports": EXTRA,
        "modules": [{"name": "index.js", "content_type": "application/javascript+module", "content_base64": code}],
        "bindings": [{"name": "VERSION", "type": "version_metadata"}], "annotations": {"workers/tag": "r-extra"},
    }  # fmt: skip


def test_wr_07_a_split_of_others_and_their_variable_are_named_and_go_only_when_forced(worker: Worker) -> None:
    variable = {"name": "FEATURE_X", "type": "plain_text", "text": "on"}
    other = worker.upload(tag="by-hand", bindings=[variable])
    first = read(worker.api).versions[-1].id
    worker.api.deploy([(first, 90), (other, 10)], "a canary by hand")
    third = worker.upload()
    with pytest.raises(UserError) as refused:
        run(worker, Gates(worker))
    assert first[:8] in str(refused.value) and other[:8] in str(refused.value)
    assert "FEATURE_X" in str(refused.value)
    assert worker.api.deployments()[0].message == "a canary by hand"
    told: list[Told] = []
    assert not run(worker, Gates(worker), told, force=True).failed
    assert worker.api.deployments()[0].shares == ((third, 100.0),)
    recorded = worker.api.deployments()[3].message
    for words in (recorded, told[0].sentence):
        assert "FEATURE_X" in words and "90 %" in words and "10 %" in words


def test_the_version_before_comes_back_to_all_requests(worker: Worker) -> None:
    worker.api.deploy([(worker.upload(), 100)], "")
    found = rollback(read(worker.api), None, actor="ann", force=False)
    worker.api.deploy([(share.version, share.percent) for share in found.shares], found.message)
    assert worker.answers() == {"r-000000000001": 40}
    (gone,) = found.withdrawn
    assert gone.order == f"{gone.created_on}\n{gone.id}" and gone.created_on.endswith("Z")


def test_an_edited_secret_is_told_and_brought_back_only_when_forced(worker: Worker) -> None:
    secret = {"name": "KEY", "type": "secret_text", "text": "one"}
    version = worker.upload(bindings=[secret])
    worker.api.deploy([(version, 100)], "")
    worker.client.workers.scripts.secrets.update(
        worker.name, account_id=worker.account, name="KEY", text="two", type="secret_text"
    )
    world = read(worker.api)
    found = proofs(world, Changed((("Counter", "sqlite"),), frozenset({"KEY"}), frozenset()), Exists({}))
    (old,) = [each for each in found if each.version.id == version]
    assert any("--force" in note for note in old.notes)
    with pytest.raises(UserError, match="10220") as refused:
        worker.api.deploy([(version, 100)], "")
    assert "--force" in (refused.value.hint or "")
    worker.api.deploy([(version, 100)], "", force=True)
    assert worker.api.deployments()[0].shares == ((version, 100.0),)


def test_what_exists_in_the_account_and_what_a_version_is_made_of_are_read(worker: Worker) -> None:
    namespace = worker.client.kv.namespaces.create(account_id=worker.account, title=f"{worker.name}-kv")
    assert namespace is not None
    bound = {"name": "CACHE", "type": "kv_namespace", "namespace_id": namespace.id}
    version = worker.upload(bindings=[bound])
    assert worker.api.kept().namespaces[f"{worker.name}-kv"] == namespace.id
    (found,) = [each for each in read(worker.api).versions if each.id == version]
    assert ("CACHE", "kv_namespace", namespace.id) in [(b.name, b.type, b.target) for b in found.bindings]
    assert b"worker_version" in worker.api.modules(version)["index.js"]
    worker.api.write_key(namespace.id, "spec/release", "text")
    kept = worker.client.kv.namespaces.values.get("spec/release", account_id=worker.account, namespace_id=namespace.id)
    assert kept.read() == b"text"


def test_a_worker_that_is_not_there_is_said_not_to_be(local_stage: LocalStage) -> None:
    with sdk(local_stage.token, local_stage.runtime.api_url) as client:
        api = WorkerApi(client, local_stage.runtime.account_id, "nowhere")
        assert not api.exists()
        with pytest.raises(UserError, match="does not exist"):
            read(api)
