"""A version without traffic is tried, and an answer of another version is never taken for its own."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from sluiceway.release.smoke import OVERRIDE, Target, smoke
from sluiceway.release.world import WorkerVersion

NEW = WorkerVersion("11111111-new", 2, "2026-07-01T12:00:00Z", "r-new")
TARGET = Target("https://gateway.example.com", "sluiceway-staging", "the-key")


def answer(version: str = NEW.id, release: str = "r-new", status: int = 200, **more: object) -> httpx.Response:
    body = {"status": "ready", "worker_version": version, **more}
    return httpx.Response(status, json=body, headers={"x-sluiceway-release": release})


def tried(reply: Callable[[int, httpx.Request], httpx.Response], target: Target = TARGET) -> tuple[str | None, int]:
    """What is wrong, and how often it was asked."""
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return reply(len(asked), request)

    said = smoke(target, NEW, transport=httpx.MockTransport(handle), sleep=lambda _: None)
    return said, len(asked)


def test_the_version_is_named_in_the_header_and_its_readiness_asked_with_the_stages_key() -> None:
    seen: list[httpx.Request] = []

    def reply(_: int, request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answer()

    assert tried(reply) == (None, 1)
    (request,) = seen
    assert request.headers[OVERRIDE] == f'sluiceway-staging="{NEW.id}"'
    assert request.headers["authorization"] == "Bearer the-key"
    assert request.url.path == "/readyz"


def test_it_is_asked_again_until_the_override_has_come_to_the_edge() -> None:
    assert tried(lambda number, _: answer("22222222-old") if number < 4 else answer()) == (None, 4)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (answer("22222222-old"), "answered by 22222222"),
        (answer(release="r-other"), "release r-other"),
        (answer(status=503, faults=["config"]), "503: config"),
        (httpx.Response(200, text="hello"), "release none"),
        (httpx.Response(500, headers={"x-sluiceway-release": "r-new"}), "500"),
        (httpx.Response(200, json={"status": "ready"}, headers={"x-sluiceway-release": "r-new"}), "takes no key"),
    ],
)
def test_what_is_wrong_is_said(reply: httpx.Response, said: str) -> None:
    told, asked = tried(lambda *_: reply)
    assert told is not None and said in told
    assert asked > 1, "a fault may be of one moment"


def test_a_stage_that_does_not_answer_is_said_not_to() -> None:
    def refuse(_: int, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    assert "did not answer" in str(tried(refuse)[0])


def test_without_a_key_the_release_alone_is_compared() -> None:
    target = Target(TARGET.url, TARGET.worker)
    reply = httpx.Response(200, json={"status": "ready"}, headers={"x-sluiceway-release": "r-new"})
    assert tried(lambda *_: reply, target) == (None, 1)
