"""``sluiceway logs`` of a stage in the cloud reads what wrangler from npm prints."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.observe.events import Request, events
from sluiceway.observe.sources import wrangler_tail
from tests.local.conftest import CHECKOUT
from tests.node import NODE
from tests.unit.observe.made import document, line

WRANGLER = CHECKOUT / "node_modules" / "wrangler" / "bin" / "wrangler.js"


@pytest.fixture
def api() -> Iterator[str]:
    """Base URL of an API that makes tails of one document."""
    told = document(line(id="req-tail"), scriptName="gateway", event={"request": {}, "response": {"status": 200}})
    script = Path(__file__).with_name("tail_api.mjs")
    command = [str(NODE), str(script), json.dumps(told)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().split()[1]}/client/v4"
        process.terminate()


def environment(home: Path, api: str, token: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home),
        "CI": "1", "NO_COLOR": "1", "WRANGLER_SEND_METRICS": "false",
        "CLOUDFLARE_API_BASE_URL": api, "CLOUDFLARE_API_TOKEN": token, "CLOUDFLARE_ACCOUNT_ID": "f" * 32,
    }  # fmt: skip


def test_a_request_comes_through_wrangler_as_from_the_local_log(tmp_path: Path, api: str) -> None:
    started: list[subprocess.Popen[str]] = []
    env = environment(tmp_path, api, "good-token")
    documents = wrangler_tail("gateway", node=NODE, script=WRANGLER, cwd=tmp_path, env=env, started=started.append)
    (request,) = events(next(documents))
    assert isinstance(request, Request)
    assert (request.line["id"], request.model, request.status) == ("req-tail", "chat@1", 200)
    documents.close()  # type: ignore[attr-defined]
    assert started[0].poll() is not None


def test_a_token_that_is_refused_is_told_in_wranglers_words(tmp_path: Path, api: str) -> None:
    env = environment(tmp_path, api, "bad-token")
    with pytest.raises(SluicewayError, match="Authentication error") as caught:
        list(wrangler_tail("gateway", node=NODE, script=WRANGLER, cwd=tmp_path, env=env))
    assert "Workers Tail" in (caught.value.hint or "")
