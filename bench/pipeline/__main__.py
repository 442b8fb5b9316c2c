"""Our model path beside others, on the same float weights, in one run.

    python -m bench.pipeline [--without-rivals] [--rounds N] [--json]

SmolLM2-135M: ours, onnxruntime-genai's builder, optimum. MiniLM: ours and a published INT8 model. Answers are held
against those of the loader that made the weights (transformers and torch). Tokens a second are of the processor, on
one thread, of this machine in this minute: only ratios say something. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from bench import command
from bench.pipeline import report
from bench.pipeline.run import Asked, measure
from sluiceway.processes import held
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace


def main() -> int:
    asked = _arguments()
    progress = Progress()
    private = Workspace.find(Path(__file__).parent).private
    private.mkdir(exist_ok=True)
    work = private / "bench-pipeline"
    with held(private / "bench-pipeline.lock", progress, "waiting for another measurement of the model path", 1.0):
        shutil.rmtree(work, ignore_errors=True)
        try:
            rows = measure(Asked(work, asked.rounds, not asked.without_rivals), progress)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    goals = report.goals(rows)
    if asked.json:
        print(json.dumps({"rows": rows, "goals": goals}))
    else:
        _show(rows, goals)
    return 0 if all(goal["holds"] for goal in goals) else 1


def _show(rows: list[report.Row], goals: list[report.Goal]) -> None:
    from rich.console import Console

    # A table that is cut to 80 columns says nothing; where nobody looks at a terminal, it has the room it needs.
    console = Console() if sys.stdout.isatty() else Console(width=170)
    for model in ("SmolLM2", "MiniLM"):
        console.print(report.table(rows, model))
    for remark in report.remarks(rows):
        print(remark)
    for goal in goals:
        print(f"{'holds ' if goal['holds'] else 'MISSED'}  {goal['goal']}: {goal['seen']}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline", description="The model path beside others.")
    parser.add_argument("--without-rivals", action="store_true", help="ours alone (torch is needed for the reference)")
    parser.add_argument("--rounds", type=int, default=3, help="how often speed is taken; 0 leaves it out")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    command.run(main)
