"""docs/rollouts.md says what planning decides: its example can be planned, and its tables hold the defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluiceway import catalog, settings
from sluiceway.domain.duration import seconds
from sluiceway.domain.rollout import GATES, least_to_pass
from sluiceway.planning import plan
from sluiceway.planning.rollouts import MARGINS, SLOS, USUAL
from sluiceway.planning.warnings import warnings
from sluiceway.settings import yaml_file
from sluiceway.settings.rollouts import RolloutSettings
from sluiceway.workspace import Workspace
from tests.contract.make_rollout import ONE, planned
from tests.unit.planning.test_plan import ACCOUNT

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/rollouts.md").read_text("utf-8")


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose first cell is ``head``, code marks taken off."""
    (table,) = re.findall(rf"^\| `?{head}`? \|.*\n\|[ -|]+\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_example_means_what_the_text_says() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    config = yaml_file.parse(example, "docs/rollouts.md")["config"]
    stated = settings.parse({**config, "account_id": ACCOUNT}, "docs/rollouts.md", stage="dev")
    found = plan(stated, catalog.load(Workspace(ROOT)))
    (sentence,) = found.rollout_sentences()
    assert f"`{sentence}`" in TEXT
    assert warnings(found, "docs/rollouts.md") == ()


def test_every_gate_stands_there_with_its_margin_its_slo_and_whether_it_is_on() -> None:
    told = {name: (float(margin), slo.partition(" ")[0], on) for name, _, margin, slo, on in rows("gate")}
    assert set(told) == set(GATES)
    for name in GATES:
        slo = f"{SLOS[name]:g}" if name in SLOS else "must" if name in ("speed", "cost") else ""
        assert told[name] == (MARGINS[name], slo, "yes" if name in USUAL else ""), name


def test_every_key_stands_there() -> None:
    named = {key for row in rows("key") for key in re.findall(r"[a-z_]+", row[0])}
    named |= {key for row in rows("strategy") for key in re.findall(r"arms|candidate|steps|warm|mirror", row[2])}
    named |= {"strategy", "grace"}  # in the first table, and in the row of no_control
    assert set(RolloutSettings.model_fields) == named


@pytest.mark.parametrize(
    ("strategy", "key", "field"),
    [
        ("canary", "watch", "watch_s"),
        ("canary", "control", "control"),
        ("canary", "absolute", "absolute"),
        ("canary", "attempt", "attempt"),
        ("blue-green", "warm", "warm_s"),
        ("shadow", "mirror", "mirror"),
    ],
)
def test_a_default_is_what_planning_decides(strategy: str, key: str, field: str) -> None:
    (told,) = (row[1] for row in rows("key") if row[0] == key)
    spec = planned({"strategy": strategy, **ONE}).models[0].rollout
    meant = seconds(told) if told.endswith("h") else float(told)
    assert getattr(spec, field) == meant


def test_what_a_pass_takes_is_told_as_it_is() -> None:
    told = re.findall(r"(0\.0[0-9])(?: at least)?:? (?:at least )?([0-9]+)(?: of the candidate)?", TEXT)
    assert [(margin, int(least)) for margin, least in told] == [
        (margin, least_to_pass(float(margin), 0.05, 50)) for margin in ("0.01", "0.02", "0.03", "0.05")
    ]
