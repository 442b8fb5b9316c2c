"""``sluiceway cache purge``: what is typed becomes what the gateway is asked, until it says that all is done."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from sluiceway.cli import cache
from sluiceway.errors import UserError


class Gateway:
    """Stands in for the admin endpoints; needs three calls for any purge."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *_: object) -> None: ...

    def send(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((method, path, body))
        return {"deleted": 900, "complete": len(self.asked) == 3}


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    found = Gateway()
    monkeypatch.setattr(cache, "open_admin", lambda stage, url: found)
    return found


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("--release", "r-1"), {"release": "r-1"}),
        (("--model", "chat"), {"model": "chat"}),
        (("--model", "chat", "--release", "r-1"), {"release": "r-1", "model": "chat"}),
        (("--all",), {"all": True}),
    ],
    ids=str,
)
def test_a_purge_goes_on_until_all_is_deleted(gateway: Gateway, words: tuple[str, ...], body: dict[str, Any]) -> None:
    done = CliRunner().invoke(cache.app, ["purge", "dev", *words, "--json"], catch_exceptions=False)
    assert gateway.asked == [("POST", "/cache/purge", body)] * 3
    assert json.loads(done.stdout) == {"stage": "dev", "deleted": 2700}


@pytest.mark.parametrize("words", [(), ("--all", "--model", "chat"), ("--all", "--release", "r")], ids=str)
def test_what_to_delete_must_be_said(gateway: Gateway, words: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="must be said"):
        CliRunner().invoke(cache.app, ["purge", "dev", *words], catch_exceptions=False)
    assert gateway.asked == []
