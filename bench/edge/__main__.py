"""Measures hybrid routing: right how often, how much it adds to a request, what it saves; and the guard's classifier.

    python -m bench.edge [--rounds N] [--answers SIMPLE COMPLEX] [--json]

The prompts are those that the router was not trained on. Times are of this machine in this minute: the same prompts go
in turn to a model with a route and to one without, in one Worker, and only the difference says something. Exits with 1
when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from hashlib import sha256
from pathlib import Path

from bench import command
from bench.edge import guard
from bench.edge.saving import Asked, Saving, saving
from models.recipes.intent import verify
from models.recipes.router import data, features, train
from sluiceway.catalog import load, workers_ai
from sluiceway.cli.context import check_stage, find_workspace
from sluiceway.domain.model import Price
from sluiceway.engine.shims import node_of
from sluiceway.errors import SluicewayError
from sluiceway.render import render_stage
from sluiceway.workspace import Workspace

HERE = Path(__file__).parent
LARGE, SMALL = "chat@2", "chat@1"


def main() -> int:
    asked = _arguments()
    workspace = find_workspace()
    _, held = data.divide(data.read(data.PROMPTS))
    onnx = train.OUT / "model.onnx"
    rows = verify.run(onnx.read_bytes(), features.vectors(text for *_, text in held))
    shares = train.shares(held, rows)
    measured = _measured(workspace, onnx, [text for *_, text in held], asked.rounds)
    routed = [data.LABELS[int(row.argmax())] for row in rows]
    # About four bytes of UTF-8 are a token, in either language.
    prompts = [
        Asked(label, to, max(1, len(text.encode()) // 4)) for (label, _, text), to in zip(held, routed, strict=True)
    ]
    prices = {version: _price(version) for version in (LARGE, SMALL)}
    saved = saving(prompts, prices[LARGE], prices[SMALL], dict(simple=asked.answers[0], complex=asked.answers[1]))
    guarded = guard.measure(node_of(workspace), asked.rounds)
    goals = [*_goals(shares, data.of_length(held), measured, saved), guarded.goal]
    if asked.json:
        print(
            json.dumps(
                {
                    "accuracy": shares,
                    "measured": measured,
                    "saving": vars(saved),
                    "guard": vars(guarded),
                    "goals": goals,
                }
            )
        )
    else:
        print("\n".join(_report(len(held), shares, measured, saved, asked.answers) + guarded.report()))
        for holds, goal in goals:
            print(f"{'holds ' if holds else 'MISSED'}  {goal}")
    return 0 if all(holds for holds, _ in goals) else 1


def _measured(workspace: Workspace, onnx: Path, prompts: list[str], rounds: int) -> dict[str, float]:
    rendered = render_stage(check_stage(workspace, "local").plan, workspace)
    order = {
        "bundle": str(rendered.out_dir / "dist" / rendered.modules[0].name),
        "onnx": str(onnx),
        "sha256": sha256(onnx.read_bytes()).hexdigest(),
        "prompts": prompts,
        "rounds": rounds,
    }
    command = [str(node_of(workspace)), str(HERE / "run.ts")]
    ended = subprocess.run(command, input=json.dumps(order), stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        raise SluicewayError("the measurement ended early", hint="what went wrong stands above")
    found: dict[str, float] = json.loads(ended.stdout.strip().splitlines()[-1])
    return found


def _price(ref: str) -> Price:
    """By the price book, as budgets have it."""
    name, _, number = ref.partition("@")
    version = load(find_workspace()).model(name, "bench").versions[int(number) - 1]
    found = version.price or workers_ai.MODELS[str(version.id)].price
    if found is None:
        raise SluicewayError(f"{ref} has no price")
    return found


def _goals(
    shares: dict[str, float], length_alone: float, measured: dict[str, float], saved: Saving
) -> list[tuple[bool, str]]:
    return [
        (shares["all"] >= 0.92, f"routes at least 92 % right: {shares['all']:.1%}"),
        (length_alone <= 0.6, f"length alone at most 60 %: {length_alone:.1%}"),
        (measured["score_us"] < 1_000, f"a score under 1 ms: {measured['score_us']:.0f} us"),
        (measured["added_ms"] < 1, f"under 1 ms of added p50: {measured['added_ms']:+.3f} ms"),
        (saved.routed < saved.all_large, f"saves money: {saved.share:.0%}"),
    ]


def _report(
    count: int, shares: dict[str, float], measured: dict[str, float], saved: Saving, answers: list[int]
) -> list[str]:
    by = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    return [
        f"{count} prompts that were held out: {by}",
        f"a score takes (p50) {measured['score_us']:.0f} us in Node, {measured['workerd_us']:.0f} us in workerd with"
        " all that /v1/classify does",
        f"p50 of a chat {measured['with_ms']:.2f} ms with a route, {measured['without_ms']:.2f} ms without:"
        f" {measured['added_ms']:+.3f} ms, ratio {measured['with_ms'] / measured['without_ms']:.3f}",
        f"a million such requests, {answers[0]} tokens answered to a simple and {answers[1]} to a complex one:",
        f"  all to {LARGE} ${saved.all_large:,.0f}, routed ${saved.routed:,.0f} (to {SMALL} {saved.to_small:.0%}),"
        f" never wrong ${saved.perfect:,.0f}: saves {saved.share:.0%}",
        f"  of the complex ones the small model gets {saved.hard_to_small:.1%},"
        f" of the simple ones the large model {saved.easy_to_large:.1%}",
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.edge", description="Hybrid routing, measured.")
    parser.add_argument("--rounds", type=int, default=3, help="times that each prompt is sent, both ways")
    parser.add_argument("--answers", type=int, nargs=2, default=[150, 600], help="tokens of an answer, by label")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    command.run(main)
