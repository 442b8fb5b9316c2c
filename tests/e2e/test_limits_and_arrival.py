"""What the gateway does with bodies that are too large and with tokens that come slowly, over real connections."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator

import httpx
import pytest

from tests.e2e.conftest import Served

# A whole stage at work for minutes; each part has its own test in seconds.
pytestmark = pytest.mark.long

PATH = "/v1/chat/completions"
MB = 1 << 20


def chunks(size: int) -> Iterator[bytes]:
    """A body that is sent without a length."""
    for _ in range(size >> 16):
        yield b" " * (1 << 16)


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, headers={"authorization": f"Bearer {served.key}"}, timeout=60) as client:
        yield client


@pytest.mark.parametrize(
    "body",
    [b" " * (2 * MB), b" " * (12 * MB), chunks(2 * MB), chunks(12 * MB)],
    ids=["2", "12", "chunked-2", "chunked-12"],
)
def test_wr_09_a_body_that_is_too_large_is_a_413_and_the_next_request_is_answered(
    client: httpx.Client, body: bytes | Iterable[bytes]
) -> None:
    refused = client.post(PATH, content=body)
    assert refused.status_code == 413
    assert refused.headers["content-type"].startswith("application/json")
    error = refused.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "request_too_large")
    assert error["request_id"] == refused.headers["x-request-id"]
    asked = {"model": "chat@1", "messages": [{"role": "user", "content": "#count 2"}]}
    assert client.post(PATH, json=asked).json()["choices"][0]["message"]["content"] == "1 2"


def test_wr_06_tokens_arrive_when_they_are_said(client: httpx.Client) -> None:
    def arrivals(prompt: str) -> list[float]:
        """Seconds from the request to each piece of text."""
        asked = {"model": "chat@1", "messages": [{"role": "user", "content": prompt}], "stream": True}
        began, seen = time.monotonic(), []
        with client.stream("POST", PATH, json=asked) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                    seen.append(time.monotonic() - began)
        return seen

    arrivals("#count 1")
    # The engine waits before each token: the first is said after 0.3 s.
    # WR-06 names these figures, for arrival over the real local port; no clock but this machine's can tell of it.
    first, *_, last = seen = arrivals("#delay 300 #count 3")
    assert len(seen) == 3
    assert first < 0.3 + 0.25
    assert last - first >= 0.5
