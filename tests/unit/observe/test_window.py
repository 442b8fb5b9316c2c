"""Figures of the last seconds, by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sluiceway.observe.events import Event, events
from sluiceway.observe.feed import Feed
from sluiceway.observe.window import Window, percentile
from tests.unit.observe.made import AT, document, line


class Clock:
    """Seconds since the epoch, moved by hand."""

    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fill(window: Window, at: float, **changes: object) -> None:
    for event in events(document(line(**changes), at=at)):
        window.add(event)


def test_rates_percentiles_cost_and_cache_are_told_by_version_and_variant(clock: Clock) -> None:
    window = Window(10, clock)
    for number in range(1, 11):
        fill(window, AT - number / 2, total_ms=number * 100, ttft_ms=number * 10, cache="hit" if number > 8 else "miss")
    fill(
        window, AT - 1, version=2, variant="candidate", status=502, error="upstream_error", cost_usd=0.5, cache="bypass"
    )
    seen = window.snapshot()
    stable, candidate = seen.rows
    assert (stable.name, stable.variant, stable.requests, stable.per_second) == ("chat@1", "stable", 10, 1.0)
    assert (stable.total_p50, stable.total_p90, stable.ttft_p50, stable.ttft_p90) == (500, 900, 50, 90)
    assert stable.cache_share == pytest.approx(0.2)
    assert stable.cost_usd == pytest.approx(0.00016)
    assert stable.tokens_per_second == pytest.approx(47)
    assert (candidate.name, candidate.variant, candidate.failed, candidate.cache_share) == (
        "chat@2",
        "candidate",
        1,
        None,
    )
    assert (seen.total.requests, seen.total.failed, seen.errors) == (11, 1, (("upstream_error", 1),))


def test_what_is_older_than_the_window_is_forgotten(clock: Clock) -> None:
    window = Window(10, clock)
    fill(window, AT)
    clock.now = AT + 9
    assert window.snapshot().total.requests == 1
    clock.now = AT + 11
    seen = window.snapshot()
    assert (seen.total.requests, seen.rows, seen.total.total_p50) == (0, (), None)


def test_a_late_event_behind_a_newer_one_is_not_counted_past_its_time(clock: Clock) -> None:
    window = Window(10, clock)
    fill(window, AT)
    fill(window, AT - 9)
    clock.now = AT + 5
    assert window.snapshot().total.requests == 1


def test_rates_of_a_look_that_has_just_begun_are_over_its_own_time(clock: Clock) -> None:
    window = Window(60, clock, since=AT)
    clock.now = AT + 5
    for _ in range(10):
        fill(window, AT + 4)
    assert (window.snapshot().seconds, window.snapshot().total.per_second) == (5, 2.0)
    clock.now = AT + 120
    assert window.snapshot().seconds == 60


def test_refusals_make_no_model_look_fast_and_clients_that_left_are_no_errors(clock: Clock) -> None:
    window = Window(10, clock)
    fill(window, AT, total_ms=1000)
    fill(window, AT, total_ms=1, ttft_ms=None, status=429, error="rate_limited")
    fill(window, AT, total_ms=2000, error="client_disconnected")
    seen = window.snapshot()
    assert (seen.total.total_p50, seen.total.failed, seen.total.refused, seen.total.left) == (1000, 0, 1, 1)
    assert seen.errors == (("rate_limited", 1),)


def test_what_no_caller_asked_for_is_no_traffic(clock: Clock) -> None:
    window = Window(10, clock)
    for path in ("/healthz", "/readyz", "/_sluiceway/keys"):
        fill(window, AT, path=path, model=None)
    fill(window, AT, method="OPTIONS", model=None)
    fill(window, AT, via="probe")
    fill(window, AT, path="/v1/models", model=None)
    assert [row.name for row in window.snapshot().rows] == ["no model"]
    assert window.snapshot().total.requests == 1


@pytest.mark.parametrize(
    ("values", "share", "found"),
    [([], 0.5, None), ([7], 0.9, 7), ([1, 2], 0.5, 1), ([1, 2, 3], 0.5, 2), (list(range(1, 101)), 0.9, 90)],
)
def test_percentiles_are_values_that_were_there(values: list[float], share: float, found: float | None) -> None:
    assert percentile(values, share) == found


def test_a_feed_gives_what_came_and_then_what_its_source_raised() -> None:
    def source() -> Iterator[Event]:
        yield from events(document(line()))
        raise ValueError("gone")

    feed = Feed(source())
    feed.close()
    assert len(feed.drain()) == 1
    with pytest.raises(ValueError, match="gone"):
        feed.drain()
