"""Measures the gateway beside others in one run: the same upstream, the same load, the order moving on each round.

    python -m bench.gateway [--without-rivals] [--rounds N] [--requests N] [--warm N] [--json]

Times are of this machine in this minute; only the ratios say something. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from statistics import median

from bench import command
from bench.gateway import install, report
from sluiceway.cli.context import check_stage, find_workspace
from sluiceway.engine.shims import node_of
from sluiceway.errors import SluicewayError
from sluiceway.render import render_stage

HERE = Path(__file__).parent


def main() -> int:
    asked = _arguments()
    workspace = find_workspace()
    node = node_of(workspace)
    rendered = render_stage(check_stage(workspace, "local").plan, workspace)
    bundle, config = rendered.modules[0], rendered.modules[1]
    code = rendered.out_dir / "dist" / bundle.name
    rivals = None if asked.without_rivals else str(install.rivals(node))
    order = {
        "bundle": str(code),
        "rivals": rivals,
        "rounds": asked.rounds,
        "requests": asked.requests,
        "warm": asked.warm,
    }
    ended = subprocess.run([str(node), str(HERE / "run.ts"), json.dumps(order)], stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        raise SluicewayError("the measurement ended early", hint="what went wrong stands above")
    measured: report.Measured = json.loads(ended.stdout.strip().splitlines()[-1])
    startup = [_startup(node, code, config.content.decode()) for _ in range(11)]
    goals = report.goals(measured, rendered.gzip_bytes, median(startup))
    if asked.json:
        print(json.dumps({**measured, "goals": goals}))
    else:
        print("\n".join(report.table(measured)))
        for goal in goals:
            print(f"{'holds ' if goal['holds'] else 'MISSED'}  {goal['goal']}: {goal['seen']}")
    return 0 if all(goal["holds"] for goal in goals) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description="The gateway beside others.")
    parser.add_argument("--without-rivals", action="store_true", help="our Worker and the bare ones only")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=400, help="in one cell of one round; LiteLLM gets a fifth")
    parser.add_argument("--warm", type=int, default=8000, help="to each before it is measured; LiteLLM gets a fifth")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _startup(node: Path, code: Path, config: str) -> float:
    command = [str(node), "--experimental-vm-modules", "--no-warnings", str(HERE / "startup.ts"), str(code), config]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    command.run(main)
