"""Worker versions: what is a change and what is not, migrations, unknowns, secrets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sluiceway.engine.provider.values import UNKNOWN, Secret, reveal
from sluiceway.errors import SluicewayError
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import ACCOUNT, Driver, Refused, body_of
from tests.unit.provider.samples import CANARY, SAMPLES, bindings, worker_version

VERSIONS = f"/accounts/{ACCOUNT}/workers/workers/w1/versions"


def test_tf_01_bindings_go_out_by_name_and_any_order_is_no_change(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("WorkerVersion", worker_version())
    sent = body_of(fake, f"POST {VERSIONS}")["bindings"]
    assert [binding["name"] for binding in sent] == ["A_TEXT", "KEY", "LIMIT", "M_R2", "Z_KV"]
    assert driver.changed(made, worker_version(bindings=bindings()[::-1])) == []
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, worker_version(bindings=bindings()[::-1])) == []
    assert [item["name"] for item in fresh.state["bindings"]] == [item["name"] for item in bindings()]


def test_tf_01_another_binding_replaces_the_version(driver: Driver) -> None:
    made = driver.create("WorkerVersion", worker_version())
    more = [*bindings(), {"name": "L2", "type": "ratelimit", "namespaceId": "2", "simple": {"limit": 1, "period": 10}}]
    diff = driver.diff(made, worker_version(bindings=more))
    assert (diff.diffs, diff.replaces) == (["bindings"], ["bindings"])
    two = driver.create("WorkerVersion", worker_version(bindings=more))
    assert driver.changed(two, worker_version(bindings=more[::-1])) == []


@pytest.mark.parametrize(
    "same",
    [
        {"compatibilityFlags": []},
        {"placement": None, "limits": None},
        {"usageModel": None},
        {"packageDependencies": [], "containers": []},
    ],
    ids=str,
)
def test_tf_02_missing_null_and_empty_are_one(driver: Driver, same: dict[str, Any]) -> None:
    made = driver.create("WorkerVersion", worker_version())
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, worker_version(**same)) == []


def test_tf_02_the_digest_of_what_is_uploaded_decides(driver: Driver, tmp_path: Any) -> None:  # noqa: ANN401
    code = b"export default {}\r\n\n\n"
    (tmp_path / "one.js").write_bytes(code)
    (tmp_path / "two.js").write_bytes(code)
    (tmp_path / "other.js").write_bytes(code.strip())

    def from_file(name: str) -> dict[str, Any]:
        module = {"name": "index.js", "contentType": "application/javascript+module"}
        return worker_version(modules=[{**module, "contentFile": str(tmp_path / name)}])

    made = driver.create("WorkerVersion", from_file("one.js"))
    fresh = driver.refresh(made)
    assert fresh is not None
    for state in (made, fresh):
        assert driver.changed(state, from_file("one.js")) == []
        assert driver.changed(state, from_file("two.js")) == [], "another path to the same bytes"
        assert driver.changed(state, from_file("other.js")) == ["modules"]


def test_tf_02_a_worker_whose_defaults_the_server_filled_in_is_unchanged(driver: Driver) -> None:
    wanted = {**SAMPLES["Worker"], "observability": {"enabled": True}, "tags": []}
    made = driver.create("Worker", wanted)
    fresh = driver.refresh(made)
    assert fresh is not None
    assert "logs" in fresh.state["observability"]
    assert driver.changed(fresh, wanted) == []
    assert driver.changed(fresh, {**wanted, "observability": {"enabled": False}}) == ["observability"]


def migrated(tag: str) -> dict[str, Any]:
    wanted = worker_version(migrations={"newTag": tag, "steps": [{"newSqliteClasses": ["RolloutController"]}]})
    wanted.pop("exports")
    return wanted


def test_tf_04_a_migration_that_was_applied_is_not_sent_again(driver: Driver, fake: FakeCloudflare) -> None:
    driver.create("WorkerVersion", migrated("v1"))
    assert body_of(fake, f"POST {VERSIONS}")["migrations"]["new_tag"] == "v1"
    fake.calls.clear()
    driver.create("WorkerVersion", migrated("v1"), "again")
    assert "migrations" not in body_of(fake, f"POST {VERSIONS}")
    fake.calls.clear()
    driver.create("WorkerVersion", migrated("v2"), "next")
    assert body_of(fake, f"POST {VERSIONS}")["migrations"]["old_tag"] == "v1"


def test_tf_04_migrations_survive_a_refresh(driver: Driver) -> None:
    made = driver.create("WorkerVersion", migrated("v1"))
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, migrated("v1")) == []


def test_tf_04_exports_and_migrations_exclude_each_other(driver: Driver) -> None:
    with pytest.raises(Refused) as refused:
        driver.check("WorkerVersion", worker_version(migrations={"newTag": "v1"}))
    assert "migrations" in refused.value.faults


def test_pu_02_unknown_inputs_pass_check_and_show_as_a_change(driver: Driver, fake: FakeCloudflare) -> None:
    unknown = worker_version(bindings=[{"name": "Z_KV", "type": "kv_namespace", "namespaceId": UNKNOWN}])
    assert driver.preview("WorkerVersion", unknown)["number"] is UNKNOWN
    unknown_code = worker_version(modules=[{"name": "index.js", "contentType": "x", "contentFile": UNKNOWN}])
    assert driver.preview("WorkerVersion", unknown_code)["modules"][0]["contentSha256"] is UNKNOWN
    made = driver.create("WorkerVersion", worker_version())
    assert driver.changed(made, unknown) == ["bindings"]
    for kind, sample in SAMPLES.items():
        driver.check(kind, {name: UNKNOWN for name in sample})
    assert fake.writes() == [f"POST {VERSIONS}"]


def test_pu_07_secret_texts_stay_secret_and_are_kept_over_a_refresh(driver: Driver) -> None:
    made = driver.create("WorkerVersion", worker_version(bindings=_plain(bindings())))
    fresh = driver.refresh(made)
    assert fresh is not None
    for place in (made.inputs, made.state, fresh.inputs, fresh.state):
        (key,) = [item for item in place["bindings"] if item["name"] == "KEY"]
        assert key["text"] == Secret(CANARY)
    assert CANARY not in repr(made) + repr(fresh)
    other = _plain(bindings())
    other[-1]["text"] = "rotated"
    assert driver.changed(fresh, worker_version(bindings=other)) == ["bindings"]


def test_pu_07_a_list_that_is_secret_as_a_whole_stays_so(driver: Driver) -> None:
    wanted = worker_version(bindings=Secret(_plain(bindings())))
    made = driver.create("WorkerVersion", wanted)
    fresh = driver.refresh(made)
    assert fresh is not None
    assert isinstance(made.state["bindings"], Secret)
    assert isinstance(fresh.state["bindings"], Secret)
    assert driver.changed(fresh, wanted) == []


def test_pu_07_a_binding_deleted_by_hand_moves_no_secret_into_the_open(driver: Driver, fake: FakeCloudflare) -> None:
    items = [*bindings()[1:], {"name": "MARKED", "type": "plain_text", "text": Secret(f"{CANARY}-two")}]
    made = driver.create("WorkerVersion", worker_version(bindings=items))
    (version,) = fake.table("versions").values()
    version["bindings"] = [item for item in version["bindings"] if item["name"] in {"KEY", "MARKED"}]
    fresh = driver.refresh(made)
    assert fresh is not None
    assert len(fresh.state["bindings"]) == len(fresh.inputs["bindings"]) == 2
    assert CANARY in str(reveal(fresh.inputs)) + str(reveal(fresh.state))
    assert CANARY not in repr(fresh)


def _plain(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The program forgot to mark the secret."""
    return [dict(reveal(item)) for item in items]


def test_pu_07_a_failing_call_hides_the_secret(driver: Driver) -> None:
    boom = worker_version(bindings=[{"name": "KEY", "type": "secret_text", "text": Secret(f"boom {CANARY}")}])
    with pytest.raises(SluicewayError) as fault:
        driver.create("WorkerVersion", boom)
    shown = f"{fault.value} {fault.value.hint}"
    assert "[secret]" in shown
    assert CANARY not in shown and base64.b64encode(CANARY.encode()).decode() not in shown
