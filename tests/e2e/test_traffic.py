"""What an application developer meets: the OpenAI SDK against the stage that `up` made."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from sluiceway.domain.split import Split, choose, point
from tests.e2e.conftest import Served

REQUESTS = 10_000
CONNECTIONS = 12
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How do sluices work? 水闸是怎么工作的?"}]


@pytest.fixture
def client(served: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key=served.key, max_retries=0)


def test_the_openai_client_gets_the_same_answer_streamed_and_not(client: openai.OpenAI) -> None:
    with client:
        for user in ("ada", "lin", "王"):
            whole = client.chat.completions.create(model="chat", messages=QUESTION, user=user, temperature=0)
            stream = client.chat.completions.create(
                model="chat", messages=QUESTION, user=user, temperature=0, stream=True,
                stream_options={"include_usage": True}, extra_headers={"x-sluiceway-cache": "bypass"},
            )  # fmt: skip
            chunks = list(stream)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            assert text == whole.choices[0].message.content
            assert len(text) > 40
            assert len(chunks) > 5, "it came in pieces"
            assert chunks[-1].usage == whole.usage


def test_models_are_listed_in_openais_shape(client: openai.OpenAI) -> None:
    with client:
        assert {model.id for model in client.models.list()} == {"chat", "embed", "intent"}


def send(served: Served, users: list[str]) -> dict[str, set[str]]:
    """One question for each of ``users`` over a few connections; which versions served each."""
    url = urlsplit(served.url)
    headers = {"authorization": f"Bearer {served.key}", "content-type": "application/json"}
    seen: dict[str, set[str]] = {}

    def ask(share: list[str]) -> None:
        # The plainest client there is: this test's time is its requests.
        with closing(http.client.HTTPConnection(url.hostname or "", url.port, timeout=60)) as connection:
            for user in share:
                body = {"model": "chat", "messages": QUESTION, "user": user, "temperature": 0}
                connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
                answer = connection.getresponse()
                text = answer.read()
                assert answer.status == 200, text
                seen.setdefault(user, set()).add(answer.headers["x-sluiceway-model"])

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(ask, [users[start::CONNECTIONS] for start in range(CONNECTIONS)]))
    return seen


@pytest.mark.parametrize("requests", [500, pytest.param(REQUESTS, marks=pytest.mark.long)])
def test_users_split_90_to_10_and_each_stays_where_it_was(served: Served, requests: int) -> None:
    users = [f"user-{number}" for number in range(requests)]
    seen = send(served, users)
    assert len(seen) == requests
    # Sticky: the same users again, in another order, land on the same version, the one that Python computes too.
    for user, models in send(served, users[::-25]).items():
        assert models == seen[user]
    split = Split(((1, 90), (2, 10)))
    for user, models in seen.items():
        assert models == {f"chat@{choose(split, point('chat', user))}"}
    share = Counter(next(iter(models)) for models in seen.values())
    within = 0.01 if requests == REQUESTS else 0.04  # three times what chance does to so few
    assert abs(share["chat@2"] / requests - 0.10) < within, share


def test_a_wrong_key_is_refused_in_openais_shape(served: Served) -> None:
    with (
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="slw-wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.chat.completions.create(model="chat", messages=QUESTION)


@pytest.mark.parametrize(
    "host", ["sluiceway-local.local.workers.dev", "chat.sluiceway.test", "api.sluiceway.test", "127.0.0.1"]
)
def test_the_worker_is_reached_by_its_names_and_by_the_plain_port(served: Served, host: str) -> None:
    headers = {"host": host, "authorization": f"Bearer {served.key}"}
    answer = httpx.post(f"{served.url}/", json={"prompt": "repeat after me: here"}, headers=headers, timeout=30)
    assert answer.json() == {"response": {"text": "here"}}


def test_a_name_that_is_nobodys_is_not_answered_by_the_worker(served: Served) -> None:
    answer = httpx.post(f"{served.url}/", json={"prompt": "x"}, headers={"host": "other.example"}, timeout=30)
    assert "x-sluiceway-release" not in answer.headers
    assert answer.status_code >= 400
