from __future__ import annotations

import asyncio
import socket
from typing import Any

import httpx
import pytest

from sluiceway.engine.provider import cloudflare_plugin, sluiceway_plugin
from sluiceway.engine.provider.faults import ApiFault, redact
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

    def client(self) -> Client:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        return Client(BASE, "token", sleep=sleep, http=http)

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


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_and_broken_servers_are_asked_again_with_growing_delays(status: int) -> None:
    server = Server(status, status, status, 200)
    assert server.call() == {"id": "x"}
    assert server.waits == [0.5, 1.0, 2.0]
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == ["0", "1", "2", "3"]


def test_the_servers_own_wait_is_kept_up_to_a_limit() -> None:
    server = Server(429, 200, headers={"retry-after": "7"})
    server.call()
    assert server.waits == [7.0]
    server = Server(429, 200, headers={"retry-after": "86400"})
    server.call()
    assert server.waits == [30.0]


def test_it_gives_up_after_three_retries() -> None:
    server = Server(503, 503, 503, 503, 200)
    with pytest.raises(ApiFault, match="POST /accounts/a/queues failed: error 10021: it broke"):
        server.call()
    assert len(server.requests) == 4


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

        client = Client(f"http://127.0.0.1:{port}/client/v4", "t", sleep=sleep)
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
