"""Holds our gates against Flagger's and Argo Rollouts' documented rules, on the same simulated traffic.

    python -m bench.rollout [--runs N] [--json]

Nothing of this depends on the machine but the time of an update. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from bench.rollout import report
from sluiceway.cli.context import find_workspace
from sluiceway.engine.shims import node_of
from sluiceway.errors import SluicewayError

HERE = Path(__file__).parent


def main() -> int:
    asked = _arguments()
    simulated = _simulated(asked.runs)
    goals = report.goals(simulated)
    if asked.json:
        print(json.dumps({"simulated": simulated, "goals": goals}))
    else:
        print("\n".join(report.table(simulated)))
        for goal in goals:
            print(f"{'holds ' if goal['holds'] else 'MISSED'}  {goal['goal']}: {goal['seen']}")
    return 0 if all(goal["holds"] for goal in goals) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rollout", description="Our gates beside others' rules.")
    parser.add_argument("--runs", type=int, default=40, help="in each world")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _simulated(runs: int) -> report.Simulated:
    command = [str(node_of(find_workspace())), "--no-warnings", str(HERE / "simulate.ts"), str(runs)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        raise SluicewayError("the simulation ended early", hint="what went wrong stands above")
    simulated: report.Simulated = json.loads(ended.stdout)
    return simulated


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SluicewayError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(error.exit_code)
