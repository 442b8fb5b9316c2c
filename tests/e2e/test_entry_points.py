"""Hosts and routes that are somebody else's stop an update before it uploads anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.e2e.conftest import Served

STACK = "stacks/Pulumi.local.yaml"
DOMAINS, ROUTES = "[chat.sluiceway.test]", "[api.sluiceway.test/*]"
SMALLER = "  sluiceway:limits: {body_bytes: 4096}\n"
"""Another configuration of the Worker: a new version would be uploaded."""


@dataclass(frozen=True)
class Account:
    """Somebody else at work in the stage's account."""

    url: str
    headers: dict[str, str]
    id: str
    zone: str

    def call(self, method: str, path: str, document: object = None) -> list[dict[str, str]]:
        answer = httpx.request(method, f"{self.url}{path}", headers=self.headers, json=document)
        assert answer.is_success, answer.text
        result = answer.json()["result"]
        return list(result) if isinstance(result, list) else [result]

    def versions(self) -> int:
        (found,) = self.call("GET", f"/accounts/{self.id}/workers/scripts/sluiceway-local/versions")
        return len(found["items"])

    def upload(self, name: str) -> None:
        code = "export default { fetch() { return new Response('theirs') } }"
        metadata = json.dumps({"main_module": "index.js", "compatibility_date": "2026-07-01"})
        files = {
            "metadata": (None, metadata, "application/json"),
            "index.js": ("index.js", code, "application/javascript+module"),
        }
        url = f"{self.url}/accounts/{self.id}/workers/scripts/{name}"
        assert httpx.put(url, headers=self.headers, files=files).is_success


@pytest.fixture(scope="module")
def account(served: Served) -> Account:
    env = json.loads(served.checkout.sluiceway("env", "local", "--json").out)
    headers = {"authorization": f"Bearer {env['CLOUDFLARE_API_TOKEN']}"}
    found = Account(env["CLOUDFLARE_BASE_URL"], headers, env["CLOUDFLARE_ACCOUNT_ID"], "")
    (zone,) = found.call("GET", "/zones?name=sluiceway.test")
    return Account(found.url, headers, found.id, zone["id"])


@pytest.fixture
def stack_file(served: Served) -> Iterator[Path]:
    path = served.checkout.root / STACK
    before = path.read_text("utf-8")
    yield path
    path.write_text(before, "utf-8")


@pytest.mark.long
def test_tf_08_a_host_that_has_dns_records_is_explained_and_nothing_is_uploaded(
    served: Served, account: Account, stack_file: Path
) -> None:
    record = {"type": "CNAME", "name": "old.sluiceway.test", "content": "elsewhere.test"}
    account.call("POST", f"/zones/{account.zone}/dns_records", record)
    before = account.versions()
    text = stack_file.read_text("utf-8").replace(DOMAINS, "[chat.sluiceway.test, old.sluiceway.test]")
    stack_file.write_text(text + SMALLER, "utf-8")
    done = served.checkout.sluiceway("up", "local")
    assert done.code == 1, done.err
    assert "old.sluiceway.test" in done.err and "100117" in done.err and "hint: " in done.err
    assert account.versions() == before


@pytest.mark.long
def test_tf_08_a_route_of_somebody_elses_worker_is_named_and_nothing_is_uploaded(
    served: Served, account: Account, stack_file: Path
) -> None:
    account.upload("chat-blue")
    pattern = "api.sluiceway.test/theirs/*"
    account.call("POST", f"/zones/{account.zone}/workers/routes", {"pattern": pattern, "script": "chat-blue"})
    before = account.versions()
    text = stack_file.read_text("utf-8").replace(ROUTES, f'[api.sluiceway.test/*, "{pattern}"]')
    stack_file.write_text(text + SMALLER, "utf-8")
    done = served.checkout.sluiceway("up", "local")
    assert done.code == 1, done.err
    assert "belongs to Worker 'chat-blue'" in done.err and "hint: " in done.err
    assert account.versions() == before


@pytest.mark.parametrize("host", ["api.example.com/*", "https://api.example.com"])
def test_tf_08_what_is_no_host_is_refused_before_anything_runs(served: Served, stack_file: Path, host: str) -> None:
    stack_file.write_text(stack_file.read_text("utf-8").replace(DOMAINS, f'["{host}"]'), "utf-8")
    done = served.checkout.sluiceway("up", "local")
    assert done.code == 2
    assert "custom_domains[0]" in done.err and "hint: write api.example.com" in done.err
    assert "pulumi up" not in done.err
