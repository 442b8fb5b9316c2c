"""What the stage is asked, how often, and what is made of what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.golden.asking import Answer, Gateway

URL = "https://gateway.test"
KEY = "slw-canary"
ASKED = ({"role": "user", "content": "Hello"},)
Serve = Callable[[httpx.Request], httpx.Response]


class Clock:
    """Time that goes by only in sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def said(text: str | None = "Hi.", **headers: str) -> httpx.Response:
    body = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return httpx.Response(200, json=body, headers={"x-sluiceway-model": "chat@2", **headers})


def refused(status: int, code: str, **headers: str) -> httpx.Response:
    told = {"message": f"About {code}.", "type": "x", "code": code, "param": None, "request_id": "r"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"error": told}, headers=named)


def ask(*answers: httpx.Response | Exception, clock: Clock | None = None, times: int = 1, key: str | None = KEY) -> Any:  # noqa: ANN401
    """The answer, and the requests; the last of ``answers`` comes again and again."""
    seen: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        answer = answers[min(len(seen), len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    async def all_of_it() -> list[Answer]:
        time = clock or Clock()
        gateway = Gateway(
            f"{URL}/", key, chance=lambda: 0.5, sleep=time.sleep, clock=time, transport=httpx.MockTransport(serve)
        )
        async with gateway:
            return [await gateway.ask("chat@2", ASKED, {"max_tokens": 9}) for _ in range(times)]

    return asyncio.run(all_of_it())[-1], seen


def test_a_request_pins_its_version_and_passes_by_cache_and_stand_ins() -> None:
    answer, (request,) = ask(said())
    assert answer == Answer("Hi.")
    assert (request.method, str(request.url)) == ("POST", f"{URL}/v1/chat/completions")
    assert json.loads(request.content) == {"model": "chat@2", "messages": [*ASKED], "max_tokens": 9}
    assert request.headers["x-sluiceway-cache"] == "bypass"
    assert request.headers["x-sluiceway-fallback"] == "none"
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_no_key_is_sent_where_none_is_asked_for() -> None:
    _, (request,) = ask(said(), key=None)
    assert "authorization" not in request.headers


def test_a_limit_is_waited_for_as_long_as_it_says() -> None:
    clock = Clock()
    answer, seen = ask(refused(429, "rate_limit_exceeded", retry_after="7"), said(), clock=clock)
    assert (answer, len(seen), clock.slept) == (Answer("Hi."), 2, [7.0])


def test_all_requests_wait_for_a_limit_that_one_has_met() -> None:
    clock, at = Clock(), []

    def serve(_: httpx.Request) -> httpx.Response:
        at.append(clock.now)
        return refused(429, "upstream_rate_limited", retry_after="30") if len(at) == 1 else said()

    async def both() -> None:
        transport = httpx.MockTransport(serve)
        async with Gateway(
            URL, KEY, chance=lambda: 0.0, sleep=clock.sleep, clock=clock, transport=transport
        ) as gateway:
            first = asyncio.create_task(gateway.ask("chat@2", ASKED, {}))
            while not at:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert await gateway.ask("chat@2", ASKED, {}) == await first == Answer("Hi.")

    asyncio.run(both())
    assert at == [100.0, 130.0, 130.0]


def test_a_limit_that_holds_for_long_ends_the_run() -> None:
    for answers in ([refused(429, "rate_limit_exceeded", retry_after="3600")], [refused(429, "rate_limit_exceeded")]):
        with pytest.raises(SluicewayError, match="lets this key ask no more") as caught:
            ask(*answers)
        assert "--parallel" in str(caught.value.hint)


@pytest.mark.parametrize("first", [refused(502, "upstream_error"), httpx.ConnectError("x"), httpx.ReadTimeout("x")])
def test_what_may_go_by_is_tried_again_after_a_pause_that_grows(first: httpx.Response | Exception) -> None:
    clock = Clock()
    answer, seen = ask(first, first, first, said(), clock=clock)
    assert (answer, len(seen), clock.slept) == (Answer("Hi."), 4, [0.75, 1.5, 3.0])


def test_tries_are_bounded() -> None:
    answer, seen = ask(refused(502, "upstream_broken"))
    assert (answer, len(seen)) == (Answer(None, "upstream_broken"), 4)
    answer, seen = ask(refused(502, "upstream_refused", x_should_retry="false"))
    assert (answer, len(seen)) == (Answer(None, "upstream_refused"), 1)
    answer, seen = ask(refused(400, "invalid_request"))
    assert (answer, len(seen)) == (Answer(None, "invalid_request"), 1)
    with pytest.raises(SluicewayError, match="the gateway did not answer: ConnectError"):
        ask(httpx.ConnectError("x"))


def test_a_providers_limit_is_waited_for_longer_and_is_no_fault_of_the_versions() -> None:
    clock = Clock()
    answer, seen = ask(refused(429, "upstream_rate_limited", retry_after="20"), clock=clock)
    assert (answer, len(seen)) == (Answer(None, "upstream_rate_limited", neutral=True), 8)
    assert clock.slept == [20.0] * 7
    limited = [refused(429, "upstream_rate_limited")] * 7
    clock = Clock()
    assert ask(*limited, said(), clock=clock)[0] == Answer("Hi.")
    assert clock.slept == [0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 30.0]


@pytest.mark.parametrize("code", ["internal_error", "access_unavailable", "budget_unavailable"])
def test_a_fault_of_the_gateways_own_is_nobodys(code: str) -> None:
    assert ask(refused(503, code))[0] == Answer(None, code, neutral=True)


def test_a_prompt_that_the_guard_refuses_is_nobodys_fault() -> None:
    assert ask(refused(400, "prompt_injection"))[0] == Answer(None, "prompt_injection", neutral=True)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (said(**{"x-sluiceway-degraded": "default"}), "degraded"),
        (said(**{"x-sluiceway-model": "chat@1"}), "answered_by_another"),
        (httpx.Response(200, text="<html>"), "no_chat_completion"),
        (httpx.Response(200, json={"choices": []}), "no_chat_completion"),
        (httpx.Response(200, json=[1]), "no_chat_completion"),
        (httpx.Response(200, json={"choices": [{"message": None}]}), "no_chat_completion"),
    ],
)
def test_what_is_no_answer_of_the_version_is_none(answer: httpx.Response, failure: str) -> None:
    assert ask(answer)[0] == Answer(None, failure)


def test_an_answer_without_text_is_an_empty_one() -> None:
    assert ask(said(None))[0] == Answer("")


@pytest.mark.parametrize(
    ("answer", "told", "hint"),
    [
        (refused(401, "invalid_api_key"), "refuses the key", "SLUICEWAY_SECRET_API_KEY"),
        (refused(403, "model_not_allowed"), "refuses the key", "may use the model"),
        (
            refused(404, "model_not_found"),
            r"chat@2 is not served there: About model_not_found \(",
            "up with that version",
        ),
        (refused(501, "backend_not_served"), "is not served there", "--url"),
        (httpx.Response(404, text="<html>"), r"is not served there: HTTP 404 \(http_error\)", "--url"),
        (httpx.Response(302, headers={"location": "https://evil.test"}), "HTTP 302", "--url"),
    ],
)
def test_what_no_try_mends_is_told_at_once(answer: httpx.Response, told: str, hint: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        ask(answer)
    assert hint in caught.value.hint if caught.value.hint else False
    assert KEY not in caught.value.render()


def test_a_budget_that_is_used_up_ends_the_run_unless_waiting_helps() -> None:
    with pytest.raises(SluicewayError, match="budget_exceeded"):
        ask(refused(402, "budget_exceeded"))
    assert ask(refused(402, "budget_exceeded", x_should_retry="true"), said())[0] == Answer("Hi.")


@pytest.mark.parametrize("url", ["http://gateway.test", "ftp://x.test", "https://user:pass@x.test", "x", "https://x?y"])
def test_prompts_and_key_go_to_no_other_place_than_https_or_this_machine(url: str) -> None:
    with pytest.raises(UserError) as caught:
        Gateway(url, KEY, chance=lambda: 0.0)
    assert caught.value.path == "--url"
    assert "pass" not in caught.value.render()


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(UserError, match="can't travel in a header") as caught:
        Gateway(URL, "slw-\ncanary", chance=lambda: 0.0)
    assert "canary" not in caught.value.render()
