"""How ``sluiceway release`` reaches a stage: its account, its controller, the record of what serves."""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from infra.components.release_record import KEY
from sluiceway.cli import release_stage
from sluiceway.cli.release_stage import RECORD, Opened, open_stage
from sluiceway.cloudflare.worker_api import Kept
from sluiceway.errors import SluicewayError, UserError
from sluiceway.release.world import Bound, WorkerVersion

VERSION = WorkerVersion("v-2", 2, "2026-07-01T12:00:00.5Z", "r-two", bindings=(Bound("CACHE", "kv_namespace", "kv-1"),))


class Api:
    name = "sluiceway-staging"

    def __init__(self) -> None:
        self.written: list[tuple[str, str, str]] = []

    def write_key(self, namespace: str, key: str, text: str) -> None:
        self.written.append((namespace, key, text))

    def kept(self, jurisdiction: str) -> Kept:
        assert jurisdiction == "eu"
        return Kept({"staging-cache": "kv-1", "other": "kv-2"}, frozenset({"models"}), frozenset({"events"}))


def opened(api: Api, *secrets: str) -> Opened:
    plan = SimpleNamespace(
        secrets=secrets, bucket=SimpleNamespace(name="models", jurisdiction="eu"), queue=None,
        kv=SimpleNamespace(title="staging-cache"), exports=(SimpleNamespace(name="Counter", storage="sqlite"),),
    )  # fmt: skip
    checked: Any = SimpleNamespace(stage="staging", plan=plan)
    return Opened(checked, api)  # type: ignore[arg-type]


def test_what_serves_is_recorded_where_an_update_without_a_ramp_records_it() -> None:
    api = Api()
    opened(api).record(VERSION)
    assert RECORD == KEY
    assert api.written == [("kv-1", KEY, json.dumps({"release": "r-two", "stage": "staging"}, sort_keys=True))]


def test_a_version_that_is_no_release_is_not_recorded() -> None:
    api = Api()
    opened(api).record(WorkerVersion("v-1", 1, "2026-07-01T12:00:00Z", None, bindings=VERSION.bindings))
    assert api.written == []


def test_the_controller_is_told_which_orders_are_void_and_by_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[object, ...]] = []

    @contextmanager
    def open_admin(stage: str, url: str | None) -> Any:  # noqa: ANN401
        yield SimpleNamespace(send=lambda *call: sent.append(call))

    monkeypatch.setattr(release_stage, "open_admin", open_admin)
    monkeypatch.setenv("GITHUB_ACTOR", "ann")
    assert opened(Api(), "ADMIN_KEY").withdraw(VERSION) is None
    order = "2026-07-01T12:00:00.5Z\nv-2"
    assert sent == [("POST", "/rollouts/withdraw", {"order": order, "actor": "ann"})]


def test_a_controller_that_can_not_be_told_is_said_not_to_have_been(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(stage: str, url: str | None) -> None:
        raise SluicewayError("the gateway did not answer")

    monkeypatch.setattr(release_stage, "open_admin", refuse)
    assert "did not answer" in str(opened(Api(), "ADMIN_KEY").withdraw(VERSION))
    assert "no ADMIN_KEY" in str(opened(Api()).withdraw(VERSION))


def test_the_proof_knows_what_the_checkout_would_bind_and_what_there_is() -> None:
    changed, exists = opened(Api(), "API_KEY").resources()
    assert changed.targets == {("r2_bucket", "models"), ("kv_namespace", "kv-1")}
    assert changed.classes == (("Counter", "sqlite"),) and changed.secrets == {"API_KEY"}
    assert exists.has(Bound("CACHE", "kv_namespace", "kv-2"))
    assert not exists.has(Bound("CACHE", "kv_namespace", "gone"))
    assert exists.has(Bound("AI", "ai"))


def test_a_shell_that_is_set_to_the_local_stage_is_refused_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = SimpleNamespace(settings=SimpleNamespace(ready=lambda: None), stage="staging")
    monkeypatch.setattr(release_stage, "find_workspace", lambda: None)
    monkeypatch.setattr(release_stage, "check_stage", lambda workspace, stage: checked)
    monkeypatch.setenv("SLUICEWAY_LOCAL_URL", "http://127.0.0.1:1")
    with pytest.raises(UserError, match="set to the local stage"):
        open_stage("staging")
    monkeypatch.delenv("SLUICEWAY_LOCAL_URL")
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN", raising=False)
    with pytest.raises(UserError) as refused:
        open_stage("staging")
    assert refused.value.path == "CLOUDFLARE_API_TOKEN"
