"""Versions of the openai backend on a real stage: the Worker asks another process over HTTP, and through AI Gateway.

The local stage's own REST face is that process: it speaks OpenAI's API to whoever has its token.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from sluiceway.local.runtime_file import ACCOUNT_ID, load_runtime
from tests.e2e.checkout import Checkout, make_checkout

# A whole stage at work for minutes; each part has its own test in seconds.
pytestmark = pytest.mark.long

GLM = "@cf/zai-org/glm-4.7-flash"
KIMI = "@cf/moonshotai/kimi-k2.6"
MODEL = """\
task: {task}
versions:
  - {{version: {name}@1, backend: openai, id: "{id}", {server}, vision: {vision}}}
"""
SPLIT = "    {name}: {{split: [{{version: {name}@1, weight: 100}}]}}\n"
QUESTION = "How do sluices work? 水闸是怎么工作的?"


@dataclass(frozen=True)
class Far:
    """A stage that serves ``far`` by fetch, ``through`` by AI Gateway, ``locked`` with the wrong key, ``vectors``."""

    client: openai.OpenAI
    api: httpx.Client

    def calls(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.api.get("/_local/ai/calls").json()["result"]
        return found


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    checkout = make_checkout(tmp_path_factory.mktemp("far"))
    try:
        started = checkout.sluiceway("local", "start")
        assert started.code == 0, started.err
        data = checkout.root / ".sluiceway/local"
        runtime = load_runtime(data)
        assert runtime is not None
        token = (data / "token").read_text().strip()
        declare(checkout, runtime.api_url)
        up = checkout.sluiceway("up", "local", SLUICEWAY_SECRET_UP_KEY=token, SLUICEWAY_SECRET_OLD_KEY="expired-7f2a")
        assert up.code == 0, up.err
        url = checkout.sluiceway("output", "local", "url").out.strip()
        key = (data / "api-key").read_text().strip()
        api = httpx.Client(base_url=runtime.api_url, headers={"authorization": f"Bearer {token}"})
        with api, openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
            yield Far(client, api)
    finally:
        checkout.sluiceway("local", "stop")


def declare(checkout: Checkout, api_url: str) -> None:
    base = f'base_url: "{api_url}/accounts/{ACCOUNT_ID}/ai/v1"'
    servers = {
        "far": ("chat", GLM, f"{base}, secret: UP_KEY"),
        "seeing": ("chat", KIMI, f"{base}, secret: UP_KEY"),
        "through": ("chat", GLM, "provider: workers-ai/v1"),
        "locked": ("chat", GLM, f"{base}, secret: OLD_KEY"),
        "vectors": ("embed", "@cf/baai/bge-m3", f"{base}, secret: UP_KEY"),
    }
    stack = checkout.root / "stacks/Pulumi.local.yaml"
    stated = (
        stack.read_text("utf-8") + "  sluiceway:secrets: [ADMIN_KEY, API_KEY, OLD_KEY, UP_KEY]\n  sluiceway:models:\n"
    )
    for name, (task, id, server) in servers.items():
        vision = "true" if name == "seeing" else "false"
        text = MODEL.format(task=task, name=name, id=id, server=server, vision=vision)
        Path(checkout.root / f"models/{name}.yaml").write_text(text, "utf-8")
        stated += SPLIT.format(name=name)
    stack.write_text(stated, "utf-8")


@pytest.mark.parametrize(("model", "via"), [("far", "rest"), ("through", "gateway")])
def test_a_chat_is_answered_whole_and_streamed_by_the_server(far: Far, model: str, via: str) -> None:
    whole = far.client.chat.completions.create(model=model, messages=[{"role": "user", "content": QUESTION}])
    assert whole.model == f"{model}@1"
    assert whole.usage is not None and whole.usage.completion_tokens > 10
    chunks = list(
        far.client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": QUESTION}], stream=True,
            stream_options={"include_usage": True}, extra_headers={"x-sluiceway-cache": "bypass"},
        )
    )  # fmt: skip
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert len(chunks) > 5, "it came in pieces"
    assert chunks[-1].usage == whole.usage
    asked = far.calls()[-2:]
    assert [(call["via"], call["model"], call["status"]) for call in asked] == [(via, GLM, "ok")] * 2


@pytest.mark.parametrize("model", ["far", "through"])
def test_gw_17_who_leaves_in_the_middle_stops_the_server(far: Far, model: str) -> None:
    asked: list[ChatCompletionMessageParam] = [{"role": "user", "content": "#delay 50 #count 400"}]
    stream = far.client.chat.completions.create(model=model, messages=asked, stream=True)
    heard = [chunk for chunk, _ in zip(stream, range(5), strict=False)]
    stream.close()
    assert len(heard) == 5
    until = time.monotonic() + 5
    while (call := far.calls()[-1])["status"] == "running" and time.monotonic() < until:
        time.sleep(0.05)
    assert call["status"] == "cancelled"
    assert int(str(call["tokens_sent"])) < 200


@pytest.mark.parametrize("model", ["far", "through"])
def test_gw_03_a_server_that_breaks_off_is_an_error_and_not_a_short_answer(far: Far, model: str) -> None:
    asked: list[ChatCompletionMessageParam] = [{"role": "user", "content": "#cut 5 #count 50"}]
    said = ""
    with pytest.raises((openai.APIError, httpx.HTTPError)):
        for chunk in far.client.chat.completions.create(model=model, messages=asked, stream=True):
            assert chunk.choices[0].finish_reason is None
            said += chunk.choices[0].delta.content or ""
    assert said.split() == ["1", "2", "3", "4", "5"][: len(said.split())] != []


def test_tools_are_called_through_the_server(far: Far) -> None:
    weather = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    stream = far.client.chat.completions.create(
        model="far", messages=[{"role": "user", "content": "weather in Oslo?"}], stream=True,
        tools=[{"type": "function", "function": weather}], tool_choice="required",
    )  # type: ignore[call-overload]  # fmt: skip
    calls = [call for chunk in stream for choice in chunk.choices for call in choice.delta.tool_calls or []]
    assert calls[0].function.name == "weather"
    assert "".join(call.function.arguments or "" for call in calls).startswith("{")


def test_a_picture_reaches_a_model_that_sees_and_is_refused_for_one_that_does_not(far: Far) -> None:
    def ask(model: str) -> openai.types.chat.ChatCompletion:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
        messages = [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, picture]}]
        return far.client.chat.completions.create(model=model, messages=messages)  # type: ignore[arg-type]

    assert ask("seeing").choices[0].message.content
    with pytest.raises(openai.BadRequestError) as caught:
        ask("far")
    assert caught.value.param == "messages[0].content[1]"


def test_a_server_that_refuses_our_key_is_an_error_of_ours_that_shows_neither(far: Far) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        far.client.chat.completions.create(model="locked", messages=[{"role": "user", "content": QUESTION}])
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_refused")
    assert "expired" not in str(caught.value)


def test_vectors_come_from_the_server(far: Far) -> None:
    found = far.client.embeddings.create(model="vectors", input=["reset my password", "reset the password", "rain"])
    one, two, three = (item.embedding for item in found.data)
    near, apart = (sum(a * b for a, b in zip(one, other, strict=True)) for other in (two, three))
    assert len(one) == 1024
    assert near > apart
    assert found.usage.prompt_tokens > 0
    assert far.calls()[-1]["via"] == "rest"
