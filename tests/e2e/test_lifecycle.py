"""Down and up again, after which everything works as before; and what a killed stage keeps."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Callable

import httpx
import pytest

from tests.e2e.checkout import ROOT, Checkout
from tests.warm import Done

MODEL = ROOT / "models/artifacts/intent/1/model.onnx"
OURS = "  sluiceway:bucket: {retain: false}\n"
IN_THE_EU = "  sluiceway:bucket: {retain: false, location: WEUR, jurisdiction: eu}\n"


def ask(checkout: Checkout, method: str = "POST", path: str = "/") -> httpx.Response:
    runtime = json.loads(checkout.sluiceway("local", "status", "--json").out)
    key = (checkout.root / ".sluiceway/local/api-key").read_text().strip()
    return httpx.request(
        method,
        f"{runtime['front_url']}{path}",
        json={"prompt": "repeat after me: 你好"} if method == "POST" else None,
        headers={"authorization": f"Bearer {key}"},
        timeout=30,
    )


def rewrite(checkout: Checkout, file: str, old: str, new: str) -> None:
    path = checkout.root / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def assert_no_secret_is_told(checkout: Checkout, *told: Done) -> None:
    """Neither keys nor token, nor their base64, in what was printed or written, but for the stage's own data."""
    local = checkout.root / ".sluiceway/local"
    secrets = [(local / name).read_text().strip() for name in ("api-key", "admin-key", "token")]
    files = [file for folder in ("build", "state", "local/logs") for file in (local.parent / folder).rglob("*")]
    files = [file for file in files if file.is_file()]
    assert {"index.js", "wrangler.toml", "local.json", "control.log"} <= {file.name for file in files}
    texts = [part for one in told for part in (one.out, one.err)]
    texts += [file.read_text("utf-8", "replace") for file in files]
    shapes = [*secrets, *(base64.b64encode(text.encode()).decode().rstrip("=") for text in secrets)]
    assert [shape for text in texts for shape in shapes if shape in text] == []


@pytest.mark.long
def test_pu_02_preview_before_anything_exists_then_up_then_down_then_up(fresh: Callable[[], Checkout]) -> None:
    checkout = fresh()
    rewrite(checkout, "stacks/Pulumi.local.yaml", OURS, IN_THE_EU)
    assert checkout.sluiceway("local", "start").code == 0
    first = checkout.shell(
        "pulumi stack init local --no-select >/dev/null && pulumi preview -s local --non-interactive"
    )
    assert first.code == 0, first.out + first.err
    assert not (checkout.root / ".sluiceway/build/local/wrangler.toml").exists(), "no file with unknown values"
    up = checkout.sluiceway("up", "local")
    assert up.code == 0, up.err
    assert ask(checkout).json() == {"response": {"text": "你好"}}

    artifact = ask(checkout, "GET", "/v1/models/intent/artifacts/1/model.onnx")
    assert artifact.content == MODEL.read_bytes(), "TF-06: upload, bucket and binding agree on the jurisdiction"

    down = checkout.shell("pulumi destroy -s local --yes --non-interactive")
    assert down.code == 0, down.out + down.err
    assert ask(checkout).status_code == 404
    again = checkout.sluiceway("up", "local")
    assert again.code == 0, again.err
    assert ask(checkout).json() == {"response": {"text": "你好"}}
    assert_no_secret_is_told(checkout, first, up, again)


@pytest.mark.long
def test_pu_07_an_update_that_fails_tells_no_secret_and_leaves_what_serves(fresh: Callable[[], Checkout]) -> None:
    checkout = fresh()
    up = checkout.sluiceway("up", "local")
    assert up.code == 0, up.err
    runtime = json.loads(checkout.sluiceway("local", "status", "--json").out)
    os.kill(int(runtime["pid"]), signal.SIGKILL)
    assert checkout.sluiceway("local", "start").code == 0
    assert ask(checkout).json() == {"response": {"text": "你好"}}, "a killed stage serves again what it served"

    rewrite(checkout, "templates/entry.ts.j2", "export default", "throw new Error('boom');\nexport default")
    failed = checkout.sluiceway("up", "local")
    assert failed.code == 1
    assert "10021" in failed.err
    assert_no_secret_is_told(checkout, up, failed)
    assert ask(checkout).json() == {"response": {"text": "你好"}}, "what was deployed before still serves"
