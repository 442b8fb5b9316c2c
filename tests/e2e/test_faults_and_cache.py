"""Faults by a model's own name, and what the cache makes of many equal requests, on a stage that is up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Served

# A whole stage at work for minutes; each part has its own test in seconds.
pytestmark = pytest.mark.long

MANY = 30


@pytest.fixture(autouse=True)
def no_fault_left(served: Served) -> Iterator[None]:
    yield
    assert served.checkout.sluiceway("local", "faults", "clear").code == 0


def fault(served: Served, *words: str) -> None:
    added = served.checkout.sluiceway("local", "faults", "add", *words)
    assert added.code == 0, added.err


def ask(served: Served, question: str, timeout: float = 60, **more: Any) -> httpx.Response:  # noqa: ANN401
    body = {"model": "chat@1", "messages": [{"role": "user", "content": question}], "temperature": 0, **more}
    headers = {"authorization": f"Bearer {served.key}"}
    answer = httpx.post(f"{served.url}/v1/chat/completions", json=body, headers=headers, timeout=timeout)
    assert answer.status_code == 200, answer.text
    return answer


def test_a_fault_reaches_the_callers_of_the_version_that_it_names(served: Served) -> None:
    fault(served, "--model", "chat@1", "--refuse")
    (choice,) = ask(served, "one").json()["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("content_filter", "I can't help with that.")
    (other,) = ask(served, "one", model="chat@2").json()["choices"]
    assert other["finish_reason"] == "stop"


def test_equal_requests_at_once_are_one_call_of_the_model(served: Served) -> None:
    fault(served, "--model", "chat@1", "--delay-ms", "1500")
    with ThreadPoolExecutor(MANY) as pool:
        answers = list(pool.map(lambda at: ask(served, "all at once", stream=at % 2 == 0), range(MANY)))
    assert Counter(answer.headers["x-sluiceway-cache"] for answer in answers) == {"miss": 1, "hit": MANY - 1}
    listed = served.checkout.sluiceway("local", "faults", "list")
    assert listed.out.endswith("hit 1 of 1\n"), listed.out


def test_those_who_wait_go_on_when_the_one_who_asks_leaves(served: Served) -> None:
    fault(served, "--model", "chat@1", "--delay-ms", "2000")
    with ThreadPoolExecutor(6) as pool:
        leaving = pool.submit(ask, served, "first one leaves", timeout=0.8)
        time.sleep(0.3)
        answers = list(pool.map(lambda _: ask(served, "first one leaves"), range(5)))
    assert isinstance(leaving.exception(), httpx.ReadTimeout)
    assert Counter(answer.headers["x-sluiceway-cache"] for answer in answers) == {"miss": 1, "hit": 4}


def test_a_purge_of_a_model_takes_its_answers(served: Served) -> None:
    outcomes = [ask(served, "kept").headers["x-sluiceway-cache"] for _ in range(2)]
    purged = served.checkout.sluiceway("cache", "purge", "local", "--model", "chat")
    assert purged.code == 0, purged.err
    assert purged.out.startswith("deleted ")
    assert [*outcomes, ask(served, "kept").headers["x-sluiceway-cache"]] == ["miss", "hit", "miss"]
