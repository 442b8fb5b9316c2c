"""Holds our gates against Flagger's and Argo Rollouts' documented rules, on the same simulated traffic.

    python -m bench.rollout [--seeds N] [--live] [--rate N] [--runs N] [--json]

Then the controller's own core takes N rollouts, under traffic as it is live, to their end: of a candidate as good as
stable, and of two that fail alike. Nothing of this depends on the machine but the time of an update.

With --live the gates are seen at work too, on a local stage of its own under load: N runs of each candidate that goes
wrong, six in about three minutes. A machine that is too slow for the load is a fault of both arms, which holds: give it
a smaller --rate. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bench.rollout import live, live_report, report, shaped
from sluiceway.cli.context import find_workspace
from sluiceway.engine.shims import node_of
from sluiceway.errors import SluicewayError

HERE = Path(__file__).parent
SIMULATED, LIVE = 40, 1
"""Runs, where nothing else is asked for."""


def main() -> int:
    asked = _arguments()
    simulated = _simulated(SIMULATED if asked.live or asked.runs is None else asked.runs)
    rollouts = shaped.measured(node_of(find_workspace()), asked.seeds, asked.hold)
    found: dict[str, object] = {"simulated": simulated, "shaped": rollouts}
    lines = report.table(simulated) + shaped.table(rollouts)
    goals = report.goals(simulated) + shaped.goals(rollouts)
    if asked.live:
        runs = live.measured(LIVE if asked.runs is None else asked.runs, asked.rate)
        found["live"] = [asdict(run) for run in runs]
        found["liveMedians"] = live_report.medians(runs)
        lines += live_report.table(runs)
        goals += live_report.goals(runs)
    if asked.json:
        print(json.dumps({**found, "goals": goals}))
        return _code(goals)
    print("\n".join(lines))
    for goal in goals:
        print(f"{'holds ' if goal['holds'] else 'MISSED'}  {goal['goal']}: {goal['seen']}")
    return _code(goals)


def _code(goals: list[report.Goal]) -> int:
    return 0 if all(goal["holds"] for goal in goals) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rollout", description="Our gates beside others' rules.")
    parser.add_argument("--live", action="store_true", help="also on a local stage under load, in minutes")
    parser.add_argument("--rate", type=float, default=50, help="requests a second of a live run")
    parser.add_argument("--runs", type=int, help="in each world; with --live, of each candidate")
    parser.add_argument("--seeds", type=int, default=shaped.SEEDS, help="simulated rollouts of each kind")
    parser.add_argument("--hold", type=int, default=shaped.HOLD_S, help="simulated seconds of each of their steps")
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
