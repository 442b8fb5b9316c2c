"""The three ways back to the old answers on a stage under traffic, and how long each takes.

Each round brings a version by git, under three models that are asked all the time: ``button`` is rolled back by the
request that the dashboard's button sends, twice at once as two people would; ``command`` by `rollout rollback`;
``revert`` by `git revert` of the version and `up`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from bench.rollout.load import PATIENCE_S, Asked, Crowd, Gateway, bring_up, journal
from bench.rollout.report import Goal
from sluiceway.errors import SluicewayError
from tests.e2e.checkout import Checkout, make_checkout

WAYS = ("button", "command", "revert")
RESTORES_S = 3.0
RATE = 10.0
"""Requests a second of each model."""
AFTER_S = 5.0
SEEN_WITHIN_S = 30.0
_ENDS = ("aborted", "rolled-back")


@dataclass(frozen=True)
class Back:
    """One way back in one round.

    ``restored_s``: until the last request that got the new version, from the press, from the command's start, and for
    ``revert`` from the end of `up`; 0 where none came after it. ``whole_s``: the same, from the first thing that the
    person did (`git revert`). ``transitions``: of the journal. ``accepted``, ``refused``: of those who pressed.
    """

    way: str
    restored_s: float
    whole_s: float
    transitions: int
    accepted: int
    refused: int
    asked: int
    unanswered: int
    broken: str | None = None


def measured(rounds: int) -> list[Back]:
    """``rounds`` of each way, on a stage of its own that is gone afterwards."""
    found: list[Back] = []
    with _stage() as checkout:
        for number in range(1, rounds + 1):
            found += _round(checkout, number)
            for back in found[-len(WAYS) :]:
                print(f"{_told(back)}; round {number} of {rounds}", file=sys.stderr, flush=True)
    return found


def table(backs: Sequence[Back]) -> list[str]:
    lines = ["back to the old answers: seconds until the last request that got the new version, of each round"]
    moments = {"button": "the press", "command": "the command's start", "revert": "the end of `up`"}
    for way, moment in moments.items():
        own = [back for back in backs if back.way == way]
        seen = ", ".join("never" if back.broken else f"{back.restored_s:.2f}" for back in own)
        whole = f" (from `git revert` on {max(back.whole_s for back in own):.1f})" if way == "revert" and own else ""
        lines.append(f"  {way:8} from {moment}: {seen}{whole}")
    return lines


def goals(backs: Sequence[Back]) -> list[Goal]:
    found: list[Goal] = []
    for way in WAYS:
        own = [back for back in backs if back.way == way]
        latest = max((back.restored_s for back in own), default=float("inf"))
        holds = latest <= RESTORES_S and not any(back.broken for back in own)
        goal = f"{way}: the old answers are back within {RESTORES_S:.0f} s"
        found.append({"goal": goal, "seen": f"{latest:.2f} s", "holds": holds})
    pressed = [back for back in backs if back.way == "button"]
    once = sum((back.accepted, back.refused, back.transitions) == (1, 1, 1) for back in pressed)
    goal = "two who press at once make one transition, and one of them is told so"
    found.append({"goal": goal, "seen": f"{once} of {len(pressed)}", "holds": once == len(pressed)})
    return found


def _told(back: Back) -> str:
    if back.broken:
        return f"{back.way:8} broke off: {back.broken}"
    return (
        f"{back.way:8} old answers back after {back.restored_s:.2f} s, {back.whole_s:.2f} s in all,"
        f" {back.transitions} transition, {back.unanswered} of {back.asked} unanswered"
    )


@contextmanager
def _stage() -> Iterator[Checkout]:
    with tempfile.TemporaryDirectory(prefix="sluiceway-back-") as folder:
        checkout = make_checkout(Path(folder) / "checkout")
        _git(checkout, "init", "-q")
        _git(checkout, "config", "user.name", "ann")
        _git(checkout, "config", "user.email", "ann@example.com")
        try:
            _write(checkout, None)
            bring_up(checkout)
            yield checkout
        finally:
            checkout.sluiceway("local", "stop")


def _write(checkout: Checkout, attempt: int | None) -> None:
    """The models and the stack in git: with the version and its rollouts, or (None) as before there was one."""
    chat = (checkout.root / "models/chat.yaml").read_text("utf-8").replace("default: true\n", "")
    before = chat.replace("fallback: [chat@1]\n", "").partition("  - version: chat@2")[0]
    lines = ["  sluiceway:models:"]
    for way in WAYS:
        text = before if attempt is None else chat
        (checkout.root / f"models/{way}.yaml").write_text(text.replace("chat@", f"{way}@"), "utf-8")
        rest = f"strategy: canary, stable: {way}@1, candidate: {way}@2, attempt: {attempt}"
        rollout = f"rollout: {{{rest}, steps: [{{weight: 50, hold: 1h}}]}}"
        split = f"split: [{{version: {way}@1, weight: 100}}]"
        lines.append(f"    {way}: {{{split if attempt is None else rollout}}}")
    stack = checkout.root / "stacks/Pulumi.local.yaml"
    head = stack.read_text("utf-8").partition("  sluiceway:models:\n")[0]
    stack.write_text(head + "\n".join(lines) + "\n", "utf-8")
    _git(checkout, "add", "models", "stacks")
    _git(checkout, "commit", "-q", "-m", "Before" if attempt is None else f"Version 2, attempt {attempt}")


def _git(checkout: Checkout, *words: str) -> None:
    done = subprocess.run(("git", *words), cwd=checkout.root, env=checkout.environ(), capture_output=True, text=True)
    if done.returncode:
        raise SluicewayError(f"git {words[0]} failed: {done.stderr[-300:]}")


def _round(checkout: Checkout, number: int) -> list[Back]:
    """What breaks a round off is said of each of its ways, and no reason to lose the others."""
    try:
        _write(checkout, number)
        return asyncio.run(_back(checkout, bring_up(checkout)))
    except (httpx.HTTPError, SluicewayError, OSError, LookupError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"[:300]
        return [Back(way, 0, 0, 0, 0, 0, 0, 0, broken=why) for way in WAYS]


async def _back(checkout: Checkout, gateway: Gateway) -> list[Back]:
    over = asyncio.Event()
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=50)
    async with httpx.AsyncClient(timeout=PATIENCE_S, limits=limits, trust_env=False) as client:
        crowds = {way: Crowd(gateway, client, way, RATE, False) for way in WAYS}
        asking = [asyncio.create_task(crowd.until(over)) for crowd in crowds.values()]
        try:
            await _all_have_both(crowds.values())
            began = {way: time.time() * 1000 for way in WAYS}
            pressed = await _press(gateway, client)
            began["command"] = time.time() * 1000
            done = await asyncio.to_thread(checkout.sluiceway, "rollout", "rollback", "command", "local", "--as", "ann")
            if done.code:
                raise SluicewayError(f"rollout rollback: {done.err[-300:]}")
            await asyncio.sleep(AFTER_S)
            found = [await _found(crowds[way], began[way], began[way]) for way in WAYS[:2]]
            began["revert"] = time.time() * 1000
            await asyncio.to_thread(_git, checkout, "revert", "--no-edit", "HEAD")
            await asyncio.to_thread(bring_up, checkout)
            ended = time.time() * 1000
            await asyncio.sleep(AFTER_S)
            found.append(await _found(crowds["revert"], began["revert"], ended))
        finally:
            over.set()
            await asyncio.gather(*asking)
    return [replace(found[0], accepted=pressed.count(200), refused=pressed.count(409)), *found[1:]]


async def _all_have_both(crowds: Collection[Crowd]) -> None:
    until = time.monotonic() + SEEN_WITHIN_S
    while not all(_has_both(crowd.asked) for crowd in crowds):
        if time.monotonic() > until:
            raise SluicewayError(f"the new version was not served within {SEEN_WITHIN_S:.0f} s")
        await asyncio.sleep(0.2)


def _has_both(asked: Sequence[Asked]) -> bool:
    return {each.candidate for each in asked if each.status == 200} == {True, False}


async def _press(gateway: Gateway, client: httpx.AsyncClient) -> list[int]:
    """What the dashboard's button sends, from two browsers that show the same moment; the answers' codes."""
    home = f"{gateway.url}/_sluiceway/rollouts"
    headers = {"x-sluiceway-dashboard": "1", "origin": gateway.url}
    shown = await client.get(f"{home}/button", headers=headers, auth=("ann", gateway.admin_key))
    expect = shown.raise_for_status().json()["revision"]

    async def press(who: str) -> int:
        body = {"actor": who, "expect": expect}
        url = f"{home}/button/rollback"
        return (await client.post(url, json=body, headers=headers, auth=(who, gateway.admin_key))).status_code

    return list(await asyncio.gather(press("ann"), press("bo")))


async def _found(crowd: Crowd, first: float, moment: float) -> Back:
    last = max((each.at for each in crowd.asked if each.candidate), default=0.0)
    entries = await journal(crowd.gateway, crowd.client, crowd.model)
    moved = [each for each in entries if each["at"] >= first and each["kind"] in (*_ENDS, "spec")]
    return Back(
        way=crowd.model,
        restored_s=max(0.0, last - moment) / 1000,
        whole_s=max(0.0, last - first) / 1000,
        transitions=sum(each["kind"] in _ENDS for each in moved) or len(moved),
        accepted=0,
        refused=0,
        asked=len(crowd.asked),
        unanswered=sum(each.status != 200 for each in crowd.asked),
    )
