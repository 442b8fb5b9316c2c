"""Tail documents are read into requests and failures, whoever wrote them."""

from __future__ import annotations

import json

import pytest

from sluiceway.observe.events import Failure, Request, events
from tests.unit.observe.made import AT, document, line


def only(found: object) -> Request:
    (request,) = events(found)
    assert isinstance(request, Request)
    return request


def test_a_request_is_read_from_the_line_that_the_gateway_logged() -> None:
    request = only(document(line(fallback="chat-small@1", retries=2), at=AT))
    assert (request.at, request.model, request.variant, request.status) == (AT, "chat@1", "stable", 200)
    assert (request.total_ms, request.ttft_ms, request.tokens, request.cost_usd) == (980, 120, 47, 0.000016)
    assert (request.cache, request.fallback, request.retries) == ("miss", "chat-small@1", 2)
    assert not (request.failed or request.refused or request.left)


def test_what_wrangler_prints_is_read_alike() -> None:
    printed = document(line(), at=AT)
    del printed["kind"], printed["script"], printed["timestamp"]
    printed |= {"scriptName": "gateway", "eventTimestamp": AT * 1000, "event": {"request": {}, "response": {}}}
    assert only(printed) == only(document(line(), at=AT))


@pytest.mark.parametrize(
    ("changes", "failed", "refused", "left"),
    [
        ({"status": 502, "error": "upstream_error"}, True, False, False),
        ({"status": 200, "error": "upstream_broken"}, True, False, False),
        ({"status": 429, "error": "rate_limited"}, False, True, False),
        ({"status": 429, "error": "upstream_quota_exceeded"}, True, False, False),
        ({"status": 499, "error": "client_disconnected"}, False, False, True),
        ({"status": 200, "error": "client_disconnected"}, False, False, True),
    ],
)
def test_a_failure_a_refusal_and_a_client_that_left_are_told_apart(
    changes: dict[str, object], failed: bool, refused: bool, left: bool
) -> None:
    request = only(document(line(**changes)))
    assert (request.failed, request.refused, request.left) == (failed, refused, left)


def test_an_exception_is_told_with_its_request_and_places() -> None:
    told = {
        "event": "exception",
        "level": "error",
        "id": "req-1",
        "name": "RangeError",
        "frames": ["    at f (i.js:1:2)"],
    }
    found = list(events(document(told, line(status=500, error="internal_error"))))
    assert isinstance(found[0], Failure)
    assert (found[0].what, found[0].request_id, found[0].places) == (
        "exception RangeError",
        "req-1",
        ("at f (i.js:1:2)",),
    )
    assert isinstance(found[1], Request)


def test_an_uncaught_exception_is_told_without_its_text() -> None:
    thrown = {
        "name": "TypeError",
        "message": "the launch code",
        "stack": "TypeError: the launch code\n  at f (i.js:1:2)",
    }
    (failure,) = events(document(exceptions=[thrown], outcome="exception"))
    assert isinstance(failure, Failure)
    assert (failure.what, failure.places) == ("uncaught TypeError", ("at f (i.js:1:2)",))
    assert "launch" not in f"{failure.what} {failure.places}"


def test_a_worker_that_the_platform_ended_is_a_failure_and_a_client_that_left_is_none() -> None:
    (failure,) = events(document(outcome="exceededCpu"))
    assert isinstance(failure, Failure)
    assert failure.what == "the platform ended it: exceededCpu"
    assert list(events(document(outcome="canceled"))) == []


def test_a_warning_of_the_gateways_own_is_told() -> None:
    told = {"event": "telemetry", "level": "warn", "what": "otlp", "reason": "status 500"}
    (failure,) = events(document(told))
    assert isinstance(failure, Failure)
    assert failure.what == "telemetry otlp status 500"


@pytest.mark.parametrize(
    "found",
    [
        None, [], "text", {}, {"logs": None, "exceptions": 7}, {"logs": [None, {"message": []}, {"message": [7]}]},
        document("hello", "{broken", "[1]", '"text"', json.dumps({"event": "something else"})),
        {"logs": [{"message": ["{}"], "timestamp": "soon"}], "outcome": "ok"},
    ],
)  # fmt: skip
def test_whatever_else_a_worker_logs_is_passed_over(found: object) -> None:
    assert list(events(found)) == []


def test_a_line_with_fields_of_the_wrong_kind_is_read_as_far_as_it_goes() -> None:
    request = only(
        document(line(model=7, status="200", total_ms=None, cost_usd="free", cache=["hit"], prompt_tokens=True))
    )
    assert (request.model, request.status, request.total_ms, request.cost_usd) == (None, 0, 0, 0)
    assert (request.cache, request.tokens) == (None, 40)
