"""What the measurement says, as a table and against the goals."""

from __future__ import annotations

from typing import TypedDict

BARE = {"ours, openai": "bare Worker, fetch", "ours, workers-ai": "bare Worker, env.AI"}
#: A Worker that is asked through Miniflare's entry Worker, as plain `new Miniflare()` has it.
BY_ENTRY = " *"
RIVALS = ("Portkey", "LiteLLM")
#: Reads both ways' JSON, checks a key, hears of who leaves, has a deadline, sets our headers, writes our line: no more.
LEAST = "least gateway, fetch"


class Row(TypedDict):
    """Times in milliseconds; ``firstP50`` is to the first byte of the body; ``processor`` is the contender's own."""

    name: str
    stream: bool
    connections: int
    p50: float
    p90: float
    p99: float
    firstP50: float
    perSecond: float
    processor: float


class Measured(TypedDict):
    """``memory`` in MiB after the load, ``cold`` in ms from nothing to the end of the first answer."""

    rows: list[Row]
    memory: dict[str, float]
    cold: dict[str, float]


class Goal(TypedDict):
    goal: str
    seen: str
    holds: bool


def table(measured: Measured) -> list[str]:
    lines = []
    cells = {(row["stream"], row["connections"]) for row in measured["rows"]}
    for stream, connections in sorted(cells):
        kind = "streamed" if stream else "in one go"
        lines.append(
            f"{kind}, {connections} at once{'':14} p50       p90       p99  first byte   processor  requests/s"
        )
        for row in measured["rows"]:
            if (row["stream"], row["connections"]) == (stream, connections):
                times = "  ".join(f"{row[name]:8.2f}" for name in ("p50", "p90", "p99", "firstP50", "processor"))
                lines.append(f"  {row['name']:24} {times} ms {row['perSecond']:9.0f}")
    lines.append(
        f"{BY_ENTRY.strip()} behind Miniflare's entry Worker, which neither Cloudflare has nor the local stage"
    )
    lines.append("our rate limiter is a stand-in that counts in the Worker (Cloudflare's counts on its machine)")
    lines.append("memory after the load, and from a cold start to the first answer")
    for name, mib in measured["memory"].items():
        lines.append(f"  {name:24} {mib:8.0f} MiB {measured['cold'][name]:8.0f} ms")
    return lines


def goals(measured: Measured, gzip_bytes: int, startup_ms: float) -> list[Goal]:
    """Each goal with what was seen."""
    p50 = {(row["name"], row["stream"], row["connections"]): row["p50"] for row in measured["rows"]}
    found: list[Goal] = []
    for ours, bare in BARE.items():
        over, own = (p50[ours + way, False, 1] - p50[bare + way, False, 1] for way in (BY_ENTRY, ""))
        seen = f"{over:.2f} ms ({own:.2f} without Miniflare's entry Worker)"
        found.append(_goal(f"{ours}: at most 0.6 ms over a {bare}, one at a time", seen, over <= 0.6))
        ratio, own = _ratios(p50, ours, bare)
        seen = f"{ratio:.2f} ({own:.2f} without Miniflare's entry Worker)"
        if ours == "ours, openai":
            floor, own = _ratios(p50, LEAST, bare)
            seen += f"; the least that a gateway in a Worker can be: {floor:.2f} ({own:.2f})"
        found.append(_goal(f"{ours}: at most 1.4 times a {bare}, 32 at once", seen, ratio <= 1.4))
    for rival in RIVALS:
        rows = [key for key in p50 if key[0] == rival]
        behind = [key for key in rows if p50[("ours, openai", *key[1:])] >= p50[key]]
        if rows:
            seen = f"ahead in {len(rows) - len(behind)} of {len(rows)} rows"
            ahead = [key for key in behind if p50[(LEAST, *key[1:])] < p50[key]]
            if behind:
                seen += f" (in {len(behind) - len(ahead)} of the others the least gateway is behind too)"
            found.append(_goal(f"ours, openai: ahead of {rival} in every row", seen, not behind))
    found.append(_goal("bundle at most 120 kB gzipped", f"{gzip_bytes / 1000:.0f} kB", gzip_bytes <= 120_000))
    found.append(_goal("start-up below 25 ms", f"{startup_ms:.1f} ms", startup_ms < 25))
    return found


def _ratios(p50: dict[tuple[str, bool, int], float], name: str, bare: str) -> tuple[float, float]:
    """How many times a bare Worker's p50 one's is, 32 at once: behind Miniflare's entry Worker, and without it."""
    behind, own = (p50[name + way, False, 32] / p50[bare + way, False, 32] for way in (BY_ENTRY, ""))
    return behind, own


def _goal(goal: str, seen: str, holds: bool) -> Goal:
    return {"goal": goal, "seen": seen, "holds": holds}
