"""Holds our gates against Flagger's and Argo Rollouts' documented rules, on the same simulated traffic.

    python -m bench.rollout [--seeds N] [--live] [--rate N] [--runs N] [--rounds N] [--kills N] [--json]

Then the controller's own core takes N rollouts, under traffic as it is live, to their end: of a candidate as good as
stable, and of two that fail alike. Nothing of this depends on the machine but the time of an update.

With --live the gates are seen at work too, on a local stage of its own under load: N runs of each candidate that goes
wrong, six in a minute or two; then the three ways back to the old answers, `--rounds` of each; then `--kills` of host,
workerd and daemon. A machine that is too slow for the load is a fault of both arms, which holds: give it a smaller
--rate. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from bench import command
from bench.rollout import back, kills, live, live_report, report, shaped
from sluiceway.cli.context import find_workspace
from sluiceway.engine.shims import node_of
from sluiceway.errors import SluicewayError

HERE = Path(__file__).parent
SIMULATED, LIVE, ROUNDS, KILLS = 40, 1, 1, 3
"""Runs, where nothing else is asked for."""


def main() -> int:
    asked = _arguments()
    simulated = _simulated(SIMULATED if asked.live or asked.runs is None else asked.runs)
    rollouts = shaped.measured(node_of(find_workspace()), asked.seeds, asked.hold)
    found: dict[str, object] = {"simulated": simulated, "shaped": rollouts}
    lines = report.table(simulated) + shaped.table(rollouts)
    goals = report.goals(simulated) + shaped.goals(rollouts)
    for name, work in _live_parts(asked).items() if asked.live else ():
        try:
            document, more, its_goals = work()
        except (SluicewayError, AssertionError, OSError) as error:
            # What the other parts have found must not be lost with it.
            document, more = {"broken": str(error)}, [f"{name} broke off: {error}"]
            its_goals = [{"goal": f"{name} comes to its end", "seen": "it broke off", "holds": False}]
        found[name] = document
        lines += more
        goals += its_goals
    if asked.json:
        print(json.dumps({**found, "goals": goals}))
        return _code(goals)
    print("\n".join(lines))
    for goal in goals:
        print(f"{'holds ' if goal['holds'] else 'MISSED'}  {goal['goal']}: {goal['seen']}")
    return _code(goals)


Part = tuple[object, list[str], list[report.Goal]]
"""A document, lines of a table, goals."""


def _live_parts(asked: argparse.Namespace) -> dict[str, Callable[[], Part]]:
    """Those that are asked for, in their order."""

    def gates() -> Part:
        runs = live.measured(asked.runs or LIVE, asked.rate)
        document = {"runs": [asdict(run) for run in runs], "medians": live_report.medians(runs)}
        return document, live_report.table(runs), live_report.goals(runs)

    def ways_back() -> Part:
        backs = back.measured(asked.rounds)
        return [asdict(each) for each in backs], back.table(backs), back.goals(backs)

    def killed() -> Part:
        each = kills.measured(asked.kills)
        return asdict(each), kills.table(each), kills.goals(each)

    wanted = {"live": (asked.runs != 0, gates), "back": (asked.rounds, ways_back), "killed": (asked.kills, killed)}
    return {name: work for name, (is_wanted, work) in wanted.items() if is_wanted}


def _code(goals: list[report.Goal]) -> int:
    return 0 if all(goal["holds"] for goal in goals) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rollout", description="Our gates beside others' rules.")
    parser.add_argument("--live", action="store_true", help="also on a local stage under load, in minutes")
    parser.add_argument("--rate", type=float, default=50, help="requests a second of a live run")
    parser.add_argument("--runs", type=int, help="in each world; with --live, of each candidate")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="with --live, of each way back; 0: none")
    parser.add_argument("--kills", type=int, default=KILLS, help="with --live, of host, workerd and daemon; 0: none")
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
    command.run(main)
