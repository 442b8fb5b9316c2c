"""The order of stages, what is kept, what a kill leaves, and what a limit that isn't kept does."""

from __future__ import annotations

import io
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.runner import view
from sluiceway.pipeline.runner.plan import plan
from sluiceway.pipeline.runner.spawn import Job
from sluiceway.pipeline.torch_export import environment
from tests.unit.pipeline.runner.tiny_recipe import Stages, builder, checkout, validation

ALL = ["source", "export", "fold", "int8-dynamic", "validate", "package"]


def test_a_build_makes_its_stages_in_order_and_the_next_one_keeps_them(tmp_path: Path) -> None:
    recipe, stages = checkout(tmp_path), Stages()
    first = builder(tmp_path, stages).build(recipe)
    assert stages.asked == ALL
    again = builder(tmp_path, stages).build(recipe)
    assert stages.asked == ALL and all(made.kept for made in again.made)
    assert first.package == again.package and first.package is not None
    assert (first.package / "model.onnx").read_bytes() == b"package"


def test_stage_json_says_what_a_stage_is(tmp_path: Path) -> None:
    built = builder(tmp_path, Stages()).build(checkout(tmp_path))
    made = built.made[3]
    document = json.loads((tmp_path / "work" / made.stage.digest / "stage.json").read_text())
    assert document["stage"] == "int8-dynamic" and document["digest"] == made.stage.digest
    assert document["inputs"] == [built.made[2].stage.digest]
    assert document["files"]["model.onnx"]["bytes"] == len("int8-dynamic")
    assert (document["seconds"], document["peak_mb"]) == (1.0, 42.0)


def test_two_directories_and_two_processes_give_equal_digests_and_files(tmp_path: Path) -> None:
    one = builder(tmp_path, Stages(), tmp_path / "one").build(checkout(tmp_path))
    two = builder(tmp_path, Stages(), tmp_path / "two").build(checkout(tmp_path))
    assert [made.stage.digest for made in one.made] == [made.stage.digest for made in two.made]
    assert [made.record.files for made in one.made] == [made.record.files for made in two.made]


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"passes": [{"kind": "fold"}, {"kind": "int8-dynamic", "per_channel": False, "ops": ["MatMul"]}]}, ALL[3:]),
        ({"export": {"kind": "given", "opset": 18}}, ALL[1:]),
        ({"validate": {"data": "tiny.jsonl", "min_cosine": 0.9}}, ALL[4:]),
        ({"package": {"sbom": False}}, ALL[5:]),
        ({"variants": {"other": [{"kind": "fold"}]}}, []),
    ],
)
def test_a_change_makes_anew_what_depends_on_it_and_nothing_else(
    tmp_path: Path, change: dict[str, object], anew: list[str]
) -> None:
    stages = Stages()
    builder(tmp_path, stages).build(checkout(tmp_path))
    stages.asked.clear()
    builder(tmp_path, stages).build(checkout(tmp_path, **change))
    assert stages.asked == anew


def test_other_weights_under_the_same_name_are_another_source(tmp_path: Path) -> None:
    recipe, stages = checkout(tmp_path), Stages()
    builder(tmp_path, stages).build(recipe)
    (tmp_path / "models/recipes/tiny/model.onnx").write_bytes(b"other")
    builder(tmp_path, stages).build(recipe)
    assert stages.asked == [*ALL, *ALL]


def test_a_newer_version_of_a_pass_makes_it_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = checkout(tmp_path)
    before = plan(recipe, tmp_path)
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "99")
    after = plan(recipe, tmp_path)
    assert before.source.digest == after.source.digest and before.passes[0].digest != after.passes[0].digest


def test_a_failed_stage_leaves_nothing_and_the_next_build_goes_on_there(tmp_path: Path) -> None:
    def fail(_job: Job) -> None:
        raise UserError("can't be", hint="do this")

    recipe, stages = checkout(tmp_path), Stages(hooks={"int8-dynamic": fail})
    with pytest.raises(UserError, match="can't be"):
        builder(tmp_path, stages).build(recipe)
    assert len(folders(tmp_path)) == 3 and not list((tmp_path / "work").glob(".making*"))
    stages.hooks.clear()
    stages.asked.clear()
    builder(tmp_path, stages).build(recipe)
    assert stages.asked == ALL[3:]


def test_what_a_kill_left_is_cleared_away_and_never_taken_for_a_stage(tmp_path: Path) -> None:
    recipe, stages = checkout(tmp_path), Stages()
    left = tmp_path / "work" / ".making-0123-99999"
    half = tmp_path / "work" / plan(recipe, tmp_path).export.digest / "out"
    for folder in (left, half):
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(b"half")
    built = builder(tmp_path, stages).build(recipe)
    assert stages.asked == ALL and not left.exists()
    assert (half / "model.onnx").read_bytes() == b"export" and built.package is not None


@pytest.mark.parametrize("change", ["flip", "lose", "add"])
def test_a_stage_whose_files_were_touched_is_made_anew(tmp_path: Path, change: str) -> None:
    recipe, stages = checkout(tmp_path), Stages()
    built = builder(tmp_path, stages).build(recipe)
    out = tmp_path / "work" / built.made[2].stage.digest / "out"
    if change == "flip":
        (out / "model.onnx").write_bytes(b"folD")
    elif change == "lose":
        (out / "model.onnx").unlink()
    else:
        (out / "more.json").write_text("{}")
    stages.asked.clear()
    builder(tmp_path, stages).build(recipe)
    assert stages.asked == ["fold"]
    assert [path.name for path in out.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize(("by_recipe", "anew"), [(False, []), (True, ["package"])])
def test_a_package_that_was_signed_by_hand_is_kept_where_its_recipe_says_nothing(
    tmp_path: Path, by_recipe: bool, anew: list[str]
) -> None:
    def pack(job: Job) -> None:
        if by_recipe:
            Path(job.arguments["out"], "model.sig").write_text("by the recipe's key")

    recipe, stages = checkout(tmp_path), Stages(hooks={"package": pack})
    folder = builder(tmp_path, stages).build(recipe).package
    assert folder is not None
    (folder / "model.sig").write_text("by hand")
    stages.asked.clear()
    builder(tmp_path, stages).build(recipe)
    assert stages.asked == anew
    assert (folder / "model.sig").read_text() == ("by the recipe's key" if by_recipe else "by hand")


def test_a_signature_in_another_stage_is_a_file_too_many(tmp_path: Path) -> None:
    recipe, stages = checkout(tmp_path), Stages()
    built = builder(tmp_path, stages).build(recipe)
    (tmp_path / "work" / built.made[2].stage.digest / "out" / "model.sig").touch()
    stages.asked.clear()
    builder(tmp_path, stages).build(recipe)
    assert stages.asked == ["fold"]


def test_fresh_makes_all_anew_and_still_knows_how_long_it_takes(tmp_path: Path) -> None:
    recipe, stages, told = checkout(tmp_path), Stages(), io.StringIO()
    builder(tmp_path, stages).build(recipe)
    builder(tmp_path, stages, told=told).build(recipe, fresh=True)
    assert stages.asked == [*ALL, *ALL]
    assert "tiny: 6 stages, 0 of them there; the others took about 6.0 s the last time" in told.getvalue()


def test_a_missed_limit_stops_before_the_package_with_exit_3_and_numbers(tmp_path: Path) -> None:
    reason = "minimum cosine 0.91, at least 0.98 is asked for"
    stages = Stages(reports={"validate": validation(verdict="fail", reasons=[reason])})
    for _ in range(2):  # the second time from what is kept
        built = builder(tmp_path, stages).build(checkout(tmp_path))
        failure = view.failure(built)
        assert failure is not None and failure.exit_code == 3 and failure.message == reason
        assert built.package is None
    assert stages.asked == ALL[:5]


def test_two_builds_of_one_recipe_wait_for_each_other_and_say_so(tmp_path: Path) -> None:
    recipe, stages, told = checkout(tmp_path), Stages(), io.StringIO()
    (tmp_path / "work").mkdir()
    other = FileLock(tmp_path / "work" / "lock")
    other.acquire()
    second = threading.Thread(target=builder(tmp_path, stages, told=told).build, args=(recipe,))
    second.start()
    second.join(0.3)
    assert second.is_alive() and stages.asked == []
    other.release()
    second.join(30)
    assert stages.asked == ALL and "waiting for another build of tiny: done" in told.getvalue()


def test_stages_nobody_uses_go_after_two_weeks(tmp_path: Path) -> None:
    recipe, stages = checkout(tmp_path), Stages()
    days = {"fresh": 1e9 - 13 * 86_400, "stale": 1e9 - 15 * 86_400}
    for name, at in days.items():
        folder = tmp_path / "work" / name.ljust(64, "0")
        folder.mkdir(parents=True)
        os.utime(folder, (at, at))
    builder(tmp_path, stages).build(recipe)
    left = {path.name.rstrip("0") for path in folders(tmp_path)}
    assert "fresh" in left and "stale" not in left and len(left) == 7


def test_a_place_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("")
    with pytest.raises(SluicewayError, match="isn't a folder"):
        builder(tmp_path, Stages()).build(checkout(tmp_path))


def test_the_table_says_what_each_stage_took_and_changed(tmp_path: Path) -> None:
    recipe = checkout(tmp_path)
    builder(tmp_path, Stages()).build(recipe)
    lines = view.lines(builder(tmp_path, Stages()).build(recipe))
    assert lines[0].split() == ["stage", "seconds", "peak", "MB", "size", "MB", "what", "changed"]
    assert "kept" in lines[4] and lines[4].endswith("2 of 2 weights; 25% of the size before")
    assert [line.split()[0] for line in lines[1:]] == ALL


def folders(root: Path) -> list[Path]:
    return [path for path in (root / "work").iterdir() if path.is_dir()]


def glm(job: Job) -> None:
    (Path(job.arguments["out"]) / "config.json").write_text('{"model_type": "glm4"}')


def test_torch_is_installed_only_for_an_export_that_needs_it(tmp_path: Path) -> None:
    """And before the stage's process starts, where its progress is seen."""
    asked: list[str] = []
    seen: list[object] = []

    def torch(_progress: object) -> Path:
        asked.append("torch")
        return tmp_path / "python"

    stages = Stages(hooks={"source": glm, "export": lambda job: seen.append(job.arguments.get("torch"))})
    found = checkout(tmp_path, export={"kind": "encoder"})
    replace(builder(tmp_path, stages), torch=torch).build(found)
    assert (asked, seen) == (["torch"], [str(tmp_path / "python")])
    replace(builder(tmp_path, stages), torch=torch).build(found)
    assert asked == ["torch"], "what is there needs none"
    given = checkout(tmp_path, export={"kind": "given"})
    replace(builder(tmp_path, stages), torch=torch).build(given)
    assert (asked, seen[-1]) == (["torch"], None)


def test_a_build_that_signs_asks_for_its_key_first_and_for_the_library_last(tmp_path: Path) -> None:
    asked: list[str] = []

    def signer(_progress: object) -> Path:
        asked.append("signer")
        return tmp_path / "python"

    stages = Stages(hooks={"package": lambda job: asked.extend([job.arguments["signer"], str(job.signs)])})
    found = checkout(tmp_path, package={"signature": True})
    with pytest.raises(UserError, match="names no key"):
        replace(builder(tmp_path, stages), signer=signer, env={}).build(found)
    assert stages.asked == []
    (tmp_path / "key.pem").touch()
    env = {"SLUICEWAY_SIGNING_KEY": str(tmp_path / "key.pem")}
    replace(builder(tmp_path, stages), signer=signer, env=env).build(found)
    assert (stages.asked, asked) == (ALL, ["signer", str(tmp_path / "python"), "True"])


def test_the_peak_of_torchs_own_process_is_the_stages(tmp_path: Path) -> None:
    export = {"opset": 21, "ir": 10, "torch": {"peak_mb": 835.0, "versions": {"torch": "2.15.0"}}}
    stages = Stages(reports={"export": export})
    made = builder(tmp_path, stages).build(checkout(tmp_path)).made
    assert [each.record.peak_mb for each in made if each.stage.kind == "export"] == [835.0]


def test_another_lock_of_torch_makes_anew_what_torch_may_have_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exports() -> list[str]:
        changed = [{"kind": "encoder"}, {"kind": "encoder", "tool": "graphs"}, {"kind": "given"}]
        return [plan(checkout(tmp_path, export=export), tmp_path).export.digest for export in changed]

    before = exports()
    lock = tmp_path / "requirements.lock"
    lock.write_text("torch==9\n")
    monkeypatch.setattr(environment, "LOCK", lock)
    assert [one == two for one, two in zip(before, exports(), strict=True)] == [False, True, True]
