"""Settings of a pass that it can't take: said with the place and what to write."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.passes import PASSES, make


@pytest.mark.parametrize(
    ("settings", "path", "said"),
    [
        ({"kind": "int4-weights", "block": 24}, "block", "a block is a power of two from 16 to 256, got 24"),
        ({"kind": "int4-weights", "block": 8}, "block", "a block is a power of two"),
        ({"kind": "int8-weights", "block": 512}, "block", "a block is a power of two"),
        ({"kind": "int8-weights", "ops": ["Gather"]}, "", "unknown key 'ops'"),
        ({"kind": "int4-weights", "block_size": 32}, "", "unknown key 'block_size'"),
        ({"kind": "int4-weights", "head": "int5"}, "head", "must be one of int8, fp32, int4"),
        ({"kind": "int8-dynamic", "ops": ["LSTM"]}, "ops[0]", "must be one of MatMul, Gemm, Gather, Conv"),
        ({"kind": "int8-dynamic", "keep": [{"name": "lm_head"}]}, "keep[0]", "unknown key 'name'"),
        ({"kind": "int8-dynamic", "keep": [{}]}, "keep[0]", "chosen by their shape or by their place"),
        ({"kind": "int8-static"}, "calibration", "is required"),
        ({"kind": "int-8"}, "kind", "no pass of this kind, got 'int-8'"),
    ],
)
def test_ox_06_a_setting_that_a_pass_can_not_take_is_told_with_its_place(
    settings: dict[str, Any], path: str, said: str
) -> None:
    with pytest.raises(UserError) as refused:
        make(settings, lambda dotted: f"passes[1]: {dotted}")
    assert said in str(refused.value)
    assert refused.value.path == f"passes[1]: {path}"
    assert refused.value.hint


def test_every_kind_of_pass_is_made_from_its_settings() -> None:
    extra: dict[str, dict[str, Any]] = {"int8-static": {"calibration": "rows.jsonl"}}
    made = {kind: PASSES[kind](extra.get(kind, {})) for kind in PASSES}
    assert {kind: each.kind for kind, each in made.items()} == {kind: kind for kind in made}
    assert sorted(made) == ["beside", "fold", "fp16", "int4-weights", "int8-dynamic", "int8-static", "int8-weights"]
    assert all(each.version >= 1 for each in made.values())
