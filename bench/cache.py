"""An answer out of the exact cache against the same question asked of the model again; and many at once.

On the local stage the model is the scripted stand-in, which writes a token every few milliseconds:
the ratios say what the gateway's cache path costs beside that, not what a real model would take.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TypeVar

import httpx

from bench.measure import compare
from sluiceway.cli.context import find_workspace
from sluiceway.local import lifecycle

T = TypeVar("T")
_AT_ONCE = 16


class Asker:
    """Asks one stage, and holds each answer to the cache's part in it that it is to have."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._questions = count()

    def ask(self, expected: set[str], text: str = "", **headers: str) -> str:
        messages = [{"role": "user", "content": f"#count 50 {text}"}]
        body = {"model": "chat@1", "messages": messages, "temperature": 0}
        answer = self._client.post("/v1/chat/completions", json=body, headers=headers)
        answer.raise_for_status()
        seen = answer.headers["x-sluiceway-cache"]
        if seen not in expected:
            raise RuntimeError(f"x-sluiceway-cache was {seen}, not {expected}: nothing was measured")
        return str(seen)

    def bypass(self, text: str = "") -> None:
        self.ask({"bypass"}, text, **{"x-sluiceway-cache": "bypass"})

    def together(self) -> None:
        """The same new question from all at once; one of them asks the model."""
        text = f"question {next(self._questions)} of {id(self)}"
        seen = _at_once(lambda: self.ask({"miss", "hit"}, text))
        if seen.count("miss") != 1:
            raise RuntimeError(f"{seen.count('miss')} of {_AT_ONCE} asked the model: nothing was measured")

    def each(self) -> None:
        _at_once(lambda: self.bypass("all the same"))


def _at_once(ask: Callable[[], T]) -> list[T]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [each.result() for each in [pool.submit(ask) for _ in range(_AT_ONCE)]]


def main(rounds: int = 50) -> None:
    data = find_workspace().local
    url = lifecycle.require_runtime(data).front_url
    key = (data / "api-key").read_text(encoding="utf-8").strip()
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60) as client:
        asker = Asker(client)
        asker.ask({"miss", "hit"})
        compare(
            "one answer: from the cache / from the (scripted) model", lambda: asker.ask({"hit"}), asker.bypass, rounds
        )
        compare(
            f"{_AT_ONCE} equal requests at once: together / each for itself",
            asker.together,
            asker.each,
            max(5, rounds // 5),
        )


if __name__ == "__main__":
    main()
