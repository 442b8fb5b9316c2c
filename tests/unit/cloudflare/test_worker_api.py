"""What a Worker's API tells when it fails, and a deployment whose answer is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cloudflare import Cloudflare

from sluiceway.cloudflare.worker_api import WorkerApi
from sluiceway.errors import SluicewayError

PATH = "/accounts/a/workers/scripts/chat/deployments"
SHARES = [("v2", 10.0), ("v1", 90.0)]


def api(answer: Callable[[httpx.Request], httpx.Response]) -> WorkerApi:
    http = httpx.Client(transport=httpx.MockTransport(answer))
    return WorkerApi(
        Cloudflare(api_token="t", base_url="http://x/client/v4", http_client=http, max_retries=0), "a", "chat"
    )


def failed(status: int, code: int, message: str) -> httpx.Response:
    errors = [{"code": code, "message": message}]
    return httpx.Response(status, json={"success": False, "errors": errors, "messages": [], "result": None})


def deployed(*shares: tuple[str, float], message: str = "ramp") -> httpx.Response:
    one = {
        "id": "d", "created_on": "2026-11-01T00:00:00Z", "annotations": {"workers/message": message},
        "versions": [{"version_id": version, "percentage": share} for version, share in shares],
    }  # fmt: skip
    return httpx.Response(200, json={"success": True, "errors": [], "messages": [], "result": {"deployments": [one]}})


@pytest.mark.parametrize("status", [429, 503])
def test_a_failure_of_cloudflares_names_the_call_and_what_to_do(status: int) -> None:
    with pytest.raises(SluicewayError) as caught:
        api(lambda _: failed(status, 7010, "Service unavailable")).deployments()
    assert caught.value.exit_code == 1
    assert str(caught.value) == (
        f"deployments of chat: Cloudflare failed at GET {PATH}: Service unavailable (7010)"
    )  # fmt: skip
    assert caught.value.hint and "`sluiceway release show STAGE`" in caught.value.hint


def test_a_page_in_place_of_an_error_is_told_by_its_status() -> None:
    with pytest.raises(SluicewayError, match=r"failed at GET .*: HTTP 502 \(502\)"):
        api(lambda _: httpx.Response(502, html="<html>502 Bad Gateway</html>")).deployments()


def test_no_answer_names_the_call() -> None:
    def dropped(request: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("gone", request=request)

    with pytest.raises(SluicewayError, match=f"did not answer GET {PATH}: APIConnectionError"):
        api(dropped).deployments()


@pytest.mark.parametrize("lost", ["dropped", "504"])
@pytest.mark.parametrize(
    ("there", "done"),
    [(deployed(*SHARES), True), (deployed(*SHARES, message="other"), False), (deployed(("v1", 100.0)), False),
     (failed(503, 7010, "away"), False)],
)  # fmt: skip
def test_a_deployment_whose_answer_is_lost_is_done_if_it_is_there(lost: str, there: Any, done: bool) -> None:  # noqa: ANN401
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(there.status_code, content=there.content, headers=there.headers)
        if lost == "dropped":
            raise httpx.RemoteProtocolError("gone", request=request)
        return httpx.Response(504, html="<html></html>")

    if done:
        api(answer).deploy(SHARES[::-1], "ramp")
        return
    with pytest.raises(SluicewayError, match="deployment of chat: ") as caught:
        api(answer).deploy(SHARES, "ramp")
    assert caught.value.hint and "says what serves" in caught.value.hint
