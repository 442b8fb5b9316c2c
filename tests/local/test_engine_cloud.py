"""The real engine on our provider and the local stage's API: what public bug reports tell of a second update."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from sluiceway.engine.automation import StageStack
from sluiceway.engine.automation_events import Message, Step
from sluiceway.engine.automation_secrets import set_secret
from sluiceway.engine.resolve import Engine
from sluiceway.errors import SluicewayError
from sluiceway.local.api.config import zone_id
from tests.local.conftest import LocalStage
from tests.local.engine_project import Project, make_project

# One by one the cases are in the provider's own tests and, through the command, in tests/e2e.
pytestmark = pytest.mark.long

CANARY = "S3CR-7f2a-canary"
HEAD = f"""\
from infra.sdk import load_by_use
load_by_use()
import base64, json, pulumi
import pulumi_cloudflare as cf
ZONE = "{zone_id("sluiceway.test")}"
def module(code):
    content = base64.b64encode(code.encode()).decode()
    return [{{"name": "index.js", "content_type": "application/javascript+module", "content_base64": content}}]
def serve(name, bindings, code="export default {{ fetch() {{ return new Response('hello') }} }}\\r\\n\\n\\n"):
    worker = cf.Worker(name, account_id=ACCOUNT, name=name)
    version = cf.WorkerVersion(
        f"{{name}}-version", account_id=ACCOUNT, worker_id=worker.id, main_module="index.js",
        compatibility_date="2026-07-01", modules=module(code), bindings=bindings,
    )
    return worker, cf.WorkersDeployment(
        f"{{name}}-live", account_id=ACCOUNT, script_name=worker.name, strategy="percentage",
        versions=[{{"version_id": version.id, "percentage": 100}}],
    )
"""
BOUND = """\
kv = cf.WorkersKvNamespace("kv", account_id=ACCOUNT, title="case-kv")
bucket = cf.R2Bucket("bucket", account_id=ACCOUNT, name="case-models", location="WEUR")
known = {
    "Z_KV": {"type": "kv_namespace", "namespace_id": kv.id},
    "A_TEXT": {"type": "plain_text", "text": "hello"},
    "M_R2": {"type": "r2_bucket", "bucket_name": bucket.name},
    "LIMIT": {"type": "ratelimit", "namespace_id": "1001", "simple": {"limit": 600, "period": 60}},
}
serve("case-empty", [])
serve("case-bound", [{"name": name, **known[name]} for name in NAMES])
"""
SHARED = """\
blue, _ = serve("chat-blue", [])
green, _ = serve("chat-green", [])
owner = {"blue": blue, "green": green}[OWNER]
cf.WorkersRoute("route", zone_id=ZONE, pattern="api.sluiceway.test/case/*", script=owner.name)
cf.WorkersCronTrigger("crons", account_id=ACCOUNT, script_name=blue.name, schedules=[{"cron": "0 16 * * SUN"}])
limit = {"characteristics": ["ip.src", "cf.colo.id"], "period": 10, "requests_per_period": 20}
for model in MODELS:
    rule = {"action": "block", "expression": f'http.request.uri.path eq "/{model}"', "ratelimit": limit}
    cf.Ruleset(model, zone_id=ZONE, kind="zone", phase="http_ratelimit", name=model, rules=[rule])
"""
SECRET = """\
secret = pulumi.Config().require_secret("token")
coded = secret.apply(lambda text: base64.b64encode(text.encode()).decode())
header = secret.apply(lambda text: f"Bearer {text}")
kv = cf.WorkersKvNamespace("kv", account_id=ACCOUNT, title="case-secret")
cf.WorkersKv("header", account_id=ACCOUNT, namespace_id=kv.id, key_name="header", value=header)
texts = {"KEY": secret, "CODED": coded, "HEADER": header}
serve("case-secret", [{"name": name, "type": "secret_text", "text": text} for name, text in texts.items()], CODE)
pulumi.export("header", header)
pulumi.export("coded", coded)
"""


class Cloud(Project):
    """A project whose programs run against the local stage."""

    def programmed(self, body: str, **names: object) -> StageStack:
        account = self.env["CLOUDFLARE_ACCOUNT_ID"]
        values = "".join(f"{name} = {value!r}\n" for name, value in {"ACCOUNT": account, **names}.items())
        self.program(values + HEAD + body)
        return self.stack()

    def api(self, method: str, path: str, document: object = None) -> Any:  # noqa: ANN401 - JSON
        headers = {"authorization": f"Bearer {self.env['CLOUDFLARE_API_TOKEN']}"}
        answer = httpx.request(method, f"{self.env['CLOUDFLARE_BASE_URL']}{path}", headers=headers, json=document)
        assert answer.is_success, answer.text
        return answer.json()["result"] if answer.content else None


@pytest.fixture
def cloud(tmp_path: Path, engine: Engine, local_stage: LocalStage) -> Cloud:
    made = make_project(tmp_path / "checkout", engine)
    at = local_stage.runtime
    env = {"CLOUDFLARE_API_TOKEN": local_stage.token, "CLOUDFLARE_ACCOUNT_ID": at.account_id}
    urls = {"CLOUDFLARE_BASE_URL": at.api_url, "CLOUDFLARE_API_BASE_URL": at.api_url}
    project = Cloud(**vars(replace(made, env=made.env | env | urls)))
    project.stack().ensure()
    return project


def test_tf_01_tf_02_nothing_changes_after_an_update_in_whatever_order_bindings_stand(cloud: Cloud) -> None:
    """Also TF-06: the API spells a bucket's location otherwise; TF-02: no bindings, code with CRLF and empty lines."""
    three = ["Z_KV", "A_TEXT", "M_R2"]
    for names in (three, [*three, "LIMIT"]):
        assert cloud.programmed(BOUND, NAMES=names).up().changed > 0
        assert cloud.programmed(BOUND.replace("WEUR", "weur"), NAMES=names[::-1]).preview().changed == 0


RULESETS = f"/zones/{zone_id('sluiceway.test')}/rulesets"
FOREIGN = {
    "ref": "theirs", "action": "block", "expression": 'http.request.uri.path eq "/theirs"',
    "ratelimit": {"characteristics": ["ip.src", "cf.colo.id"], "period": 10, "requests_per_period": 5},
}  # fmt: skip


def test_tf_07_tf_08_models_share_a_ruleset_and_a_route_moves_without_a_gap(cloud: Cloud) -> None:
    """Also WR-04: a schedule on SUN is no change however the platform spells it."""
    entry = {"name": "default", "kind": "zone", "phase": "http_ratelimit", "rules": [FOREIGN]}
    by_hand = cloud.api("POST", RULESETS, entry)
    cloud.programmed(SHARED, OWNER="blue", MODELS=["chat", "intent"]).up()
    assert refs(cloud) == {"theirs", "chat-0", "intent-0"}
    cloud.events.clear()
    moved = cloud.programmed(SHARED, OWNER="green", MODELS=["chat"]).up()
    assert {op: count for op, count in moved.changes.items() if op != "same"} == {"update": 1, "delete": 1}
    steps = {(one.op, one.name) for one in cloud.events if isinstance(one, Step) and one.op != "same"}
    assert steps == {("update", "route"), ("delete", "intent")}, "one update moves the route: it always has an owner"
    assert refs(cloud) == {"theirs", "chat-0"}
    assert [rule["id"] for rule in rules(cloud) if rule["ref"] == "theirs"] == [by_hand["rules"][0]["id"]]
    cloud.api("DELETE", f"{RULESETS}/{by_hand['id']}")


def rules(cloud: Cloud) -> list[dict[str, Any]]:
    (only,) = [one for one in cloud.api("GET", RULESETS) if one["phase"] == "http_ratelimit"]
    return list(cloud.api("GET", f"{RULESETS}/{only['id']}")["rules"])


def refs(cloud: Cloud) -> set[str]:
    return {rule["ref"] for rule in rules(cloud)}


def test_pu_07_a_secret_in_a_binding_a_header_and_base64_is_nowhere_also_when_the_deploy_fails(cloud: Cloud) -> None:
    stack = cloud.programmed(SECRET, CODE="export default { fetch() { return new Response('') } }")
    set_secret(stack, "token", CANARY)
    up = stack.up()
    assert up.outputs["header"].secret and up.outputs["coded"].secret
    assert up.outputs["header"].value == f"Bearer {CANARY}", "it was really used"
    broken = cloud.programmed(SECRET, CODE="throw new Error('boom')")
    with pytest.raises(SluicewayError, match="10021") as caught:
        broken.up()
    state = stack.run("stack", "export", "-s", "local").stdout
    assert (
        len([one for one in json.loads(state)["deployment"]["resources"] if one["type"].startswith("cloudflare:")]) > 4
    )
    texts = [caught.value.render(), state]
    texts += [one.text for one in cloud.events if isinstance(one, Message)]
    texts += [file.read_text("utf-8", "replace") for file in written(cloud)]
    words = [CANARY, base64.b64encode(CANARY.encode()).decode().rstrip("=")]
    words += [base64.b64encode(f"Bearer {CANARY}".encode()).decode().rstrip("=")]
    assert not [word for text in texts for word in words if word in text]


def written(cloud: Cloud) -> list[Path]:
    root = cloud.workspace.root
    found = [file for file in root.rglob("*") if file.is_file() and not file.is_symlink() and ".venv" not in file.parts]
    assert len(found) > 10
    return found
