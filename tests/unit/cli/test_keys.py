"""``sluiceway keys``: what is typed becomes what the gateway is asked, and a key's text is on stdout alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from sluiceway.cli import keys
from sluiceway.cli.keys import _budget, _seconds
from sluiceway.errors import UserError

TEXT = "sk-slw-000000000001-secret"


def key(at: int, name: str, state: str = "active", **more: object) -> dict[str, Any]:
    empty = dict.fromkeys(("owner", "team", "models", "requests_per_minute", "tokens_per_minute", "expires_at"))
    return {"id": f"{at:012}", "name": name, "state": state, **empty, "budgets": [], **more}


class Gateway:
    """Stands in for the admin endpoints: what it was asked, and what it knows."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.known = [key(1, "app"), key(2, "old", "revoked"), key(3, "old")]

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *_: object) -> None: ...

    def list_keys(self) -> list[dict[str, Any]]:
        return self.known

    def create_key(self, spec: dict[str, object]) -> dict[str, Any]:
        self.asked.append(("create", spec))
        return {**key(1, str(spec["name"])), "key": TEXT}

    def rotate_key(self, key_id: str, grace: int) -> dict[str, Any]:
        self.asked.append(("rotate", key_id, grace))
        return {**key(1, "app"), "key": TEXT, "old_secret_until": "2026-01-02T00:00:00.000Z" if grace else None}

    def revoke_key(self, key_id: str) -> dict[str, Any]:
        self.asked.append(("revoke", key_id))
        return key(1, "app", "revoked")


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    found = Gateway()
    monkeypatch.setattr(keys, "open_admin", lambda stage, url: found)
    yield found


def run(*words: str) -> tuple[str, str]:
    done = CliRunner().invoke(keys.app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def test_a_new_keys_text_is_all_of_stdout(gateway: Gateway) -> None:
    out, err = run(
        *("create", "dev", "app", "--owner", "ann", "--team", "search", "--model", "chat", "--model", "embed@1"),
        *("--requests-per-minute", "60", "--budget", "5/day", "--budget", "99.5/month:chat-small", "--expires", "90d"),
    )
    assert out == f"{TEXT}\n"
    assert TEXT not in err
    (asked,) = gateway.asked
    assert asked == (
        "create",
        {
            "name": "app",
            "owner": "ann",
            "team": "search",
            "models": ["chat", "embed@1"],
            "requests_per_minute": 60,
            "tokens_per_minute": None,
            "budgets": [
                {"usd": 5.0, "period": "day", "fall_to": None},
                {"usd": 99.5, "period": "month", "fall_to": "chat-small"},
            ],
            "expires_in": 90 * 86_400,
        },
    )


def test_a_key_without_options_has_no_limit_of_its_own(gateway: Gateway) -> None:
    run("create", "dev", "app")
    spec = gateway.asked[0][1]
    assert isinstance(spec, dict)
    assert {name: value for name, value in spec.items() if value is not None} == {"name": "app", "budgets": []}


@pytest.mark.parametrize(
    ("wanted", "found"), [("app", "000000000001"), ("old", "000000000003"), ("000000000002", "000000000002")]
)
def test_a_key_is_named_by_its_id_or_by_the_name_that_is_active(gateway: Gateway, wanted: str, found: str) -> None:
    run("revoke", "dev", wanted)
    assert gateway.asked == [("revoke", found)]


def test_a_key_that_is_not_known_is_told_with_those_that_are(gateway: Gateway) -> None:
    for words in (("revoke", "dev", "nope"), ("rotate", "dev", "nope")):
        with pytest.raises(UserError, match="no such key") as caught:
            run(*words)
        assert caught.value.hint == "active: app, old"
    assert gateway.asked == []


def test_the_name_of_a_closed_key_is_not_taken_for_one_that_never_was(gateway: Gateway) -> None:
    gateway.known = [key(1, "app"), key(2, "old", "revoked")]
    with pytest.raises(UserError, match="the key of this name is revoked or expired"):
        run("revoke", "dev", "old")


def test_a_pasted_key_is_not_repeated(gateway: Gateway) -> None:
    with pytest.raises(UserError) as caught:
        run("revoke", "dev", TEXT)
    assert "secret" not in caught.value.render()


def test_a_rotation_says_how_long_the_old_text_is_good(gateway: Gateway) -> None:
    out, err = run("rotate", "dev", "app")
    assert (out, gateway.asked[-1]) == (f"{TEXT}\n", ("rotate", "000000000001", 86_400))
    assert "until 2026-01-02" in err
    _, err = run("rotate", "dev", "app", "--grace", "0")
    assert gateway.asked[-1] == ("rotate", "000000000001", 0)
    assert "refused from now on" in err


def test_a_list_leaves_out_what_is_closed_unless_asked(gateway: Gateway) -> None:
    gateway.known[0] |= {"models": ["chat"], "requests_per_minute": 60, "budgets": [{"usd": 5, "period": "day"}]}
    out, _ = run("list", "dev")
    lines = out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["000000000001", "app"], ["000000000003", "old"]]
    assert "60 req/min, $5/day" in lines[1]
    assert len(json.loads(run("list", "dev", "--all", "--json")[0])) == 3


@pytest.mark.parametrize(
    ("text", "seconds"), [("45s", 45), ("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), ("0", 0)]
)
def test_a_length_of_time_is_a_number_and_its_unit(text: str, seconds: int) -> None:
    assert _seconds(text, "--grace", least=0) == seconds


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1.5h", "1w", "0d", "1d1h", "١d"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="no length of time"):
        _seconds(text, "--expires", least=1)


@pytest.mark.parametrize("text", ["", "5", "5/week", "-5/day", "five/day", "5/day:", "1e9/day", "$5/day"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="no budget"):
        _budget(text)
