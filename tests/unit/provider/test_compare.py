from __future__ import annotations

import pytest

from sluiceway.engine.provider.compare import Rules, covers, drifted, lost, settle

RULES = Rules(
    keyed={"bindings": "name"},
    sets=frozenset({"flags"}),
    written_only=frozenset({"text"}),
    canonical={"location": str.lower},
    given_once=frozenset({"place"}),
    defaults={"logpush": False},
)


@pytest.mark.parametrize("nothing", [None, {}])
def test_what_was_not_asked_for_is_covered_by_anything(nothing: object) -> None:
    assert covers({"enabled": True}, nothing, RULES)


@pytest.mark.parametrize("missing", [None, [], ""])
def test_tf_02_an_empty_list_equals_null_and_missing(missing: object) -> None:
    assert covers(missing, [], RULES)


def test_an_empty_list_is_not_a_full_one() -> None:
    assert not covers([{"name": "A"}], [], RULES, "bindings")


def test_tf_02_fields_that_the_server_fills_in_are_no_change() -> None:
    wanted = {"enabled": True}
    actual = {"enabled": True, "logs": {"enabled": True}, "head_sampling_rate": 1}
    assert covers(actual, wanted, RULES)
    assert not covers({**actual, "enabled": False}, wanted, RULES)


def test_tf_01_bindings_are_compared_by_name() -> None:
    one, two = {"name": "A", "type": "ai"}, {"name": "B", "type": "queue", "queueName": "q"}
    assert covers([two, one], [one, two], RULES, "bindings")
    assert not covers([two, one], [one, {**two, "queueName": "other"}], RULES, "bindings")
    assert not covers([two, one], [one], RULES, "bindings")
    assert not covers([one, one], [one, two], RULES, "bindings")


def test_other_lists_keep_their_order() -> None:
    assert not covers(["b", "a"], ["a", "b"], RULES, "versions")
    assert covers(["b", "a"], ["a", "b"], RULES, "flags")


def test_tf_06_letter_case_of_a_location_is_no_change() -> None:
    assert covers("WEUR", "weur", RULES, "location")
    assert not covers("WEUR", "enam", RULES, "location")
    assert not covers("WEUR", "weur", RULES, "name")


def test_true_is_not_one() -> None:
    assert not covers(1, True, RULES)
    assert covers(1.0, 1, RULES)


def test_a_setting_that_is_asked_for_no_longer_is_lost() -> None:
    assert lost({"cpuMs": 50}, None, RULES, "limits")
    assert lost({"cpuMs": 50, "subrequests": 5}, {"cpuMs": 50}, RULES, "limits")
    assert not lost([], None, RULES, "bindings")
    assert not lost("smart", None, RULES, "place")
    assert not lost(False, None, RULES, "logpush")
    assert lost(True, None, RULES, "logpush")


def test_a_field_lost_from_one_binding_is_found_by_its_name() -> None:
    before = [{"name": "A"}, {"name": "B", "jurisdiction": "eu"}]
    assert lost(before, [{"name": "B"}, {"name": "A"}], RULES, "bindings")
    assert not lost(before, [{"name": "B", "jurisdiction": "eu"}, {"name": "A"}], RULES, "bindings")


def test_state_keeps_the_users_order_and_spelling_and_what_the_api_hides() -> None:
    wanted = [{"name": "Z", "text": "hidden"}, {"name": "A", "location": "weur"}]
    actual = [{"name": "A", "location": "WEUR", "extra": 1}, {"name": "Z", "text": None}]
    assert settle(wanted, actual, RULES, "bindings") == [
        {"name": "Z", "text": "hidden"},
        {"name": "A", "location": "weur", "extra": 1},
    ]


def test_state_tells_drift() -> None:
    assert settle({"a": 1, "b": 2}, {"a": 3}, RULES) == {"a": 3}
    assert settle([{"name": "A"}], [{"name": "A"}, {"name": "B"}], RULES, "bindings") == [{"name": "A"}, {"name": "B"}]


def test_drift_is_told_in_the_programs_own_terms() -> None:
    rules = Rules(keyed={"bindings": "name"}, written_only=frozenset({"text"}), server=frozenset({"id"}))
    asked = {"enabled": True, "rate": 1, "bindings": [{"name": "A", "text": "x"}, {"name": "B", "type": "ai"}]}
    actual = {
        "enabled": False,
        "rate": 1,
        "filled_in": True,
        "bindings": [{"name": "C", "id": 7}, {"name": "A", "more": 1}],
    }
    assert drifted(actual, asked, rules) == {
        "enabled": False,
        "rate": 1,
        "bindings": [{"name": "A", "text": "x"}, {"name": "C"}],
    }
