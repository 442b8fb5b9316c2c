"""Who is measured in the model path's comparison, and how a model that can't be made is told."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from bench.pipeline import install, make
from sluiceway.errors import SluicewayError
from sluiceway.pipeline.torch_export import environment
from sluiceway.progress import Progress

SAYS_WHY = (sys.executable, "-c", "import sys; print('much before'); sys.exit('no such precision')")


def contender(by: str, folder: Path) -> make.Contender:
    return make.Contender(by, "int8", folder, SAYS_WHY, 1)


def quiet() -> Progress:
    return Progress(io.StringIO())


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text("utf-8"), re.M))


def test_a_rival_without_a_model_is_told_with_its_last_words_and_leaves_nothing(tmp_path: Path) -> None:
    made = make.make(contender("builder", tmp_path / "it"), quiet())
    assert made.failed == "no such precision"
    assert not (tmp_path / "it").exists()


def test_one_of_ours_without_a_model_ends_the_measurement(tmp_path: Path) -> None:
    with pytest.raises(SluicewayError, match="int8 can't be made: no such precision"):
        make.make(contender("ours", tmp_path / "it"), quiet())


def test_a_process_is_told_with_its_own_time_and_memory(tmp_path: Path) -> None:
    burns = "x = b'x' * 80_000_000\nn = sum(range(3_000_000))"
    made = make.spawn((sys.executable, "-c", burns), tmp_path / "log")
    assert made.failed == ""
    assert made.seconds > 0
    assert made.peak_mb > 80


def test_no_process_may_ask_a_hub(tmp_path: Path) -> None:
    make.spawn((sys.executable, "-c", "import os; print(os.environ['HF_HUB_OFFLINE'])"), tmp_path / "log")
    assert (tmp_path / "log").read_text("utf-8") == "1\n"


def test_all_sides_read_the_same_checkpoint(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    found = make.decoders(checkpoint, tmp_path, Path("python"), Path("python"))
    assert [each.name for each in found if each.by == "builder"] == ["fp32", "int8", "int4", "k_quant_mixed"]
    assert [each.name for each in found if each.by == "optimum"] == ["fp32"]
    reads = [each for each in found if str(checkpoint) in each.command]
    assert [each for each in found if each.by != "ours" or each.name == "fp32"] == reads
    assert len({each.folder for each in found}) == len(found)


def test_without_rivals_only_ours_are_made(tmp_path: Path) -> None:
    assert {each.by for each in make.decoders(tmp_path, tmp_path, None, None)} == {"ours"}


def test_what_a_rival_installs_is_locked_and_does_not_bring_a_second_torch() -> None:
    shared = pins(environment.LOCK)
    for rival, own in (("builder", "onnxruntime-genai"), ("optimum", "optimum-onnx")):
        found = pins(install.LOCKS / f"{rival}.lock")
        assert own in found and "torch" not in found
        assert not any(name.startswith("nvidia") for name in found)
    assert shared["torch"] and "transformers" not in pins(install.LOCKS / "builder.lock")
