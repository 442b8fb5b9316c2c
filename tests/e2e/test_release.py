"""Worker releases on a stage of their own: others are not overwritten; new code is tried, moved and taken back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sluiceway.cloudflare.worker_api import WorkerApi, sdk
from tests.e2e.checkout import Checkout
from tests.e2e.conftest import bring_up
from tests.local.api.conftest import CODE, version_body
from tests.warm import Done

# A whole stage at work; each part has its own test in seconds.
pytestmark = pytest.mark.long

WORKER = "sluiceway-local"


def api_of(checkout: Checkout) -> WorkerApi:
    runtime = json.loads((checkout.root / ".sluiceway/local/runtime.json").read_text())
    token = (checkout.root / ".sluiceway/local/token").read_text().strip()
    return WorkerApi(sdk(token, runtime["api_url"]), runtime["account_id"], WORKER)


def setting(checkout: Checkout, line: str) -> None:
    """Writes one more setting into the stage's file, in the place of what stood there under its name."""
    path = checkout.root / "stacks/Pulumi.local.yaml"
    name = line.partition(": ")[0]
    kept = [old for old in path.read_text("utf-8").splitlines() if not old.startswith(f"  sluiceway:{name}: ")]
    path.write_text("\n".join([*kept, f"  sluiceway:{line}"]) + "\n", "utf-8")


def split_by_hand(api: WorkerApi, client: Any, account: str) -> tuple[str, str]:  # noqa: ANN401 - the SDK's client
    """v1 90 %, and 10 % to a version of somebody else's with a variable that git doesn't know."""
    first = api.versions()[0]
    code = "".join(f"export class {name} extends DurableObject {{}}\n" for name in first.exports or {})
    code = f'import {{ DurableObject }} from "cloudflare:workers";\n{code}{CODE}'
    exports = {name: {"type": "durable-object", "storage": kind} for name, kind in (first.exports or {}).items()}
    body = version_body(code, exports=exports, bindings=[{"name": "FEATURE_X", "type": "plain_text", "text": "on"}])
    made = client.post(f"/accounts/{account}/workers/workers/{WORKER}/versions", body=body, cast_to=object)
    other = str(made["result"]["id"])
    api.deploy([(first.id, 90), (other, 10)], "a canary by hand")
    return first.id, other


def test_wr_07_others_are_not_overwritten_and_new_code_is_ramped_and_taken_back(
    fresh: Callable[[], Checkout],
) -> None:
    served = bring_up(fresh())
    checkout, api = served.checkout, api_of(served.checkout)
    with api._client as client:
        first, other = split_by_hand(api, client, api._account)
        same = checkout.sluiceway("up", "local")
        assert same.code == 0, f"an update without changes asks nothing: {same.err}"
        second = refused_then_forced(checkout, api, first, other)
        third = uploaded_only(checkout, api, second)
        for shares in (((second, 100.0), (third, 0.0)), ((second, 50.0), (third, 50.0))):
            moved = done(checkout.sluiceway("release", "ramp", "local", "--once", "--json"))
            assert moved["kind"] == "deploy"
            assert api.deployments()[0].shares == shares
        assert len(releases(served.url)) == 2
        back = done(checkout.sluiceway("release", "rollback", "local", "--json"))
        assert back["back"]["id"] == second and back["trouble"] is None
        assert api.deployments()[0].shares == ((second, 100.0),)
        assert releases(served.url) == {back["back"]["release"]}
        held = checkout.sluiceway("release", "ramp", "local")
        assert held.code == 3 and "held" in held.err
        proof = done(checkout.sluiceway("release", "proof", "local", "--json"))
        assert {each["id"] for each in proof["versions"] if each["serves"]} == {second}


def refused_then_forced(checkout: Checkout, api: WorkerApi, first: str, other: str) -> str:
    """An update over the split: refused before anything is uploaded, then done by force. The version it deployed."""
    setting(checkout, "limits: {max_tokens: 31001}")
    refused = checkout.sluiceway("up", "local")
    told = " ".join((refused.out + refused.err).split())
    assert refused.code != 0
    assert f"{first[:8]} (r-" in told and f"{other[:8]} (from api) 10 %" in told and "FEATURE_X" in told
    assert len(api.versions()) == 2, "nothing was uploaded"
    assert api.deployments()[0].message == "a canary by hand"
    forced = checkout.sluiceway("up", "local", "--force")
    assert forced.code == 0 and "FEATURE_X" in forced.err
    second = api.versions()[0].id
    assert api.deployments()[0].shares == ((second, 100.0),)
    return second


def uploaded_only(checkout: Checkout, api: WorkerApi, serving: str) -> str:
    """An update of a stage that ramps its releases. The version it uploaded."""
    setting(checkout, "limits: {max_tokens: 31002}")
    setting(checkout, "release: {ramp: [50, 100], hold: 1s}")
    uploaded = checkout.sluiceway("up", "local")
    assert uploaded.code == 0 and "release ramp local" in uploaded.err
    third = api.versions()[0].id
    assert third != serving
    assert api.deployments()[0].shares == ((serving, 100.0),)
    return third


def done(found: Done) -> dict[str, Any]:
    assert found.code == 0, found.err
    document: dict[str, Any] = json.loads(found.out)
    return document


def releases(url: str) -> set[str]:
    """Which releases answer."""
    return {httpx.get(f"{url}/healthz", timeout=30).headers["x-sluiceway-release"] for _ in range(40)}
