"""People who keep asking a model, and take note of which version answered them and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx

from tests.e2e.conftest import Served

EVERYBODY = tuple(f"person-{number}" for number in range(200))
_numbers = count(1)


@dataclass(frozen=True)
class Answer:
    """``asked``: milliseconds since the epoch. ``version``: which one the user was sent to; None where no answer came,
    for the reason ``why``."""

    user: str
    asked: float
    version: int | None
    fallback: bool
    why: str = ""


@dataclass
class People:
    """``users`` take turns, each with a question that nobody has asked before."""

    url: str
    key: str
    model: str
    users: Sequence[str] = EVERYBODY
    answers: list[Answer] = field(default_factory=list)
    enough: threading.Event = field(default_factory=threading.Event)

    def ask(self, client: httpx.Client, user: str) -> Answer:
        question = [{"role": "user", "content": f"Is lock {next(_numbers)} open?"}]
        headers = {"authorization": f"Bearer {self.key}"}
        asked = time.time() * 1000
        try:
            body = {"model": self.model, "user": user, "messages": question}
            got = client.post(f"{self.url}/v1/chat/completions", json=body, headers=headers)
            if not got.is_success:
                raise httpx.HTTPError(f"{got.status_code} {got.text[:200]}")
            # The first version is what stands in for the second, and for itself there is none.
            fallback = "x-sluiceway-fallback" in got.headers
            version = 2 if fallback else int(got.headers["x-sluiceway-model"].rpartition("@")[2])
            answer = Answer(user, asked, version, fallback)
        except httpx.HTTPError as error:
            answer = Answer(user, asked, None, False, f"{type(error).__name__}: {error}")
        self.answers.append(answer)
        return answer

    def versions(self) -> dict[str, int | None]:
        """Who gets which version now."""
        with httpx.Client(timeout=30, trust_env=False) as client:
            return {user: self.ask(client, user).version for user in self.users}

    def _keep_asking(self, first: int) -> None:
        with httpx.Client(timeout=30, trust_env=False) as client:
            for number in count(first):
                if self.enough.wait(0.05):
                    return
                self.ask(client, self.users[number % len(self.users)])


@contextmanager
def keep_asking(served: Served, model: str, users: Sequence[str] = EVERYBODY, at_once: int = 2) -> Iterator[People]:
    """``at_once`` of the users ask all the time, until the block ends."""
    people = People(served.url, served.key, model, users)
    firsts = range(0, len(users), max(1, len(users) // at_once))
    threads = [threading.Thread(target=people._keep_asking, args=(first,)) for first in firsts]
    for thread in threads:
        thread.start()
    try:
        yield people
    finally:
        people.enough.set()
        for thread in threads:
            thread.join()
