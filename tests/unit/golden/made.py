"""Golden prompts and a stage's answers for tests: what is asked is written down, what is said is given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sluiceway.golden.asking import Answer
from sluiceway.golden.model import KINDS, Prompt

CONTAINS = {"kind": "contains", "text": "good"}


def prompt(at: int, *checks: Mapping[str, Any], language: str = "en", topic: str = "facts") -> Prompt:
    made = tuple(KINDS[check["kind"]].model_validate(dict(check)) for check in checks or (CONTAINS,))
    message = {"role": "user", "content": f"question {at}"}
    return Prompt(f"p-{at}", f"x.jsonl:{at}", language, topic, (message,), {}, made)


Said = Callable[[str, int], Answer]


class Stage:
    """``said(model, n)`` is the answer to the n-th question of that model; ``rest`` holds it back for some turns."""

    def __init__(self, said: Said, rest: Callable[[str, int], int] = lambda _model, _n: 0) -> None:
        self._said, self._rest = said, rest
        self.asked: list[tuple[str, str]] = []
        self.counts: dict[str, int] = {}
        self.open = 0
        self.most_open = 0

    async def ask(
        self, model: str, messages: Sequence[Mapping[str, str]], options: Mapping[str, Any], *, pinned: bool = True
    ) -> Answer:
        at = self.counts[model] = self.counts.get(model, 0) + 1
        self.asked.append((model, messages[-1]["content"]))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            for _ in range(1 + self._rest(model, at)):
                await asyncio.sleep(0)
            return self._said(model, at)
        finally:
            self.open -= 1


def good(_model: str, _at: int) -> Answer:
    return Answer("a good answer")


def failing(version: str, code: str = "upstream_error", *, neutral: bool = False) -> Said:
    return lambda model, at: Answer(None, code, neutral) if model == version else good(model, at)


def saying(version: str, text: str) -> Said:
    return lambda model, at: Answer(text) if model == version else good(model, at)
