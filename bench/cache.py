"""An answer out of the exact cache against the same question asked of the model again.

On the local stage the model is the scripted stand-in, which writes a token every few milliseconds:
the ratio says what the gateway's cache path costs beside that, not what a real model would take.
"""

from __future__ import annotations

import httpx

from bench.measure import compare
from sluiceway.cli.context import find_workspace
from sluiceway.local import lifecycle

_BODY = {"model": "chat@1", "messages": [{"role": "user", "content": "#count 50"}], "temperature": 0}


def main(rounds: int = 50) -> None:
    data = find_workspace().local
    url = lifecycle.require_runtime(data).front_url
    key = (data / "api-key").read_text(encoding="utf-8").strip()
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60) as client:

        def ask(expected: str, **headers: str) -> None:
            answer = client.post("/v1/chat/completions", json=_BODY, headers=headers)
            answer.raise_for_status()
            seen = answer.headers["x-sluiceway-cache"]
            if seen != expected:
                raise RuntimeError(f"x-sluiceway-cache was {seen}, not {expected}: nothing was measured")

        client.post("/v1/chat/completions", json=_BODY).raise_for_status()
        compare(
            "one answer: from the cache / from the (scripted) model",
            lambda: ask("hit"),
            lambda: ask("bypass", **{"x-sluiceway-cache": "bypass"}),
            rounds,
        )


if __name__ == "__main__":
    main()
