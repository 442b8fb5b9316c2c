"""Answers from a server that speaks OpenAI's API: here another stage's own, which does."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from sluiceway.local.ai.remote import RemoteEngine
from sluiceway.local.ai.scripted import ScriptedEngine
from tests.local.ai.conftest import GLM, KIMI, LLAMA, TOKEN, Served, serving
from tests.local.ai.test_chat import chunks, content, streamed_text, user
from tests.local.ai.test_streams import until
from tests.local.ai.test_tools_and_json import TOOLS


@pytest.fixture(scope="module")
def upstream() -> Iterator[Served]:
    with serving(ScriptedEngine(token_delay=0.0)) as found:
        yield found


@contextmanager
def remote_stage(url: str, model: str | None = None) -> Iterator[Served]:
    client = httpx.AsyncClient(trust_env=False)
    with serving(RemoteEngine(url, client, key=TOKEN, model=model), client) as found:
        yield found


@pytest.fixture
def remote(upstream: Served) -> Iterator[Served]:
    with remote_stage(f"{upstream.ai}/v1", GLM) as found:
        yield found


def test_answers_streams_tools_and_vectors_come_through_unchanged(remote: Served, upstream: Served) -> None:
    bodies: list[dict[str, object]] = [
        {"messages": user("你好 🦊"), "max_tokens": 40},
        {"messages": user("hi"), "chat_template_kwargs": {"thinking": True}},
        {"messages": user("get_weather and get_time"), "tools": TOOLS},
    ]
    for body in bodies:
        mine, theirs = remote.completion(body, KIMI).json(), upstream.completion(body, GLM).json()
        assert mine["choices"] == theirs["choices"]
        assert mine["usage"] == theirs["usage"]
        assert mine["model"] == KIMI
    stream = chunks(remote.completion({"messages": user("你好 🦊"), "stream": True}, KIMI).text)
    assert streamed_text(stream) == content(upstream.completion({"messages": user("你好 🦊")}, GLM).json())
    assert remote.run(LLAMA, {"prompt": "#count 3"}).json()["result"]["response"] == "1 2 3"


def test_a_vector_comes_through(upstream: Served) -> None:
    with remote_stage(f"{upstream.ai}/v1/", "@cf/baai/bge-m3") as remote:
        vector = remote.run("@cf/baai/bge-m3", {"text": "hello"}).json()["result"]["data"][0]
    assert vector == pytest.approx(upstream.run("@cf/baai/bge-m3", {"text": "hello"}).json()["result"]["data"][0])


@pytest.mark.parametrize(("code", "status", "told"), [(3040, 429, 3040), (5007, 400, 5006), (3006, 413, 3006)])
def test_errors_of_the_server_become_those_of_workers_ai(remote: Served, code: int, status: int, told: int) -> None:
    response = remote.run(GLM, {"messages": user(f"#error {code}"), "stream": True})
    assert response.status_code == status
    assert response.json()["errors"][0]["code"] == told


def test_leaving_stops_the_server_too(remote: Served, upstream: Served) -> None:
    upstream.stage.calls.clear()
    with remote.client.stream(
        "POST", f"{remote.ai}/run/{GLM}", json={"messages": user("#delay 50 #count 200"), "stream": True}
    ) as response:
        lines = response.iter_lines()
        for _ in range(8):
            next(lines)
    assert until(lambda: [call.status for call in upstream.stage.calls.recent()] == ["cancelled"])


def test_a_server_that_breaks_off_is_an_error_and_no_end(remote: Served) -> None:
    whole = remote.run(GLM, {"messages": user("#cut 3 #count 50")})
    assert whole.status_code == 500
    assert whole.json()["errors"][0]["code"] == 3043
    with pytest.raises(httpx.RemoteProtocolError):
        remote.run(GLM, {"messages": user("#cut 3 #count 50"), "stream": True})


def test_a_reset_connection_is_told_by_its_name() -> None:
    """httpx's own words for it are empty."""
    with raw_server([b"data: {}\n\n"], reset=True) as url, remote_stage(url) as remote:
        answer = remote.run(GLM, {"messages": user("x")})
    assert answer.status_code == 500
    assert "broke off: ReadError" in answer.json()["errors"][0]["message"]


def test_a_server_that_is_not_there_is_told(upstream: Served) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    with remote_stage(f"http://127.0.0.1:{port}/v1") as remote:
        response = remote.run(GLM, {"prompt": "x"})
    assert response.status_code == 500
    assert "SLUICEWAY_LOCAL_AI_URL" in response.json()["errors"][0]["message"]


def take_request(connection: socket.socket) -> None:
    """Reads one request to its end: a socket closed with some of it unread is reset, and takes the answer along."""
    with connection.makefile("rb") as stream:
        size = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        stream.read(size)


@contextmanager
def raw_server(pieces: list[bytes], *, reset: bool = False) -> Iterator[str]:
    """Answers one request with an event stream, cut into the given pieces; ``reset``: and then drops it rudely."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            take_request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            for piece in pieces:
                connection.sendall(piece)
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        thread.join()
        listener.close()


def test_gw_01_a_stream_cut_at_any_byte_gives_the_same_text() -> None:
    events: list[dict[str, object]] = [{"choices": [{"delta": {"content": text}}]} for text in ("北京", "🦊", " ok")]
    events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    for line_end in ("\n", "\r\n"):
        lines = [f"data: {json.dumps(event, ensure_ascii=False)}{line_end}{line_end}" for event in events]
        whole = ("".join(lines) + f"data: [DONE]{line_end}{line_end}").encode()
        for size in (1, 2, 7, len(whole)):
            pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
            with raw_server(pieces) as url, remote_stage(url) as remote:
                assert content(remote.completion({"messages": user("x")}).json()) == "北京🦊 ok"
