"""What whoever is on call sees of the stage that `up` made: its requests and its figures, out of its real log."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Served

# A whole stage at work for minutes; each part has its own test in seconds.
pytestmark = pytest.mark.long

Line = dict[str, Any]
Ask = Callable[..., str]


@pytest.fixture
def ask(served: Served) -> Ask:
    """Asks for an answer in few words; gives the request's id."""

    def send(name: str, *, key: str | None = None, read: bool = True, timeout: float = 60, **body: object) -> str:
        wanted = {"model": "chat@1", "messages": [{"role": "user", "content": f"Hello from {name}"}], **body}
        identity = f"observed-{name}"
        headers = {"authorization": f"Bearer {served.key if key is None else key}", "x-request-id": identity}
        url = f"{served.url}/v1/chat/completions"
        with (
            httpx.Client(trust_env=False, timeout=timeout) as client,
            client.stream("POST", url, json=wanted, headers=headers) as answer,
        ):
            if read:
                answer.read()
            else:
                next(answer.iter_bytes())
        return identity

    return send


def logged(served: Served, *identities: str) -> dict[str, Line]:
    """The log lines of these requests, as soon as all are there."""
    until = time.monotonic() + 30
    while True:
        done = served.checkout.sluiceway("logs", "local", "--json")
        assert done.code == 0, done.err
        found = {line["id"]: line for line in json.loads(done.out) if line.get("id") in identities}
        if len(found) == len(identities) or time.monotonic() > until:
            assert sorted(found) == sorted(identities)
            return found


def test_each_request_has_one_line_also_one_that_was_refused_and_one_whose_client_left(
    served: Served, ask: Ask
) -> None:
    whole, streamed = ask("whole"), ask("streamed", stream=True)
    refused = ask("refused", key="sk-slw-wrong-key")
    left = ask("left", stream=True, max_tokens=5000, read=False)
    lines = logged(served, whole, streamed, refused, left)
    assert (lines[whole]["status"], lines[whole]["model"], lines[whole]["version"]) == (200, "chat", 1)
    assert lines[whole]["completion_tokens"] > 0
    assert lines[streamed]["stream"] is True
    assert lines[streamed]["ttft_ms"] <= lines[streamed]["total_ms"]
    assert (lines[refused]["status"], lines[refused]["model"]) == (401, None)
    assert (lines[left]["error"], lines[left]["level"]) == ("client_disconnected", "info")
    assert served.key not in json.dumps(list(lines.values()))
    assert "sk-slw-wrong-key" not in json.dumps(list(lines.values()))


def test_a_client_that_leaves_before_its_answer_has_a_line_too(served: Served, ask: Ask) -> None:
    slow = served.checkout.sluiceway(
        "local", "faults", "add", "--model", "chat@1", "--delay-ms", "60000", "--count", "1"
    )
    assert slow.code == 0, slow.err
    with pytest.raises(httpx.ReadTimeout):
        ask("impatient", timeout=0.5)
    line = logged(served, "observed-impatient")["observed-impatient"]
    assert (line["status"], line["error"], line["level"]) == (499, "client_disconnected", "info")
    # Until it left, not until the model would have answered.
    assert line["total_ms"] < 60_000


def test_a_model_that_fails_is_seen_in_logs_and_top(served: Served, ask: Ask) -> None:
    broken = served.checkout.sluiceway("local", "faults", "add", "--model", "chat@2", "--cut-after", "2")
    assert broken.code == 0, broken.err
    try:
        cut = ask("cut", model="chat@2", stream=True)
        line = logged(served, cut)[cut]
    finally:
        served.checkout.sluiceway("local", "faults", "clear")
    assert (line["level"], line["error"]) == ("error", "upstream_broken")
    assert f" {cut}\n" in served.checkout.sluiceway("logs", "local", "--errors").out
    seen = json.loads(served.checkout.sluiceway("top", "local", "--window", "600", "--json").out)
    (row,) = [row for row in seen["rows"] if row["name"] == "chat@2" and row["variant"] == "pinned"]
    assert row["failed"] >= 1
    assert "upstream_broken" in dict(seen["errors"])


def test_readyz_tells_what_the_stage_can_answer(served: Served) -> None:
    public = httpx.get(f"{served.url}/readyz", trust_env=False)
    assert (public.status_code, public.json()) == (200, {"status": "ready"})
    own = httpx.get(f"{served.url}/readyz", headers={"authorization": f"Bearer {served.key}"}, trust_env=False).json()
    assert {one["version"]: one["state"] for one in own["versions"]}["chat@1"] == "ready"


def test_logs_are_shown_as_text_and_errors_alone_when_asked_for(served: Served, ask: Ask) -> None:
    good, bad = ask("good"), ask("bad", key="wrong")
    logged(served, good, bad)
    shown = served.checkout.sluiceway("logs", "local", "-n", "1000").out
    assert f" {good}\n" in shown
    assert f" {bad}\n" in shown
    errors = served.checkout.sluiceway("logs", "local", "-n", "1000", "--errors").out
    assert f" {bad}\n" in errors
    assert good not in errors
    assert "error=invalid_api_key" in errors


def test_followed_logs_show_what_was_and_then_each_request_as_it_comes(served: Served, ask: Ask) -> None:
    logged(served, ask("before"))
    command = [served.checkout.python, "-m", "sluiceway", "logs", "local", "-f", "--json"]
    with subprocess.Popen(
        command, cwd=served.checkout.root, env=served.checkout.environ(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        identities = (json.loads(line).get("id") for line in process.stdout)
        try:
            assert "observed-before" in identities  # reads up to it
            ask("after")
            assert "observed-after" in identities
        finally:
            process.terminate()


def test_top_shows_the_traffic_of_the_last_seconds(served: Served, ask: Ask) -> None:
    asked = [ask(f"top-{number}", stream=True) for number in range(5)]
    logged(served, *asked)
    done = served.checkout.sluiceway("top", "local", "--window", "600", "--json")
    assert done.code == 0, done.err
    (row,) = [row for row in json.loads(done.out)["rows"] if (row["name"], row["variant"]) == ("chat@1", "pinned")]
    assert row["requests"] >= 5
    assert row["failed"] == 0
    assert 0 < row["ttft_p50"] <= row["total_p90"]
    assert row["tokens_per_second"] > 0
    shown = served.checkout.sluiceway("top", "local", "--window", "600", "--once").out
    assert "chat@1" in shown


def test_a_stage_in_the_cloud_has_no_past_to_show(served: Served) -> None:
    done = served.checkout.sluiceway("logs", "production")
    assert done.code == 2
    assert "sluiceway logs production -f" in done.err
