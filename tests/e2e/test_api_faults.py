"""`sluiceway up` while Cloudflare's API loses answers: one error, exit code 1, and the next `up` puts it right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sluiceway.local import lifecycle
from tests.e2e.checkout import Checkout

# Whole updates of a fresh stage; with fewer resources it is in tests/local/test_engine_faults.py.
pytestmark = pytest.mark.long

LISTS = ("storage/kv/namespaces", "queues", "ai-gateway/gateways", "r2/buckets", "workers/workers", "workers/domains")


def counted(checkout: Checkout) -> dict[str, int]:
    """How many of each there are on the stage."""
    data = checkout.root / ".sluiceway" / "local"
    runtime = lifecycle.require_runtime(data)
    headers = {"authorization": f"Bearer {lifecycle.read_token(data)}"}
    found: dict[str, int] = {}
    for path in LISTS:
        url = f"{runtime.api_url}/accounts/{runtime.account_id}/{path}"
        result: Any = httpx.get(url, headers=headers, trust_env=False).json()["result"]
        found[path] = len(result["buckets"] if isinstance(result, dict) else result)
    return found


def fault(checkout: Checkout, *words: str) -> None:
    products = ("--api", "kv", "--api", "queues", "--api", "ai-gateway")
    added = checkout.sluiceway("local", "faults", "add", *products, *words)
    assert added.code == 0, added.err


def test_an_up_that_gets_no_answers_fails_clearly_and_the_next_doubles_and_orphans_nothing(
    fresh: Callable[[], Checkout],
) -> None:
    checkout = fresh()
    assert checkout.sluiceway("local", "start").code == 0
    fault(checkout, "--method", "POST", "--drop", "--after")
    fault(checkout, "--method", "GET", "--status", "503")
    failed = checkout.sluiceway("up", "local")
    assert failed.code == 1
    assert failed.err.count("error: ") == 1 and "Traceback" not in failed.err
    (told,) = [line for line in failed.err.splitlines() if "WorkersKvNamespace 'cache': POST" in line]
    assert "/storage/kv/namespaces failed: no answer: " in told
    assert "what is there is taken over" in failed.err
    assert checkout.sluiceway("local", "faults", "clear").code == 0
    assert checkout.sluiceway("up", "local").code == 0
    assert set(counted(checkout).values()) == {1}
    again = checkout.sluiceway("preview", "local", "--json")
    assert again.code == 0, again.err
    assert set(json.loads(again.out)["changes"]) == {"same"}
