"""What the client of the admin endpoints sends, and how it tells what went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from sluiceway.cloudflare.gateway_admin import GatewayAdmin
from sluiceway.errors import SluicewayError, UserError

URL = "https://gateway.test"
KEY = "adm-canary"
Answer = Callable[[httpx.Request], httpx.Response]


def admin(answer: Answer) -> GatewayAdmin:
    return GatewayAdmin(f"{URL}/", KEY, transport=httpx.MockTransport(answer))


def refusing(status: int, code: str, param: str | None = None) -> Answer:
    error = {"message": f"About {code}.", "code": code, "param": param, "request_id": "req-1"}
    return lambda _: httpx.Response(status, json={"error": error})


def test_calls_carry_the_admin_key_and_go_below_the_prefix() -> None:
    seen: list[tuple[str, str, str, object]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        seen.append((request.method, str(request.url), request.headers["authorization"], body))
        return httpx.Response(200, json={"id": "k1"})

    with admin(answer) as client:
        client.create_key({"name": "app"})
        client.rotate_key("k1", 60)
        client.revoke_key("k1")
    assert seen == [
        ("POST", f"{URL}/_sluiceway/keys", f"Bearer {KEY}", {"name": "app"}),
        ("POST", f"{URL}/_sluiceway/keys/k1/rotate", f"Bearer {KEY}", {"grace_seconds": 60}),
        ("POST", f"{URL}/_sluiceway/keys/k1/revoke", f"Bearer {KEY}", None),
    ]


def test_a_list_is_read_to_its_last_page() -> None:
    pages = {"0": {"data": [{"id": "a"}, {"id": "b"}], "next": 2}, "2": {"data": [{"id": "c"}], "next": None}}
    with admin(lambda request: httpx.Response(200, json=pages[request.url.params["after"]])) as client:
        assert [key["id"] for key in client.list_keys()] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("answer", "kind", "told", "hint"),
    [
        (refusing(401, "invalid_admin_key"), UserError, "refuses the admin key", "last brought up with"),
        (refusing(404, "not_found"), UserError, "no admin endpoints", "--url"),
        (lambda _: httpx.Response(200, text="<html>"), UserError, "no admin endpoints", "--url"),
        (lambda _: httpx.Response(200, json=[1]), UserError, "no admin endpoints", "--url"),
        (lambda _: httpx.Response(302, headers={"location": "https://evil.test"}), UserError, "HTTP 302", "--url"),
        (lambda _: httpx.Response(502, text="bad"), SluicewayError, "HTTP 502", "is up"),
        (refusing(404, "key_not_found"), UserError, "About key_not_found", "--all"),
        (refusing(404, "model_not_found"), UserError, "About model_not_found", "--release"),
        (refusing(409, "key_exists"), UserError, "About key_exists", "keys list"),
        (refusing(503, "keys_unavailable"), SluicewayError, "keys_unavailable, request req-1", "try again"),
        (refusing(500, "misconfigured"), SluicewayError, "About misconfigured", "log"),
    ],
)
def test_a_refusal_says_what_to_do(answer: Answer, kind: type[SluicewayError], told: str, hint: str) -> None:
    with admin(answer) as client, pytest.raises(kind) as caught:
        client.revoke_key("k1")
    assert isinstance(caught.value, UserError) == (kind is UserError)
    assert told in caught.value.message
    assert hint in (caught.value.hint or "")
    assert KEY not in caught.value.render()


def test_a_wrong_field_is_told_at_its_path() -> None:
    with admin(refusing(400, "invalid_request", "models[0]")) as client, pytest.raises(UserError) as caught:
        client.create_key({"name": "a", "models": ["x"]})
    assert caught.value.path == "models[0]"


@pytest.mark.parametrize("said", ["`models[0]`: this stage has no such model.", "`models[0]` must be a text."])
def test_a_wrong_field_is_named_once(said: str) -> None:
    error = {"message": said, "code": "invalid_request", "param": "models[0]", "request_id": "req-1"}
    with admin(lambda _: httpx.Response(400, json={"error": error})) as client, pytest.raises(UserError) as caught:
        client.create_key({"name": "a", "models": ["x"]})
    assert caught.value.render().count("models[0]") == 1
    assert caught.value.message in ("this stage has no such model", "must be a text")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_call_without_an_answer_is_sent_once_and_may_have_been_done(method: str) -> None:
    calls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(request.method)
        raise httpx.ReadTimeout("", request=request)

    with admin(answer) as client, pytest.raises(SluicewayError) as caught:
        client.send(method, "/keys")
    assert calls == [method]
    assert ("may have been done" in (caught.value.hint or "")) == (method == "POST")


@pytest.mark.parametrize(
    "url",
    [
        *("http://gateway.test", "gateway.test", "", "https://user:pass@gateway.test", "https://g.test?x=1"),
        *("http://localhost.evil.test", "http://localhost@evil.test", "https://", "http://[::1", "ftp://g.test"),
    ],
)
def test_an_admin_key_goes_to_no_url_where_others_could_read_it(url: str) -> None:
    with pytest.raises(UserError) as caught:
        GatewayAdmin(url, KEY)
    assert caught.value.path == "--url"
    assert "pass" not in caught.value.render()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8787", "http://localhost:8787/", "http://[::1]:8787", "https://g.test"]
)
def test_loopback_needs_no_tls(url: str) -> None:
    GatewayAdmin(url, KEY).__exit__()


@pytest.mark.parametrize("key", ["", " ", "a\nb", "schlüssel", "a\x00b"])
def test_an_admin_key_that_no_header_can_hold_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(UserError, match="can't travel") as caught:
        GatewayAdmin(URL, key)
    assert not key.strip() or key not in caught.value.render()


def test_a_hint_that_the_gateway_gives_is_told() -> None:
    error = {"message": "chat is not paused.", "code": "not_paused", "hint": "`sluiceway rollout show chat dev`"}
    with admin(lambda _: httpx.Response(409, json={"error": error})) as client, pytest.raises(UserError) as caught:
        client.send("POST", "/rollouts/chat/resume", {})
    assert (caught.value.message, caught.value.hint) == ("chat is not paused", error["hint"])
