"""Down and up again, after which everything works as before; and what a killed stage keeps."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import httpx

from tests.e2e.checkout import Checkout


def ask(checkout: Checkout) -> httpx.Response:
    runtime = json.loads(checkout.sluiceway("local", "status", "--json").out)
    key = (checkout.root / ".sluiceway/local/api-key").read_text().strip()
    return httpx.post(
        f"{runtime['front_url']}/",
        json={"prompt": "repeat after me: 你好"},
        headers={"authorization": f"Bearer {key}"},
        timeout=30,
    )


def test_pu_02_preview_before_anything_exists_then_up_then_destroy_then_up(fresh: Callable[[], Checkout]) -> None:
    checkout = fresh()
    assert checkout.sluiceway("local", "start").code == 0
    first = checkout.shell(
        "pulumi stack init local --no-select >/dev/null && pulumi preview -s local --non-interactive"
    )
    assert first.code == 0, first.out + first.err
    assert not (checkout.root / ".sluiceway/build/local/wrangler.toml").exists(), "no file with unknown values"
    up = checkout.sluiceway("up", "local")
    assert up.code == 0, up.err
    assert ask(checkout).json() == {"response": {"text": "你好"}}

    down = checkout.shell("pulumi destroy -s local --yes --non-interactive")
    assert down.code == 0, down.out + down.err
    assert ask(checkout).status_code == 404
    again = checkout.sluiceway("up", "local")
    assert again.code == 0, again.err
    assert ask(checkout).json() == {"response": {"text": "你好"}}

    runtime = json.loads(checkout.sluiceway("local", "status", "--json").out)
    os.kill(int(runtime["pid"]), signal.SIGKILL)
    assert checkout.sluiceway("local", "start").code == 0
    assert ask(checkout).json() == {"response": {"text": "你好"}}, "a killed stage serves again what it served"
