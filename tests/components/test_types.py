"""The rendered TypeScript of every stage type-checks together with the Worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.render.types import check_types
from tests.components.conftest import STAGES, Stages
from tests.node import NODE


def test_the_output_of_every_stage_type_checks(stages: Stages) -> None:
    # A compiler run takes seconds, and stages that bind the same have the same files: each text is checked once.
    folders = {sources(stages.render(stage).out_dir): stages.render(stage).out_dir for stage in STAGES}
    for folder in folders.values():
        check_types(folder, stages.checkout, NODE)


def sources(out_dir: Path) -> tuple[bytes, ...]:
    """Every byte that the compiler reads of a stage: config.json is text to it."""
    names = ("tsconfig.json", "src/worker-entry.ts", "src/env.d.ts")
    assert {path.name for path in (out_dir / "src").iterdir()} == {"worker-entry.ts", "env.d.ts", "config.json"}
    return tuple((out_dir / name).read_bytes() for name in names)


@pytest.mark.long
def test_a_binding_that_the_worker_needs_and_a_stage_lacks_is_a_type_error(stages: Stages) -> None:
    out_dir = stages.render("local").out_dir
    env = out_dir / "src" / "env.d.ts"
    whole = env.read_text(encoding="utf-8")
    try:
        env.write_text("".join(line for line in whole.splitlines(True) if "CACHE" not in line), encoding="utf-8")
        with pytest.raises(SluicewayError, match="CACHE") as caught:
            check_types(out_dir, stages.checkout, NODE)
    finally:
        env.write_text(whole, encoding="utf-8")
    assert caught.value.path == ".sluiceway/build/local/src/worker-entry.ts:10:7"


def test_every_stage_runs_the_same_bundle_under_a_release_of_its_own_settings(stages: Stages) -> None:
    rendered = [stages.render(stage) for stage in STAGES]
    assert len({stage.bundle_digest for stage in rendered}) == 1
    assert len({stage.modules[0].content for stage in rendered}) == 1
    assert len({stage.modules[1].content for stage in rendered}) == len(STAGES)
