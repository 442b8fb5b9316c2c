"""The evidence of two worker versions' requests, and how it is read from the stage's log."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sluiceway.observe.events import Event, Request, events
from sluiceway.release.evidence import Block, Limits, _bet, _Memory, weigh
from sluiceway.release.gates import Reading, Window
from sluiceway.release.log_gates import LogGates

BEGIN = datetime(2026, 7, 1, 12, tzinfo=UTC)
WINDOW = Window(BEGIN, BEGIN)
OLD, NEW = "old-version", "new-version"
LIMITS = Limits(0.02)


def traffic(seed: int, count: int, share: float, old: float, new: float) -> Iterator[Block]:
    """Blocks of 50 requests, ``share`` of which go to the new version."""
    chance = random.Random(seed)
    for _ in range(count // 50):
        arms = [chance.random() < share for _ in range(50)]
        bad = [chance.random() < (new if is_new else old) for is_new in arms]
        of_new = sum(arms)
        bad_new = sum(b for b, is_new in zip(bad, arms, strict=True) if is_new)
        if 0 < of_new < 50:
            yield Block(50 - of_new, sum(bad) - bad_new, of_new, bad_new)


@pytest.mark.parametrize("shape", [(1, 1), (9, 1), (10, 10), (3, 30), (40, 10)])
@pytest.mark.parametrize("margin", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("failing", [True, False])
def test_no_bet_pays_on_average_where_there_is_nothing_to_find(
    shape: tuple[int, int], margin: float, failing: bool
) -> None:
    """Every outcome of a block, weighted by its chance at points of the null: the mean never passes 1."""
    old, new = shape
    memory = _Memory(80, 2, 30, 9) if failing else _Memory(80, 2, 200, 1)
    placed = 0
    for rate in (0.001, 0.01, 0.1, 0.3, 0.6):
        for shift in (-0.05, -0.02, 0.0, 0.02, 0.05):
            p, q = rate, rate + shift
            in_null = q - p <= margin if failing else q - p >= margin
            if not in_null or not 0 < q < 1:
                continue
            mean = 0.0
            for bad_old, bad_new in itertools.product(range(old + 1), range(new + 1)):
                won = _bet(memory, Block(old, bad_old, new, bad_new), margin, failing=failing)
                placed += won != 0
                mean += math.exp(won) * _chance(old, bad_old, p) * _chance(new, bad_new, q)
            assert mean <= 1 + 1e-9
    assert placed or (margin == 0.0 and not failing)


def _chance(count: int, bad: int, rate: float) -> float:
    return math.comb(count, bad) * rate**bad * (1 - rate) ** (count - bad)


def test_a_version_as_good_as_the_old_one_passes_and_never_fails() -> None:
    words = [weigh(traffic(seed, 10_000, 0.1, 0.01, 0.01), LIMITS).word for seed in range(60)]
    assert words.count("fail") == 0
    assert words.count("pass") >= 45


def test_a_version_that_fails_a_fifth_is_found_within_sixty_of_its_requests() -> None:
    found = sorted(weigh(traffic(seed, 20_000, 0.1, 0.01, 0.2), LIMITS).new for seed in range(41))
    assert found[20] <= 60


def test_a_fault_common_to_both_versions_fails_none() -> None:
    for seed in range(20):
        calm = traffic(seed, 4_000, 0.1, 0.01, 0.01)
        storm = traffic(seed + 100, 2_000, 0.1, 0.4, 0.4)
        assert weigh(itertools.chain(calm, storm), LIMITS).word == "platform"


def test_a_fail_needs_three_bad_requests_of_ten() -> None:
    assert weigh([Block(50, 0, 2, 2)], LIMITS).word != "fail"
    assert weigh([Block(50, 0, 9, 9)] * 1, LIMITS).word != "fail"


def test_ro_01_nothing_and_little_are_no_pass_and_a_fifth_of_errors_is_a_fail() -> None:
    assert weigh([], LIMITS).word == "inconclusive"
    assert weigh([Block(10, 0, 2, 1)], LIMITS).word == "inconclusive"
    assert weigh([Block(90, 1, 10, 0)] * 3, LIMITS).word == "inconclusive"
    assert weigh([Block(45, 0, 5, 1)] * 40, LIMITS).word == "fail"


CONTRACT = json.loads((Path(__file__).parents[2] / "contract/gates.json").read_text("utf-8"))
REASONS = {"old-bad": "stable-degraded", "pass": None, "fail": None}


@pytest.mark.parametrize("run", CONTRACT["runs"], ids=lambda run: str(run["name"]).replace(" ", "-"))
def test_the_verdicts_are_those_of_the_gateways_own_gates(run: dict[str, Any]) -> None:
    given = run["settings"]
    limits = Limits(
        given["margin"], given["alpha"], given["beta"], given["gates"],
        given["minFail"], given["minBad"], given["minPass"], given["absolute"],
    )  # fmt: skip
    for state in run["states"]:
        found = settled(run["batches"][: state["after"]], [at for at in run["steps"] if at < state["after"]])
        if found is None or state["reason"] == "no-control":
            continue
        word = weigh(found, limits).word
        verdict = word if word in ("pass", "fail") else "inconclusive"
        assert (verdict, REASONS.get(word, word)) == (state["verdict"], state["reason"]), state["after"]


def settled(batches: list[list[int]], steps: list[int]) -> list[Block] | None:
    """Batches joined until both arms have a request; None while some wait for the other arm."""
    found, waiting = [], [0, 0, 0, 0]
    for at, batch in enumerate(batches):
        waiting = [a + b for a, b in zip(waiting, batch, strict=True)]
        if waiting[0] and waiting[2]:
            old, old_bad, new, new_bad = waiting
            found.append(Block(old, old_bad, new, new_bad, at >= max(steps, default=0)))
            waiting = [0, 0, 0, 0]
    return None if any(waiting) else found


def line(version: str, at: float, number: int, **fields: object) -> list[Event]:
    """A request of ``version`` that ended ``at`` seconds after the beginning."""
    entry = {
        "event": "request", "worker_version": version, "status": 200, "path": "/v1/chat/completions", "method": "POST",
        "key_id": f"key-{number % 7}", "total_ms": 200, "cache": "miss", **fields,
    }  # fmt: skip
    stamp = (BEGIN.timestamp() + at) * 1000
    return list(events({"logs": [{"message": [json.dumps(entry)], "timestamp": stamp}], "timestamp": stamp}))


def served(count: int, bad: float = 0.0, fields: dict[str, object] | None = None) -> list[Event]:
    """``count`` requests, every tenth of them to the new version, of which the share ``bad`` has ``fields``."""
    chance = random.Random(1)
    found: list[Event] = []
    for number in range(count):
        version = NEW if number % 10 == 0 else OLD
        broken = fields or {} if version == NEW and chance.random() < bad else {}
        found += line(version, 1 + number / 20, chance.randrange(1000), **broken)
    return found


def read(found: list[Event], window: Window = WINDOW, latency_s: float | None = None) -> Reading:
    return LogGates(lambda: found, 0.02, latency_s).verdict(OLD, NEW, window)


@pytest.mark.parametrize("cache", ["miss", "bypass", None])
def test_healthy_requests_in_the_log_pass(cache: str | None) -> None:
    found = [replace(event, cache=cache) for event in served(6_000) if isinstance(event, Request)]
    assert read(list(found)).verdict == "pass"


@pytest.mark.parametrize(
    "fields",
    [
        {"status": 500, "error": "internal"},
        {"error": "upstream_cut"},
        {"fallback": "chat-small@1"},
        {"degraded": "stale"},
    ],
)
def test_each_kind_of_failure_is_one_of_the_version_that_was_asked(fields: dict[str, object]) -> None:
    told = read(served(3_000, 0.3, fields))
    assert told.verdict == "fail" and told.gate == "errors"
    assert "requests of the new version were bad" in told.reason


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "client_disconnected"},
        {"status": 429, "error": "rate_limited"},
        {"path": "/_sluiceway/spend", "status": 500},
        {"cache": "exact", "status": 500},
    ],
)
def test_what_says_nothing_of_a_version_fails_none(fields: dict[str, object]) -> None:
    assert read(served(6_000, 0.5, fields)).verdict != "fail"


def test_a_slow_version_fails_by_latency_and_is_named_only_where_a_limit_is_set() -> None:
    slow = served(3_000, 0.4, {"total_ms": 9_000})
    told = read(slow, latency_s=5.0)
    assert told.verdict == "fail" and told.gate == "latency"
    assert read(slow).verdict != "fail"


def test_requests_admitted_before_the_ramp_count_nowhere() -> None:
    late = Window(BEGIN + timedelta(seconds=400), BEGIN + timedelta(seconds=400))
    assert read(served(3_000, 1.0, {"status": 500}), late).verdict == "inconclusive"


def test_each_step_earns_its_own_pass() -> None:
    whole = served(6_000)
    assert read(whole).verdict == "pass"
    assert read(whole, Window(BEGIN, BEGIN + timedelta(seconds=295))).verdict == "inconclusive"


def test_a_key_that_everybody_shares_still_gives_a_verdict() -> None:
    shared = {"key_id": "everybody"}
    fine = [event for number in range(8_000) for event in line([OLD, NEW][number % 2], number / 20, 0, **shared)]
    assert read(fine).verdict == "pass"
    broken = [
        event
        for number in range(800)
        for event in line([OLD, NEW][number % 2], number / 20, 0, status=[200, 500][number % 2], **shared)
    ]
    assert read(broken).verdict == "fail"


def test_one_client_that_fails_over_and_over_within_a_block_counts_once() -> None:
    storm = [event for number in range(60) for event in line(NEW, 1 + number / 100, 3, status=500)]
    calm = [event for number in range(40) for event in line(OLD, 2 + number / 100, number)]
    assert read(storm + calm).verdict == "inconclusive"
