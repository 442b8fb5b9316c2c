"""``sluiceway spend``: sums as people read them, keys by their names."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sluiceway.cli import spend


def share(name: str, usd: float) -> dict[str, Any]:
    counts = {"requests": 3, "prompt_tokens": 1200, "completion_tokens": 45}
    return {"name": name, "usd_day": usd / 2, "usd_month": usd, **counts}


TOTAL = {"start": "2026-01-01", "resets_at": "2026-02-01T00:00:00Z", "usd": 1.5, "requests": 3}
REPORT: dict[str, Any] = {
    "stage": "dev",
    "day": {**TOTAL, "usd": 0.75},
    "month": TOTAL,
    "budgets": [{"scope": "key", "period": "day", "usd": 5}, {"scope": "stage", "period": "month", "usd": 100}],
    "keys": [share("000000000001", 1.0), share("abc", 0.5), share("687355b9f9c6", 0.2)],
    "teams": [],
    "models": [share("chat@1", 1.5)],
}


class Gateway:
    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *_: object) -> None: ...

    def spend(self) -> dict[str, Any]:
        return REPORT

    def list_keys(self) -> list[dict[str, Any]]:
        return [{"id": "000000000001", "name": "app"}]


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setattr(spend, "open_admin", lambda stage, url: Gateway())
    app = typer.Typer()
    spend.register(app)
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_sums_are_shown_by_the_names_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run(monkeypatch, "dev").splitlines()
    assert lines[0] == "day    $0.7500  3 requests  until 2026-02-01T00:00:00Z"
    assert lines[2:4] == ["budget $5 a day for each key", "budget $100 a month for all"]
    assert any(line.split()[:4] == ["app", "(000000000001)", "$0.5000", "$1.0000"] for line in lines)
    assert any(line.startswith("abc ") for line in lines)
    assert any(line.startswith("API_KEY (687355b9f9c6) ") for line in lines)
    assert not any(line.startswith("teams") for line in lines)


def test_the_document_is_what_the_gateway_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(run(monkeypatch, "dev", "--json")) == REPORT
