"""Each pass on tiny models: what comes out runs, is as small as asked, and answers like the float model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import Limits, check_model
from sluiceway.pipeline.passes import store
from sluiceway.pipeline.types import Model
from tests.unit.pipeline import tiny
from tests.unit.pipeline.passes.apply import answer, apply, cosine, ops, weights


def calibration(folder: Path) -> str:
    rows = [{"text": " ".join(f"word{(i * j) % 90}" for i in range(1, 5 + j))} for j in range(1, 9)]
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return str(path)


# kind, settings, smallest cosine to the float model, share of its bytes at most
ENCODER: list[tuple[str, dict[str, Any], float, float]] = [
    ("fp16", {}, 0.99999, 0.52),
    ("int8-dynamic", {}, 0.999, 0.30),
    ("int8-dynamic", {"per_channel": False}, 0.995, 0.30),
    ("int8-static", {"calibration": ""}, 0.99, 0.43),
    ("int8-static", {"calibration": "", "activations": "s16"}, 0.9995, 0.43),
    ("int8-static", {"calibration": "", "method": "percentile"}, 0.9, 0.43),
    ("int8-weights", {}, 0.9995, 0.30),
    ("int8-weights", {"embedding": "fp32", "symmetric": False}, 0.9995, 0.43),
    ("int4-weights", {}, 0.97, 0.18),
    ("int4-weights", {"symmetric": False, "block": 16}, 0.98, 0.22),
]


@pytest.mark.parametrize(("kind", "settings", "least", "share"), ENCODER, ids=lambda value: str(value)[:40])
def test_an_encoder_answers_alike_and_is_as_small_as_asked(
    kind: str, settings: dict[str, Any], least: float, share: float, tmp_path: Path
) -> None:
    source = tiny.encoder(tmp_path / "source")
    tiny.tokenizer(source.folder)
    if "calibration" in settings:
        settings = {**settings, "calibration": calibration(tmp_path)}
    before = source.path.read_bytes()
    made, report = apply(kind, source, tmp_path / "out", **settings)
    assert cosine(answer(source), answer(made)) >= least
    assert report.bytes_after <= share * report.bytes_before
    assert report.bytes_after == made.path.stat().st_size
    assert report.weights_changed == report.weights_asked > 0
    assert [path.name for path in made.folder.iterdir()] == ["model.onnx"]
    assert source.path.read_bytes() == before


def test_the_report_counts_tensors_and_elements(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    _, report = apply("int8-dynamic", source, tmp_path / "out", ops=["MatMul"], keep=[{"shape": [64, 128]}])
    assert (report.weights_changed, report.weights_asked, report.weights_before) == (2, 2, 5)
    assert report.notes[:2] == ("2 of 5 weights, 16384 of 38912 elements", "kept as floats: 2 x [64, 128]")


def test_what_ops_leaves_out_is_noted_where_it_is_most_of_the_model(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source", vocabulary=4000)
    _, report = apply("int8-dynamic", source, tmp_path / "out", ops=["MatMul"])
    assert report.notes[1] == "89 % of the weights are in Gather, which ops does not name"


def test_a_decoder_at_8_bits_picks_the_same_tokens(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    made, report = apply("int8-weights", source, tmp_path / "out")
    assert (answer(source).argmax(-1) == answer(made).argmax(-1)).mean() >= 0.9
    assert report.bytes_after < 0.32 * report.bytes_before


def test_one_quantised_table_is_embedding_and_head_of_a_tied_decoder(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    made, report = apply("int4-weights", source, tmp_path / "shared")
    assert "the table of embeddings is the head too: one for both" in report.notes
    assert weights(made)["table_q8"] == (256, 2, 32)
    assert not {"table", "table_q4"} & weights(made).keys()
    own, _ = apply("int4-weights", source, tmp_path / "own", tied="own")
    assert {"table_q8", "table_q4"} <= weights(own).keys()
    assert own.path.stat().st_size > made.path.stat().st_size
    assert cosine(answer(source), answer(made)) > cosine(answer(source), answer(own)) > 0.8


def test_a_head_that_fold_made_a_weight_of_its_own_is_one_with_its_table_again(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    folded, _ = apply("fold", source, tmp_path / "folded")
    at_once, _ = apply("int4-weights", source, tmp_path / "a")
    after, report = apply("int4-weights", folded, tmp_path / "b")
    assert report.weights_before == 13
    np.testing.assert_array_equal(answer(at_once), answer(after))
    assert after.path.stat().st_size <= at_once.path.stat().st_size


def test_a_float_head_keeps_the_table_that_it_is_and_no_second_one(tmp_path: Path) -> None:
    made, report = apply("int4-weights", tiny.decoder(tmp_path / "source"), tmp_path / "out", head="fp32")
    assert [name for name in weights(made) if name.startswith("table")] == ["table"]
    assert "the table of embeddings is the head too, and stays float with it" in report.notes


@pytest.mark.parametrize("kind", ["int8-weights", "int4-weights"])
def test_a_float_table_stands_beside_a_head_made_of_it(kind: str, tmp_path: Path) -> None:
    made, report = apply(kind, tiny.decoder(tmp_path / "source"), tmp_path / "out", embedding="fp32")
    assert {"table", "table_q8"} <= weights(made).keys()
    assert (report.weights_changed, report.weights_before) == (12, 13)
    assert "the table of embeddings is the head too: a float one, and one for the head" in report.notes


@pytest.mark.parametrize("kind", ["int8-dynamic", "int8-weights", "int4-weights", "fp16"])
def test_the_rows_of_a_quantised_table_are_still_known(kind: str, tmp_path: Path) -> None:
    made, _ = apply(kind, tiny.encoder(tmp_path / "source"), tmp_path / "out")
    assert check_model(made, Limits()).table_rows == 96


def test_a_head_that_is_not_the_table_has_bits_of_its_own(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source", tied=False)
    made, _ = apply("int4-weights", source, tmp_path / "out")
    assert weights(made)["head_q8"] == (256, 2, 32) and weights(made)["table_q4"] == (256, 2, 16)


def test_chosen_weights_get_8_bits_among_4(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    made, report = apply("int4-weights", source, tmp_path / "out", int8=[{"shape": [128, 64]}])
    assert {"down_0_q8", "down_1_q8", "up_0_q4"} <= weights(made).keys()
    assert "10 uses at 4 bits, 4 uses at 8 bits" in report.notes
    plain, _ = apply("int4-weights", source, tmp_path / "plain")
    assert cosine(answer(source), answer(made)) > cosine(answer(source), answer(plain))


def test_the_last_weight_before_the_output_is_found_by_walking_back(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source", tied=False)
    made, _ = apply("int8-dynamic", source, tmp_path / "out", keep=[{"last": 1}])
    assert weights(made)["head"] == (64, 256)


def test_a_float16_model_takes_and_gives_what_it_did(tmp_path: Path) -> None:
    made, _ = apply("fp16", tiny.encoder(tmp_path / "source"), tmp_path / "out")
    assert answer(made).dtype == np.float32


def test_ox_02_weights_over_the_inline_limit_lie_beside_the_graph_through_every_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "INLINE_LIMIT", 10_000)
    source = tiny.encoder(tmp_path / "source", data="weights_7f.bin")
    tiny.tokenizer(source.folder)
    model = apply("fold", source, tmp_path / "fold")[0]
    for kind in ("fp16", "int8-dynamic", "int8-static", "int8-weights", "int4-weights"):
        tiny.tokenizer(model.folder)
        settings = {"calibration": calibration(tmp_path)} if kind == "int8-static" else {}
        made, report = apply(kind, model, tmp_path / kind, **settings)
        files = sorted(path.name for path in made.folder.iterdir())
        assert files == ["model.onnx", "model.onnx.data"]
        assert report.bytes_after == sum(path.stat().st_size for path in made.folder.iterdir())
        moved = shutil.copytree(made.folder, tmp_path / "elsewhere" / kind)
        assert cosine(answer(source), answer(Model(moved / "model.onnx"))) > 0.9


def test_a_calibration_set_is_refused_with_its_line(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    tiny.tokenizer(source.folder)
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "word3"}\n{"txt": "word4"}\n', "utf-8")
    with pytest.raises(UserError, match=r"int8-static: .*rows\.jsonl:2: a row has no text"):
        apply("int8-static", source, tmp_path / "out", calibration=str(rows))
    with pytest.raises(UserError, match="there is no such calibration set"):
        apply("int8-static", source, tmp_path / "out", calibration=str(tmp_path / "none.jsonl"))
    rows.write_text("", "utf-8")
    with pytest.raises(UserError, match="is empty"):
        apply("int8-static", source, tmp_path / "out", calibration=str(rows))


def test_the_tokenizer_is_asked_for_where_rows_are_text(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    with pytest.raises(UserError, match=r"tokenizer\.json: there is no such file"):
        apply("int8-static", source, tmp_path / "out", calibration=calibration(tmp_path))


def test_fold_computes_constants_once_and_drops_what_nobody_reads(tmp_path: Path) -> None:
    g = tiny.Graph()
    turned = g.op("Transpose", g.weight("w", 8, 64), perm=[1, 0])
    scaled = g.op("Mul", turned, g.op("Sqrt", g.constant("four", np.float32(4))))
    g.op("MatMul", g.op("Identity", "features"), scaled, out="scores")
    g.op("Neg", "features", out="unread")
    proto = g.model([("features", 1, ["batch", 64])], [("scores", 1, ["batch", 8])])
    source = tiny.save(tmp_path / "source", proto)
    made, report = apply("fold", source, tmp_path / "out")
    assert ops(made) == ["MatMul"]
    assert list(weights(made).values()) == [(64, 8)]
    assert report.notes == ("6 -> 1 nodes", "1 values computed")


def test_fold_leaves_a_constant_that_would_make_the_file_larger(tmp_path: Path) -> None:
    g = tiny.Graph()
    wide = g.op("Expand", g.constant("one", np.ones((1, 64), np.float32)), g.constant("to", np.array([1000, 64])))
    g.op("MatMul", "features", g.op("Transpose", wide, perm=[1, 0]), out="scores")
    proto = g.model([("features", 1, ["batch", 64])], [("scores", 1, ["batch", 1000])])
    made, report = apply("fold", tiny.save(tmp_path / "source", proto), tmp_path / "out")
    assert ops(made) == ["Expand", "Transpose", "MatMul"]
    assert report.bytes_after < 2000


def test_fold_makes_a_tied_head_its_own_weight_or_leaves_it_shared(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    own, report = apply("fold", source, tmp_path / "own")
    assert "65536 bytes more: a weight that others use too became one of its own" in report.notes
    assert (256, 64) in weights(own).values() and (64, 256) in weights(own).values()
    shared, _ = apply("fold", source, tmp_path / "shared", tied="shared")
    assert (64, 256) not in weights(shared).values()
    for made in (own, shared):
        np.testing.assert_array_equal(answer(source), answer(made))
