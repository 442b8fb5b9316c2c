"""Holds our gates against Flagger's and Argo Rollouts' documented rules, on the same simulated traffic.

    python -m bench.rollout [--live] [--rate N] [--runs N] [--json]

Nothing of this depends on the machine but the time of an update. With --live it is the gates at work instead, on a
local stage of its own under load: N runs of each candidate that goes wrong, about half a minute each. A machine that
is too slow for the load is a fault of both arms, which holds: give it a smaller --rate. Exits with 1 when a goal is
missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bench.rollout import live, live_report, report
from sluiceway.cli.context import find_workspace
from sluiceway.engine.shims import node_of
from sluiceway.errors import SluicewayError

HERE = Path(__file__).parent


def main() -> int:
    asked = _arguments()
    found: dict[str, object]
    if asked.live:
        runs = live.measured(asked.runs or 1, asked.rate)
        found, lines, goals = {"live": [asdict(run) for run in runs]}, live_report.table(runs), live_report.goals(runs)
    else:
        simulated = _simulated(asked.runs or 40)
        found, lines, goals = {"simulated": simulated}, report.table(simulated), report.goals(simulated)
    if asked.json:
        print(json.dumps({**found, "goals": goals}))
    else:
        print("\n".join(lines))
        for goal in goals:
            print(f"{'holds ' if goal['holds'] else 'MISSED'}  {goal['goal']}: {goal['seen']}")
    return 0 if all(goal["holds"] for goal in goals) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rollout", description="Our gates beside others' rules.")
    parser.add_argument("--live", action="store_true", help="on a local stage under load, in minutes")
    parser.add_argument("--rate", type=float, default=50, help="requests a second of a live run")
    parser.add_argument("--runs", type=int, help="in each world (40), or of each candidate (1)")
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
