"""``sluiceway logs`` and ``sluiceway top``, as far as no stage need run."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from sluiceway.cli.logs import Lines, as_object, as_text, is_error, money
from sluiceway.cli.top import gather, watch
from sluiceway.cli.top_view import view
from sluiceway.observe.events import Event, events
from sluiceway.observe.feed import Feed
from sluiceway.observe.source_map import Places
from sluiceway.observe.window import Window
from tests.unit.observe.made import AT, document, line


def one(*lines: object) -> Event:
    (event,) = events(document(*lines))
    return event


def screen(window: Window, height: int | None = None) -> str:
    console = Console(width=160, color_system=None)
    with console.capture() as captured:
        console.print(view("local", window.snapshot(), height))
    return captured.get()


def test_a_line_says_who_answered_how_fast_and_at_what_cost() -> None:
    text = as_text(one(line(fallback="chat-small@1", fallback_reason="rate_limited", retries=1)))
    assert "\n" not in text
    for word in ("200", "chat@1", "stable", "980 ms", "(first 120)", "7+40 tokens", "$0.000016", "cache=miss"):
        assert word in text
    assert "fallback=chat-small@1 because=rate_limited retries=1" in text
    assert text.endswith("key=0123456789ab req-0001")


def test_a_request_without_a_model_is_told_by_its_path() -> None:
    refused = line(model=None, version=None, variant=None, status=401, error="invalid_api_key", refusal="key_revoked")
    text = as_text(one({**refused, "tokens": 0}))
    assert "401 POST /v1/chat/completions" in text
    assert "error=invalid_api_key refusal=key_revoked" in text


def test_nothing_that_a_caller_chose_moves_the_cursor() -> None:
    text = as_text(one(line(model=None, path="/\x1b[2J\u009b31m\nforged", id="a\rb")))
    assert text.isprintable()


def test_errors_are_failures_and_refusals_but_no_client_that_left() -> None:
    assert is_error(one(line(status=502, error="upstream_error")))
    assert is_error(one(line(status=429, error="rate_limited")))
    assert is_error(one({"event": "exception", "level": "error", "name": "RangeError", "frames": []}))
    assert not is_error(one(line()))
    assert not is_error(one(line(status=499, error="client_disconnected")))


def test_the_screen_tells_of_answers_that_no_model_gave() -> None:
    window = Window(60, lambda: AT)
    for changes in ({}, {"degraded": "stale", "error": "upstream_error"}, {"degraded": "default", "error": "e"}):
        window.add(one(line(**changes)))
    assert "degraded: 2 had" in screen(window)


def test_an_object_is_the_gateways_line_with_its_time() -> None:
    assert as_object(one(line())) == {"at": "2026-11-30T13:45:00.000+00:00", **line()}


def test_the_last_of_what_was_is_shown_once_then_each_as_it_comes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluiceway.cli.logs.nap", lambda _seconds: None)
    lines = Lines(2, Places(tmp_path, tmp_path), True, live=False)
    for number in range(5):
        lines.take(one(line(id=f"req-{number}")))
    assert capsys.readouterr().out == ""
    lines.rest(0)
    lines.rest(0)
    lines.take(one(line(id="req-5")))
    shown = [json.loads(text)["id"] for text in capsys.readouterr().out.splitlines()]
    assert shown == ["req-3", "req-4", "req-5"]


def test_money_shows_the_digits_that_tell_sums_apart() -> None:
    assert [money(usd) for usd in (0.0000123, 0.0123, 12.3)] == ["$0.000012", "$0.0123", "$12.30"]


def test_the_screen_has_a_row_for_each_version_and_one_for_all() -> None:
    window = Window(10, lambda: AT)
    for changes in (
        {},
        {"cache": "hit"},
        {"version": 2, "variant": "candidate", "status": 504, "error": "upstream_timeout"},
    ):
        for event in events(document(line(**changes))):
            window.add(event)
    shown = screen(window)
    rows = {words[0]: words for text in shown.splitlines() if (words := text.split())}
    assert "last 10 s: 3 requests" in shown
    assert rows["chat@1"][:4] == ["chat@1", "stable", "0.2", "-"]
    assert rows["chat@2"][:4] == ["chat@2", "candidate", "0.1", "100.0%"]
    assert "33.3%" in rows["all"]
    assert "50%" in rows["chat@1"]
    assert "errors: upstream_timeout 1" in shown


def test_a_small_screen_shows_the_busiest_and_says_how_many_more_there_are() -> None:
    window = Window(10, lambda: AT)
    for version in range(1, 21):
        for event in events(document(line(version=version))):
            window.add(event)
    shown = screen(window, height=12)
    assert "and 16 more" in shown
    assert len(shown.splitlines()) <= 12


def feed(*changes: dict[str, object]) -> Feed:
    """A source that told of one request for each of ``changes``, and ended."""
    made = Feed(event for one in changes for event in events(document(line(**one))))
    made.close()
    return made


def test_the_live_screen_is_drawn_anew_each_second_with_what_came() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=160, height=20, color_system=None)
    looks: list[str] = []

    def sleep(seconds: float) -> None:
        assert seconds == 1
        assert isinstance(console.file, StringIO)
        looks.append(console.file.getvalue())
        if len(looks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch("local", feed({}, {"version": 2}), Window(10, lambda: AT), console, sleep)
    assert "2 requests" in looks[0]
    assert "chat@2" in looks[0]
    assert len(looks[1]) > len(looks[0])


def test_one_look_takes_all_that_is_there() -> None:
    seen = gather(feed({}, {}, {}), Window(10, lambda: AT), 0)
    assert seen.total.requests == 3


def test_a_stage_without_traffic_has_a_screen_too() -> None:
    assert "0 requests" in screen(Window(10, lambda: AT))
