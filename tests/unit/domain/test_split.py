from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256

import pytest

from sluiceway.domain.fault import Fault
from sluiceway.domain.split import POINTS, Split, Variant, choose, point
from tests.contract.make_split import FILE, USERS_FILE, document, users_document

CASES = json.loads(FILE.read_text(encoding="utf-8"))
USERS = json.loads(USERS_FILE.read_text(encoding="utf-8"))


def split_of(weights: list[list[int]]) -> Split:
    return Split(tuple((version, weight) for version, weight in weights))


def test_the_contract_file_is_what_its_script_writes() -> None:
    assert FILE.read_text(encoding="utf-8") == document()
    assert USERS_FILE.read_text(encoding="utf-8") == users_document()


def test_every_contract_case_gives_its_point_and_version() -> None:
    assert len(CASES) > 300
    for case in CASES:
        found = point(case["model"], case["user"])
        assert (found, choose(split_of(case["split"]), found)) == (case["point"], case["version"]), case


def test_the_contract_covers_what_two_languages_may_disagree_on() -> None:
    users = {case["user"] for case in CASES}
    assert {"", "用户-42", "🦊", "lone\ud800surrogate", "nai\u0308ve@example.com"} <= users
    assert {len(case["split"]) for case in CASES} == {1, 2, 3, 4, 6}
    assert {0, 100} <= {weight for case in CASES for _, weight in case["split"]}


def test_ten_thousand_users_land_within_a_percent_of_the_weights() -> None:
    split = Split(((1, 90), (2, 10)))
    shares = Counter(choose(split, point("chat", f"user-{number}")) for number in range(10_000))
    assert abs(shares[2] - 1000) < 100


def test_raising_a_candidate_moves_users_from_stable_only() -> None:
    for low, high in ((0, 1), (1, 10), (10, 50), (50, 100)):
        before, after = Split(((1, 100 - low), (2, low))), Split(((1, 100 - high), (2, high)))
        moved = {(choose(before, at), choose(after, at)) for at in range(POINTS)}
        assert (2, 1) not in moved


def test_edges_of_the_candidates_are_whole_percents() -> None:
    split = Split(((1, 60), (2, 30), (3, 10)))
    assert [choose(split, at) for at in (0, 2999, 3000, 8999, 9000, 9999)] == [2, 2, 1, 1, 3, 3]


# The contract's hundred thousand users, whose points are reckoned once, show this of arms of 5 % and more.
@pytest.mark.long
def test_a_hundred_thousand_users_are_spread_over_four_arms_by_their_weights() -> None:
    split = Split(((1, 69), (2, 1), (3, 5), (4, 25)))
    shares = Counter(choose(split, point("chat", f"user-{number}")) for number in range(100_000))
    expected = {version: weight * 1_000 for version, weight in split.weights}
    chi_square = sum((shares[version] - count) ** 2 / count for version, count in expected.items())
    assert chi_square < 16.27  # p = 0.001 with 3 degrees of freedom


@pytest.mark.parametrize("grows", [1, 2, 3])
def test_an_arm_that_grows_takes_users_from_stable_alone(grows: int) -> None:
    weights = [1, 5, 25]
    before = [choose(split_of([[1, 69], [2, 1], [3, 5], [4, 25]]), at) for at in range(0, POINTS, 9)]
    for more in (1, 5, 15, 20):
        grown = [weight + (more if number + 1 == grows else 0) for number, weight in enumerate(weights)]
        split = split_of([[1, 100 - sum(grown)], *([number + 2, weight] for number, weight in enumerate(grown))])
        after = [choose(split, at) for at in range(0, POINTS, 9)]
        moved = {(old, new) for old, new in zip(before, after, strict=True) if old != new}
        assert moved == {(1, grows + 1)}


@pytest.mark.parametrize("weights", [[0, 75, 5, 5, 15], [10, 10, 70, 5, 5], [20, 20, 20, 20, 20], [0, 0, 100]])
def test_arms_have_their_weights_exactly_however_uneven_they_are(weights: list[int]) -> None:
    split = split_of([[number + 1, weight] for number, weight in enumerate(weights)])
    shares = Counter(choose(split, at) for at in range(POINTS))
    assert [shares[number + 1] for number in range(len(weights))] == [weight * 100 for weight in weights]


def test_the_first_version_is_stable_and_the_others_are_candidates() -> None:
    split = Split(((7, 50), (3, 50)))
    assert (split.stable, split.versions) == (7, (7, 3))
    assert (split.variant(7), split.variant(3)) == (Variant.STABLE, Variant.CANDIDATE)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "a split names at least one version"),
        ([[1, 90], [2, 9]], "weights must sum to 100"),
        ([[1, 101]], "a weight is a whole number of percent from 0 to 100"),
        ([[1, 101], [2, -1]], "a weight is a whole number of percent from 0 to 100"),
        ([[1, 50], [1, 50]], "a version stands once in a split"),
    ],
)
def test_a_wrong_split_is_refused(weights: list[list[int]], message: str) -> None:
    with pytest.raises(Fault) as caught:
        split_of(weights)
    assert caught.value.message == message


@pytest.fixture(scope="module")
def points() -> list[int]:
    """Where the contract's hundred thousand users stand."""
    return [point(USERS["model"], f"{USERS['prefix']}{number}") for number in range(USERS["count"])]


def arms(points: list[int], split: Split) -> list[int]:
    owners = [choose(split, at) for at in range(POINTS)]
    return [owners[at] for at in points]


def test_a_hundred_thousand_users_of_four_arms_pass_a_chi_square_test(points: list[int]) -> None:
    split = split_of(USERS["split"])
    seen = Counter(arms(points, split))
    expected = {version: weight / 100 * len(points) for version, weight in split.weights}
    distance = sum((seen[version] - much) ** 2 / much for version, much in expected.items())
    assert len(points) == 100_000 and set(seen) == {1, 2, 3, 4}
    assert distance < 11.34, "one in a hundred of fair splits is further off, at three degrees of freedom"


def test_each_of_a_hundred_thousand_users_has_the_arm_of_the_contract(points: list[int]) -> None:
    text = "".join(str(version) for version in arms(points, split_of(USERS["split"])))
    assert sha256(text.encode()).hexdigest() == USERS["versions_sha256"]


@pytest.mark.parametrize("grows", [2, 3, 4])
def test_raising_one_of_four_arms_moves_users_into_it_from_stable_alone(points: list[int], grows: int) -> None:
    weights = dict(split_of(USERS["split"]).weights)
    taken = sorted(set(points))
    before = arms(taken, split_of(USERS["split"]))
    # Two arms share half of the points: as far as that holds them.
    for weight in (weights[grows] + more for more in (1, 5, 20, 44 - weights[grows])):
        grown = {**weights, grows: weight, 1: weights[1] - weight + weights[grows]}
        after = arms(taken, split_of([list(arm) for arm in grown.items()]))
        moves = {(old, new) for old, new in zip(before, after, strict=True) if old != new}
        assert moves == {(1, grows)}
