"""The commands on published versions, against a strict S3 server and a stage that answers, or doesn't."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from sluiceway import catalog
from sluiceway.cli import models_gc, models_list, models_publish, models_pull, models_show
from sluiceway.cli.main import app
from sluiceway.cli.models_stage import Live, transfer
from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.package import verify
from sluiceway.pipeline.publish.shelf import Bucket, record_key
from sluiceway.planning.names import artifact_key
from sluiceway.rollouts.views import Arm, GateView, JournalEntry
from sluiceway.workspace import Workspace
from tests.unit.cloudflare.conftest import client, s3, server, shared_client
from tests.unit.cloudflare.fake_s3 import BUCKET, FakeS3
from tests.unit.pipeline.publish.conftest import built

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

__all__ = ["built", "client", "s3", "server", "shared_client"]


@dataclass
class World:
    """A checkout with a local stage whose bucket is the server's; ``live`` is what its controller says."""

    root: Path
    s3: FakeS3
    live: Live
    journal: list[JournalEntry] = field(default_factory=list)
    reachable: bool = True

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["models", *words])

    def json(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        result = self.run(*words, "--json")
        assert result.exception is None, result.exception
        return json.loads(result.stdout)

    def refused(self, *words: str) -> SluicewayError:
        error = self.run(*words).exception
        assert isinstance(error, SluicewayError), error
        return error

    @property
    def yaml(self) -> Path:
        return self.root / "models" / "tiny.yaml"


@pytest.fixture
def world(tmp_path: Path, client: S3Client, s3: FakeS3, monkeypatch: pytest.MonkeyPatch) -> World:
    root = tmp_path / "checkout"
    (root / "stacks").mkdir(parents=True)
    (root / "models").mkdir()
    (root / "Pulumi.yaml").touch()
    (root / "stacks" / "Pulumi.local.yaml").write_text("config: {}\n")
    (root / "models" / "chat.yaml").write_text(
        "task: chat\ndefault: true\nversions:\n  - version: chat@1\n    backend: workers-ai\n"
        '    id: "@cf/zai-org/glm-4.7-flash"\n'
    )
    monkeypatch.setenv("SLUICEWAY_ROOT", str(root))
    made = World(root, s3, Live({"chat": {1: 100}}))

    def open_bucket(_workspace: Workspace, stage: str) -> Bucket:
        if not made.reachable:
            raise UserError("the local stage is not running", path="x", hint="start it")
        return Bucket(stage, BUCKET, client, artifact_key)

    for module in (models_publish, models_pull, models_list, models_show, models_gc):
        if hasattr(module, "open_bucket"):
            monkeypatch.setattr(module, "open_bucket", open_bucket)
        if hasattr(module, "ask"):
            monkeypatch.setattr(module, "ask", lambda _workspace, _stage: made.live)
    monkeypatch.setattr(models_show, "journal", lambda _w, _s, _m: made.journal)
    monkeypatch.setattr("sluiceway.cli.models_history.journal", lambda _w, _s, _m: made.journal)
    return made


def test_publish_prints_the_block_and_writes_nothing_into_the_checkout(world: World, built: Path) -> None:
    result = world.run("publish", str(built))
    assert result.exception is None
    assert result.stdout.startswith("  - version: tiny@1\n    backend: onnx\n    files:\n      - name: model.json\n")
    assert "published tiny@1 to local: 4 files" in result.stderr
    assert record_key(ModelRef("tiny", 1)) in world.s3.objects
    assert not world.yaml.exists()


def test_publish_with_write_makes_a_version_that_the_catalogue_takes_and_the_lock_keeps(
    world: World, built: Path
) -> None:
    catalog.lock.append(world.root / "models", catalog.load(Workspace(world.root)).models)
    shown = world.json("publish", str(built), "--write")
    assert (shown["version"], shown["already"], shown["written"]) == ("tiny@1", False, True)
    found = catalog.load_for(Workspace(world.root), "production").models
    version = next(model for model in found if model.name == "tiny").versions[0]
    assert {artifact_key("tiny", 1, file.sha256, file.name) for file in version.files} == {
        file["key"] for file in shown["files"]
    }
    before = {path: path.read_bytes() for path in (world.root / "models").rglob("*") if path.is_file()}
    assert world.json("publish", str(built), "--write")["already"] is True
    assert {path: path.read_bytes() for path in (world.root / "models").rglob("*") if path.is_file()} == before
    again = world.run("publish", str(built))
    assert again.stdout == ""
    assert "nothing was sent\nmodels/tiny.yaml has tiny@1" in again.stderr


def test_a_version_that_is_not_locked_keeps_another_from_being_locked_by_the_way(world: World, built: Path) -> None:
    error = world.refused("publish", str(built), "--write")
    assert str(error).startswith("models/versions.lock: tiny@1 is published and written, but not locked: chat@1")
    assert not (world.root / "models" / "versions.lock").exists()


def test_a_fault_in_the_models_file_is_told_before_anything_is_sent(world: World, built: Path) -> None:
    world.yaml.write_text("task: chat\nversions:\n  - version: tiny@1\n    backend: workers-ai\n    id: x\n")
    assert "the model's task is chat" in str(world.refused("publish", str(built), "--write"))
    world.yaml.unlink()
    (world.root / "models" / "artifacts" / "tiny" / "1").mkdir(parents=True)
    assert "other files lie there already" in str(world.refused("publish", str(built), "--write"))
    assert world.s3.objects == {}


def test_a_broken_package_publishes_nothing(world: World, built: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(built, tmp_path / "broken")
    (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes()[:-1] + b" ")
    assert "isn't the file of sha256" in str(world.refused("publish", str(folder)))
    assert "model.json" in str(world.refused("publish", str(tmp_path)))
    assert "no stage 'nowhere'" in str(world.refused("list", "nowhere"))
    assert world.s3.objects == {}


def test_pull_brings_back_what_was_published(world: World, built: Path, tmp_path: Path) -> None:
    world.run("publish", str(built), "--version", "7")
    out = tmp_path / "pulled"
    assert world.json("pull", "tiny@7", str(out))["fetched"] is True
    assert verify(out) == verify(built)
    assert "had tiny@7 already" in world.run("pull", "tiny@7", str(out)).stderr
    assert "no such version" in str(world.refused("pull", "tiny@8", str(tmp_path / "x")))
    assert world.refused("pull", "tiny", str(tmp_path / "x")).exit_code == 2
    assert "its backend is workers-ai, which has no files" in str(world.refused("pull", "chat@1", str(tmp_path / "x")))
    assert "no such version" in str(world.refused("pull", "chat@2", str(tmp_path / "x")))


def test_list_joins_the_catalogue_the_bucket_and_the_stage(world: World, built: Path) -> None:
    world.run("publish", str(built))
    rows = {row["version"]: row for row in world.json("list")["versions"]}
    assert (rows["chat@1"]["published"], rows["chat@1"]["weight"], rows["chat@1"]["stated"]) == (None, 100, True)
    assert (rows["tiny@1"]["published"], rows["tiny@1"]["weight"], rows["tiny@1"]["stated"]) == ("yes", 0, False)
    assert "not in models/tiny.yaml" in world.run("list").stdout


def test_what_can_not_be_asked_is_unknown_and_says_why(world: World, built: Path) -> None:
    world.run("publish", str(built), "--write")
    world.reachable, world.live = False, Live(None, silent="the gateway did not answer")
    shown = world.json("list", "--model", "tiny")
    assert [(row["published"], row["weight"]) for row in shown["versions"]] == [("unknown", None)]
    assert len(shown["unknown"]) == 2
    assert "unknown: what local serves: the gateway did not answer" in world.run("list").stderr


def gate(verdict: Any) -> GateView:  # noqa: ANN401 - a literal
    return GateView("errors", "difference", 0.01, None, verdict, None, Arm(1, 0), Arm(1, 0), None, 0.0, 0.0)


def entry(number: int, sentence: str, *gates: GateView) -> JournalEntry:
    return JournalEntry(
        number, number * 1000, "tiny", "step", sentence, "stepping", ((1, 90), (2, 10)), "r", "c", gates
    )


def test_show_goes_from_the_recipe_to_the_last_verdict(world: World, built: Path) -> None:
    world.run("publish", str(built), "--version", "2")
    world.live = Live({"tiny": {1: 90, 2: 10}})
    world.journal = [entry(1, "began"), entry(2, "judged", gate("pass")), entry(3, "waits")]
    shown = world.json("show", "tiny@2")
    assert shown["package"]["lineage"]["recipe"] == "tiny"
    assert shown["package"]["metrics"] == {"held": True, "min_cosine": 0.99}
    assert shown["stages"]["local"]["published"] == "yes"
    assert shown["stages"]["local"]["weight"] == 10
    last = shown["stages"]["local"]["last"]
    assert (last["sentence"], last["verdicts"]) == ("judged", {"errors": "pass"})
    text = world.run("show", "tiny@2").stdout
    assert "metric     min_cosine 0.99" in text
    assert "local      published: yes; serves: 10 % of the traffic" in text
    assert "judged (errors pass)" in text
    assert "no such version" in str(world.refused("show", "tiny@3"))


def test_history_tells_publishing_and_rollouts_in_order(world: World, built: Path) -> None:
    world.run("publish", str(built))
    world.journal = [entry(1, "began"), entry(2, "judged", gate("fail"))]
    shown = world.json("history", "tiny")
    assert [event["what"] for event in shown["events"]] == ["began", "judged", "tiny@1 was published"]
    assert "judged  (errors fail)" in world.run("history", "tiny").stdout
    assert "no version of this model" in str(world.refused("history", "other"))


@pytest.fixture
def four(world: World, built: Path) -> World:
    """tiny@1 to @4 in the bucket: @1 serves, @2 stands in a stack file, @4 is the newest."""
    for number in "1234":
        world.run("publish", str(built), "--version", number)
    world.live = Live({"tiny": {1: 100}}, frozenset())
    (world.root / "stacks" / "Pulumi.staging.yaml").write_text("config: {}  # tiny@2 comes back here\n")
    return world


def left(world: World) -> set[str]:
    return {key.split("/")[2] for key in world.s3.objects}


def test_gc_takes_what_nothing_names_and_says_why_the_rest_stays(four: World) -> None:
    shown = four.json("gc", "--keep", "1", "--yes")
    assert {row["version"]: row["because"] for row in shown["versions"]} == {
        "tiny@1": "what local serves",
        "tiny@2": "stacks/*.yaml",
        "tiny@3": None,
        "tiny@4": "the newest",
    }
    assert left(four) == {"1", "2", "4"}


def test_gc_deletes_nothing_unless_somebody_says_so(four: World) -> None:
    result = four.run("gc", "--keep", "1")
    assert "goes" in result.stdout
    assert "nothing was deleted: this was a dry run" in result.stderr
    assert four.json("gc", "--keep", "1", "--dry-run", "--yes")["deleted"] is False
    assert left(four) == {"1", "2", "3", "4"}


def test_gc_refuses_when_the_stage_can_not_say_what_it_serves(four: World) -> None:
    four.live = Live(None, silent="the gateway did not answer")
    error = four.refused("gc", "--keep", "1", "--yes")
    assert str(error) == "local: the stage can't say what it serves: the gateway did not answer"
    assert left(four) == {"1", "2", "3", "4"}
    four.json("gc", "--keep", "1", "--yes", "--force")
    assert left(four) == {"2", "4"}


def test_gc_keeps_a_candidate_that_has_no_traffic_yet_and_what_models_state(four: World, built: Path) -> None:
    four.live = Live({"tiny": {1: 100}}, frozenset({ModelRef("tiny", 3)}))
    assert not any(row["goes"] for row in four.json("gc", "--keep", "1", "--yes")["versions"])
    four.live = Live({})
    four.run("publish", str(built), "--version", "1", "--write")
    four.json("gc", "--keep", "1", "--yes")
    assert left(four) == {"1", "2", "4"}


def test_verify_tells_a_sound_package_and_an_old_runtime(world: World, built: Path) -> None:
    assert world.json("verify", str(built))["sound"] is True
    assert world.run("verify", str(built)).stdout.startswith("sound: tiny, fp32, 4 files, ")
    assert "1.2.0 is older than 1.30.0" in str(world.refused("verify", str(built), "--runtime", "onnxruntime=1.2.0"))
    unknown = world.refused("verify", str(built), "--runtime", "onnxruntime=1.32.0", "--runtime", "onxruntime=1.32.0")
    assert "the package names no such runtime, got 'onxruntime'" in str(unknown)
    assert "onnxruntime=1.30.0" in (unknown.hint or "")
    assert "a name and a version" in str(world.refused("verify", str(built), "--runtime", "onnxruntime"))


def test_a_transfer_tells_bytes_speed_and_time_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    with transfer("moving", 4_000_000) as tell:
        tell(1_000_000)
    said = capsys.readouterr().err
    assert "moving: done in" in said
    assert "1.0 MB of 4.0 MB, " in said
    assert " MB/s, about " in said
    with transfer("moving", 10) as tell:
        for _ in range(3):
            tell(8)
    assert "0.0 MB of 0.0 MB" in capsys.readouterr().err
