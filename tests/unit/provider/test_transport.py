from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import httpx
import pytest

from sluiceway.engine.provider import cloudflare_plugin, sluiceway_plugin
from sluiceway.engine.provider.faults import MAYBE_MADE, ApiFault, redact
from sluiceway.engine.provider.transport import Client, Request, loopback
from sluiceway.engine.provider.values import UNKNOWN
from sluiceway.errors import UserError

BASE = "http://127.0.0.1:1/client/v4"


class Server:
    """Answers with ``statuses`` in turn."""

    def __init__(self, *statuses: int, headers: dict[str, str] | None = None, body: Any = None) -> None:  # noqa: ANN401
        self.statuses = list(statuses)
        self.headers = headers or {}
        self.body = body
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        self.chance = 0.0

    def client(self) -> Client:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        return Client(BASE, "token", sleep=sleep, chance=lambda: self.chance, http=http)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        status = self.statuses.pop(0)
        if status >= 400:
            errors = [{"code": 10021, "message": "it broke"}]
            body = self.body or {"success": False, "errors": errors, "result": None}
            return httpx.Response(status, json=body, headers=self.headers)
        return httpx.Response(status, json={"success": True, "errors": [], "result": {"id": "x"}})

    def call(self) -> Any:  # noqa: ANN401
        return asyncio.run(self.client().call(Request("POST", "/accounts/a/queues", json={"queue_name": "q"})))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 520])
def test_busy_and_broken_servers_are_asked_again_with_growing_delays(status: int) -> None:
    server = Server(status, status, status, 200)
    assert server.call() == {"id": "x"}
    assert server.waits == [0.5, 1.0, 2.0]
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == ["0", "1", "2", "3"]


def test_waits_are_a_little_shorter_by_chance() -> None:
    server = Server(503, 503, 200)
    server.chance = 1.0
    server.call()
    assert server.waits == [0.375, 0.75]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "0"}, 0.5),
        ({"retry-after": "soon"}, 0.5),
    ],
    ids=str,
)
def test_the_servers_own_wait_is_kept(headers: dict[str, str], wait: float) -> None:
    server = Server(429, 200, headers=headers)
    server.call()
    assert server.waits == [wait]


def test_a_server_that_asks_for_more_than_a_minute_is_left_alone() -> None:
    server = Server(429, 200, headers={"retry-after": "300"})
    with pytest.raises(ApiFault) as fault:
        server.call()
    assert (server.waits, fault.value.hint) == (
        [], "Cloudflare asks to be left alone for 300 s: run it again after that",
    )  # fmt: skip


@pytest.mark.parametrize(("told", "statuses", "calls"), [("false", (503, 200), 1), ("true", (400, 200), 2)])
def test_a_server_that_says_whether_to_try_again_is_obeyed(told: str, statuses: tuple[int, ...], calls: int) -> None:
    server = Server(*statuses, headers={"x-should-retry": told})
    with nullcontext() if told == "true" else pytest.raises(ApiFault):
        server.call()
    assert len(server.requests) == calls


def test_it_gives_up_after_three_retries_and_says_so() -> None:
    server = Server(503, 503, 503, 503, 200)
    with pytest.raises(ApiFault, match=r"POST /accounts/a/queues failed: error 10021: it broke \(tried 4 times\)"):
        server.call()
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [429, 500])
def test_a_failure_that_is_not_the_callers_says_that_trying_later_helps(status: int) -> None:
    server = Server(*[status] * 4, body={"errors": [{"code": 99, "message": "no"}]})
    with pytest.raises(ApiFault) as fault:
        server.call()
    assert fault.value.hint and "run it again" in fault.value.hint and "is kept" in fault.value.hint


def test_a_page_of_the_edge_is_told_by_its_title() -> None:
    page = "<html><head><title>502 Bad Gateway</title></head><body><center>cloudflare</center></body></html>"
    client = Client(BASE, "t", sleep=_at_once, http=_http(lambda _: httpx.Response(502, html=page)))
    with pytest.raises(ApiFault, match=r"GET /x failed: HTTP 502: Bad Gateway \(tried 4 times\)$"):
        asyncio.run(client.call(Request("GET", "/x")))


async def _at_once(_: float) -> None:
    return


def _http(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


@pytest.mark.parametrize("found", [{"id": "y"}, None])
def test_a_call_that_may_have_been_carried_out_is_looked_for_before_it_is_made_again(found: Any) -> None:  # noqa: ANN401
    server, looks = Server(504, 200), []

    async def made(since: float) -> Any:  # noqa: ANN401
        looks.append(since)
        return found

    assert asyncio.run(server.client().call(Request("POST", "/x"), made)) == (found or {"id": "x"})
    assert (len(looks), len(server.requests)) == (1, 1 if found else 2)


def test_a_call_that_was_put_off_is_not_looked_for() -> None:
    async def made(_: float) -> Any:  # noqa: ANN401
        raise AssertionError("it was refused: nothing can have been made")

    assert asyncio.run(Server(429, 200).client().call(Request("POST", "/x"), made)) == {"id": "x"}


def test_what_can_neither_be_made_nor_looked_for_is_not_made_twice() -> None:
    server = Server(504, 200)

    async def made(_: float) -> Any:  # noqa: ANN401
        raise ApiFault("GET /x", 503, 0, "away")

    with pytest.raises(ApiFault, match="POST /x failed: error 10021") as fault:
        asyncio.run(server.client().call(Request("POST", "/x"), made))
    assert fault.value.hint == MAYBE_MADE
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_fails_at_once(status: int) -> None:
    server = Server(status)
    with pytest.raises(ApiFault) as fault:
        server.call()
    assert (fault.value.status, fault.value.code, server.waits) == (status, 10021, [])
    assert fault.value.hint and "refused it" in fault.value.hint


def test_an_answer_that_is_not_cloudflares_is_shown_shortened() -> None:
    server = Server(400, body=["x" * 1000])
    with pytest.raises(ApiFault) as fault:
        server.call()
    assert "HTTP 400" in str(fault.value)
    assert len(str(fault.value)) < 400


def test_success_false_in_a_200_is_a_failure() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"success": False, "errors": [{"code": 10013, "message": "no"}]})

    client = Client(BASE, "t", http=httpx.AsyncClient(transport=httpx.MockTransport(answer)))
    with pytest.raises(ApiFault, match="error 10013: no"):
        asyncio.run(client.call(Request("GET", "/x")))


def test_a_dead_local_stage_is_told_quickly_with_what_to_do() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits: list[float] = []

    async def run() -> None:
        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        client = Client(f"http://127.0.0.1:{port}/client/v4", "t", sleep=sleep, chance=lambda: 0.0)
        try:
            await client.call(Request("GET", "/accounts"))
        finally:
            await client.aclose()

    with pytest.raises(ApiFault) as fault:
        asyncio.run(run())
    assert waits == [0.5]
    assert "no answer" in str(fault.value)
    assert fault.value.hint == "is the local stage running? `sluiceway local start`"


def test_a_path_that_cannot_be_routed_does_not_mean_that_the_thing_is_gone() -> None:
    assert ApiFault("GET /x", 404, 10007, "no").gone
    assert not ApiFault("GET /x", 404, 7003, "no").gone
    assert not ApiFault("GET /x", 403, 10000, "no").gone


def test_pu_07_secrets_and_their_base64_are_taken_out_of_messages() -> None:
    text = "bad S3CR-7f2a-canary and UzNDUi03ZjJhLWNhbmFyeQ== here"
    assert redact(text, ["S3CR-7f2a-canary"]) == "bad [secret] and [secret] here"
    assert redact("a b", ["a"]) == "a b"


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://127.0.0.1:8788/client/v4", True),
        ("http://[::1]:8788", True),
        ("http://localhost:1", True),
        ("https://api.cloudflare.com/client/v4", False),
        ("https://127.0.0.1.example.com", False),
        ("https://localhost.example.com", False),
        ("", False),
    ],
)
def test_only_this_machine_is_loopback(url: str, is_local: bool) -> None:
    assert loopback(url) is is_local


TOKEN = {"CLOUDFLARE_API_TOKEN": "t"}


@pytest.mark.parametrize("env", [TOKEN, {**TOKEN, "SLUICEWAY_STANDIN_PROVIDER": "true"}])
def test_the_standin_refuses_a_real_account_without_consent(env: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"never used silently against https://api\.cloudflare\.com") as refused:
        cloudflare_plugin.connect({}, env)
    assert refused.value.hint and "SLUICEWAY_STANDIN_PROVIDER=1" in refused.value.hint


def test_the_standin_says_that_it_stands_in(capsys: pytest.CaptureFixture[str]) -> None:
    client = cloudflare_plugin.connect({}, {**TOKEN, "SLUICEWAY_STANDIN_PROVIDER": "1"})
    assert client and client.base_url == "https://api.cloudflare.com/client/v4"
    assert "stand-in" in capsys.readouterr().err


def test_provider_inputs_come_before_the_environment() -> None:
    env = {**TOKEN, "CLOUDFLARE_BASE_URL": "http://127.0.0.1:1"}
    client = cloudflare_plugin.connect({"apiToken": "mine", "baseUrl": "http://127.0.0.1:2/"}, env)
    assert client and (client.token, client.base_url) == ("mine", "http://127.0.0.1:2")
    client = cloudflare_plugin.connect({}, env)
    assert client and (client.token, client.base_url) == ("t", "http://127.0.0.1:1")


@pytest.mark.parametrize("connect", [cloudflare_plugin.connect, sluiceway_plugin.connect])
def test_configuration_that_is_not_known_yet_connects_to_nothing(connect: Any) -> None:  # noqa: ANN401
    assert connect({"baseUrl": UNKNOWN}, TOKEN) is None
    assert connect({"apiToken": UNKNOWN, "baseUrl": "http://127.0.0.1:1"}, {}) is None


@pytest.mark.parametrize("connect", [cloudflare_plugin.connect, sluiceway_plugin.connect])
def test_no_token_is_refused_with_a_hint(connect: Any) -> None:  # noqa: ANN401
    with pytest.raises(UserError, match="no API token") as refused:
        connect({}, {"CLOUDFLARE_BASE_URL": "http://127.0.0.1:1"})
    assert refused.value.hint and "CLOUDFLARE_API_TOKEN" in refused.value.hint
