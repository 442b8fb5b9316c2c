"""What quantisers pass over without a word, each as it happens with the library, and what we say of it."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.passes import quiet, run, store, weights
from sluiceway.pipeline.types import Model
from tests.unit.pipeline import tiny
from tests.unit.pipeline.passes.apply import apply


def by_the_library(source: Model, bits: int, ops: tuple[str, ...]) -> onnx.ModelProto:
    """What onnxruntime's MatMulNBits quantiser makes of a model, as one calls it without looking."""
    from onnxruntime.quantization import matmul_nbits_quantizer as library  # type: ignore[import-untyped]

    with quiet.library():
        config = library.DefaultWeightOnlyQuantConfig(
            block_size=32, is_symmetric=True, bits=bits, op_types_to_quantize=ops
        )
        quantiser = library.MatMulNBitsQuantizer(onnx.load(str(source.path)), algo_config=config)
        quantiser.process()
    made: onnx.ModelProto = quantiser.model.model
    return made


def held(source: Model, made: onnx.ModelProto, bits: int, out: Path) -> None:
    """``made`` as if one of our passes had written it, all weights asked for at ``bits``."""

    def work(folder: Path) -> run.Asked:
        tiny.save(folder, made)
        asked = run.names(weights.uses(store.load(source.path)))
        return run.Asked(asked, asked, int(sum(asked.values()) * (4 - bits / 8 - 4 / 32)))

    out.mkdir()
    run.execute("int4-weights", source, out, work)


def test_the_head_of_a_tied_decoder_that_stays_float_is_caught(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    with pytest.raises(SluicewayError, match="int4-weights: 12 weights of the 13 asked for were changed, got 'table'"):
        held(source, by_the_library(source, 4, ("MatMul",)), 4, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("kind", ["int8-dynamic", "int8-static"])
def test_a_tied_head_is_refused_where_the_library_does_not_see_it(kind: str, tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source")
    settings = {"calibration": "rows.jsonl"} if kind == "int8-static" else {}
    with pytest.raises(UserError, match=f"{kind}: table: a weight of MatMul stands behind Transpose") as refused:
        apply(kind, source, tmp_path / "out", **settings)
    assert "fold" in (refused.value.hint or "")


def test_a_gather_that_8_bits_leave_float_is_caught(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    with pytest.raises(SluicewayError, match="4 weights of the 5 asked for were changed, got 'table'"):
        held(source, by_the_library(source, 8, ("MatMul", "Gather")), 8, tmp_path / "out")


def test_a_second_table_that_4_bits_add_is_caught(tmp_path: Path) -> None:
    source = tiny.decoder(tmp_path / "source", vocabulary=2000)
    with pytest.raises(SluicewayError, match="asked for were changed, got 'table'"):
        held(source, by_the_library(source, 4, ("MatMul", "Gather")), 4, tmp_path / "out")


def test_a_model_that_lost_less_than_was_asked_is_caught(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    made = by_the_library(source, 4, ("MatMul", "Gather"))
    for name in ("table", "up_0"):
        old = next(tensor for tensor in onnx.load(str(source.path)).graph.initializer if tensor.name == name)
        made.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(old), f"{name}_again"))
    with pytest.raises(SluicewayError, match="the model lost 47 % of its bytes, and 84 % were asked for"):
        held(source, made, 4, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("kind", ["int8-dynamic", "int8-weights", "int4-weights"])
def test_a_choice_that_means_no_weight_is_refused(kind: str, tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    with pytest.raises(UserError, match=rf"{kind}: keep\[1\]: no weight of the model is meant by this") as refused:
        apply(kind, source, tmp_path / "out", keep=[{"last": 1}, {"shape": [64, 100]}])
    assert refused.value.got == "shape [64, 100]"
    assert refused.value.hint == "shapes of its weights: 1 x [96, 64], 2 x [64, 128], 2 x [128, 64]"
    with pytest.raises(UserError, match=r"keep\[0\]: no weight"):
        apply(kind, source, tmp_path / "out", keep=[{"last": 9}])


def test_8_bits_for_weights_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"int4-weights: int8\[0\]: no weight"):
        apply("int4-weights", tiny.encoder(tmp_path / "source"), tmp_path / "out", int8=[{"shape": [9, 9]}])


def test_a_choice_that_keeps_everything_is_refused(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    keep = [{"shape": [96, 64]}, {"shape": [64, 128]}, {"shape": [128, 64]}]
    with pytest.raises(UserError, match="keep names every weight"):
        apply("int8-dynamic", source, tmp_path / "out", keep=keep)


def test_an_operator_that_has_no_weights_is_refused(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    with pytest.raises(UserError, match=r"ops\[1\]: no weight of the model is used by this operator, got 'Gemm'"):
        apply("int8-dynamic", source, tmp_path / "out", ops=["MatMul", "Gemm"])
    with pytest.raises(UserError, match="no weight of the model is used by these operators") as refused:
        apply("int8-weights", tiny.classifier(tmp_path / "linear"), tmp_path / "out")
    assert refused.value.hint == "weights are used by Gemm"


@pytest.mark.parametrize("kind", ["fp16", "int8-dynamic", "int8-weights", "int4-weights"])
def test_ox_11_a_model_is_quantised_once(kind: str, tmp_path: Path) -> None:
    once, _ = apply("int4-weights", tiny.encoder(tmp_path / "source"), tmp_path / "once")
    with pytest.raises(SluicewayError, match=r"no float weights|none of the 0 float weights"):
        apply(kind, once, tmp_path / "twice")
    assert not (tmp_path / "twice").exists() or list((tmp_path / "twice").iterdir()) == []


@pytest.mark.parametrize(
    ("block", "hidden", "said"),
    [
        (128, 64, "a block of 128 is longer than the 64 values"),
        (256, 64, "a block of 256 is longer than the 64 values"),
        (32, 100, "rows of 100 can't be cut into whole blocks of 32"),
    ],
)
def test_ox_06_a_block_that_does_not_fit_a_weight_is_a_readable_error(
    block: int, hidden: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        apply("int4-weights", tiny.encoder(tmp_path / "source", hidden=hidden), tmp_path / "out", block=block)
    assert said in str(refused.value) and refused.value.path == "int4-weights: block"


def test_ox_06_a_depth_that_no_block_divides_runs_with_the_table_kept(tmp_path: Path) -> None:
    _, report = apply("int4-weights", tiny.encoder(tmp_path / "source", hidden=100), tmp_path / "out", embedding="fp32")
    assert (report.weights_changed, report.weights_before) == (4, 5)


def test_only_the_table_of_the_token_ids_is_quantised_in_blocks(tmp_path: Path) -> None:
    g = tiny.Graph()
    words = g.op("Gather", g.weight("words", 96, 64), "input_ids")
    places = g.op("Gather", g.weight("places", 128, 64), "attention_mask")
    g.op("MatMul", g.op("Add", words, places), g.weight("up", 64, 64), out="states")
    source = tiny.save(tmp_path / "s", g.model(tiny.tokens(), [("states", 1, ["batch", "length", 64])]))
    _, report = apply("int8-weights", source, tmp_path / "out")
    assert (report.weights_changed, report.weights_before) == (2, 3)


def test_weights_of_three_axes_are_told_and_can_be_kept(tmp_path: Path) -> None:
    g = tiny.Graph()
    experts = g.op("MatMul", g.op("MatMul", "features", g.weight("up", 64, 64)), g.weight("experts", 4, 64, 64))
    g.op("ReduceMean", experts, axes=[0], keepdims=0, out="scores")
    proto = g.model([("features", 1, ["batch", 64])], [("scores", 1, ["batch", 64])])
    source = tiny.save(tmp_path / "source", proto)
    with pytest.raises(UserError, match=r"experts: a weight of more than two axes .* got \[4, 64, 64\]"):
        apply("int8-weights", source, tmp_path / "out")
    _, report = apply("int8-weights", source, tmp_path / "out", keep=[{"shape": [4, 64, 64]}])
    assert report.weights_changed == 1


def test_the_fixtures_are_what_the_library_does(tmp_path: Path) -> None:
    """If a new release of it sees the tied head, the fixtures above show nothing and this says so."""
    made = by_the_library(tiny.decoder(tmp_path / "source"), 4, ("MatMul",))
    assert "table" in {tensor.name for tensor in made.graph.initializer}
    assert ir.serde.deserialize_model(made).graph.initializers["table"].dtype == ir.DataType.FLOAT


def experts(folder: Path) -> Model:
    """A decoder's layer of four experts, of which each token's own is gathered and multiplied."""
    g = tiny.Graph()
    x = g.op("Gather", g.weight("table", 96, 64), "input_ids")
    chosen = g.op("ArgMax", g.op("MatMul", x, g.weight("gate", 64, 4)), axis=-1, keepdims=1)
    each = g.op("GatherND", g.weight("experts", 4, 64, 64), chosen)
    row = g.op("MatMul", g.op("Unsqueeze", x, g.constant("axis", [2])), each)
    g.op("MatMul", g.op("Squeeze", row, "axis"), g.weight("head", 64, 96), out="logits")
    outputs = [("logits", onnx.TensorProto.FLOAT, ["batch", "length", 96])]
    return tiny.save(folder, g.model(tiny.tokens(), outputs))


def test_experts_that_no_pass_takes_are_counted_and_told(tmp_path: Path) -> None:
    _, report = apply("int8-weights", experts(tmp_path / "source"), tmp_path / "out")
    assert report.notes[0].startswith("3 of 4 weights, ")
    assert any("57 % of the weights are in GatherND" in note for note in report.notes)
