"""Streams on the wire: chunk by chunk, cut off where asked, and ended when the caller leaves."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import threading
import time
from collections.abc import Callable

import httpx
import pytest
from openai import OpenAI, RateLimitError

from sluiceway.local.ai.scripted import ScriptedEngine
from tests.local.ai.conftest import GLM, KIMI, TOKEN, Served, serving
from tests.local.ai.test_chat import user


def until(condition: Callable[[], bool], within: float = 20.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def test_each_token_is_flushed_when_it_is_made() -> None:
    arrived = threading.Semaphore(0)
    in_vain: list[float] = []

    async def until_it_has_arrived(delay: float) -> None:
        if not in_vain and not await asyncio.to_thread(arrived.acquire, timeout=10):
            in_vain.append(delay)

    body = {"messages": user("#delay 100 #count 8"), "stream": True}
    tokens = 0
    with (
        serving(ScriptedEngine(sleep=until_it_has_arrived)) as served,
        served.client.stream("POST", f"{served.ai}/run/{GLM}", json=body) as response,
    ):
        for line in response.iter_lines():
            if re.search(r'"content":"[^"]', line):
                tokens += 1
                arrived.release()
    assert tokens == 8
    assert not in_vain


def stopped(served: Served) -> int:
    """How many tokens were made until the one call was cancelled; fails if it goes on."""
    (call,) = served.stage.calls.recent()
    assert until(lambda: call.cancelled)
    sent = call.tokens_sent
    time.sleep(0.3)
    assert call.tokens_sent == sent
    return sent


def test_gw_17_generation_stops_when_the_caller_of_a_stream_leaves(served: Served) -> None:
    served.stage.calls.clear()
    body = {"messages": user("#delay 50 #count 200"), "stream": True}
    with served.client.stream("POST", f"{served.ai}/run/{GLM}", json=body) as response:
        lines = response.iter_lines()
        for _ in range(10):
            next(lines)
    assert 3 <= stopped(served) < 20


def test_gw_17_generation_stops_when_the_caller_leaves_before_the_first_token(served: Served) -> None:
    served.stage.calls.clear()
    body = {"messages": user("#wait 30000 #count 5"), "stream": True}
    with pytest.raises(httpx.ReadTimeout):
        served.client.post(f"{served.ai}/run/{GLM}", json=body, timeout=0.3)
    assert stopped(served) == 0


def test_gw_17_a_caller_who_leaves_at_once_leaves_no_call_open(served: Served) -> None:
    served.stage.calls.clear()
    url = httpx.URL(served.ai)
    body = b'{"prompt":"#delay 1 #count 3000","max_tokens":9000,"stream":true}'
    head = f"POST {url.path}/run/{GLM} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n"
    for _ in range(20):
        with socket.create_connection((url.host, url.port or 0)) as connection:
            connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert served.run(GLM, {"prompt": "#count 1"}).status_code == 200
    assert until(lambda: all(call.status != "running" for call in served.stage.calls.recent()))
    assert {call.status for call in served.stage.calls.recent()} <= {"cancelled", "ok"}
    assert served.stage.calls.recent()[-1].status == "ok"


def test_gw_17_generation_stops_when_the_caller_of_a_whole_answer_leaves(served: Served) -> None:
    served.stage.calls.clear()
    with pytest.raises(httpx.ReadTimeout):
        served.client.post(f"{served.ai}/run/{GLM}", json={"messages": user("#delay 50 #count 200")}, timeout=0.4)
    (call,) = served.stage.calls.recent()
    assert until(lambda: call.cancelled)
    assert 1 <= call.tokens_sent < 20


def test_gw_03_a_stream_that_is_cut_ends_without_its_last_words(served: Served) -> None:
    served.stage.calls.clear()
    got = b""
    with (
        pytest.raises(httpx.RemoteProtocolError),
        served.client.stream(
            "POST", f"{served.ai}/run/{GLM}", json={"messages": user("#cut 3 #count 50"), "stream": True}
        ) as response,
    ):
        assert response.status_code == 200
        for chunk in response.iter_bytes():
            got += chunk
    assert got.count(b'"content":" ') == 2  # " 2" and " 3"; "1" has no space
    assert b"[DONE]" not in got
    assert b'finish_reason":"stop' not in got
    assert served.stage.calls.recent()[0].status == "error"


def test_the_openai_client_gets_the_same_answer_streamed_and_not(served: Served) -> None:
    with OpenAI(api_key=TOKEN, base_url=f"{served.ai}/v1", max_retries=0) as client:
        asked = {"model": KIMI, "messages": user("say something in 中文"), "seed": 4, "max_tokens": 500}
        whole = client.chat.completions.create(**asked)  # type: ignore[call-overload]
        stream = client.chat.completions.create(  # type: ignore[call-overload]
            **asked, stream=True, stream_options={"include_usage": True}
        )
        found = list(stream)
        text = "".join(choice.delta.content or "" for chunk in found for choice in chunk.choices)
        assert text == whole.choices[0].message.content
        assert found[-1].usage == whole.usage
        vector = client.embeddings.create(model="@cf/baai/bge-m3", input="hello").data[0].embedding
        assert len(vector) == 1024
        with pytest.raises(RateLimitError):
            client.chat.completions.create(model=GLM, messages=[{"role": "user", "content": "#error 3040"}])
