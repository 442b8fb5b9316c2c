"""What validate, preview and the pull request's comment say of a rollout that a stack file declares."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluiceway.cli import context, stages
from sluiceway.cli.main import app
from sluiceway.cli.watch import Watch
from sluiceway.domain.stage import LOCAL_ACCOUNT
from sluiceway.engine.automation import Result
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace

ROOT = Path(__file__).parents[3]
SENTENCE = "chat: chat@1 -> chat@2 by canary 1, 10, 50, 100 %, at least 2 h"
NEEDS = "at 1 % errors needs at least 149 candidate requests at a margin of 0.02, of 14,900 in all"
STACK = """config:
  sluiceway:account_id: "0123456789abcdef0123456789abcdef"
  sluiceway:models:
    chat:
      rollout: {strategy: canary, stable: chat@1, candidate: chat@2%s}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with this one's models, and a stage ``dev`` that declares a canary."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_bytes((ROOT / "Pulumi.yaml").read_bytes())
    (tmp_path / "models").symlink_to(ROOT / "models")
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(STACK % "", encoding="utf-8")
    monkeypatch.setenv("SLUICEWAY_ROOT", str(tmp_path))
    return tmp_path


def test_validate_says_what_a_rollout_means_and_what_it_needs(checkout: Path) -> None:
    done = CliRunner().invoke(app, ["validate", "dev"])
    assert done.exit_code == 0
    assert f"chat @1 100 %, @2 0 %\n{'':<16}{SENTENCE}\n{'':<16}{NEEDS}\n" in done.stdout
    assert done.stderr == ""
    (only,) = json.loads(CliRunner().invoke(app, ["validate", "dev", "--json"]).stdout)
    assert only["rollouts"] == [{"model": "chat", "rollout": SENTENCE, "needs": NEEDS}]
    assert (only["ok"], only["warnings"]) == (True, [])


def test_validate_warns_beside_its_data_and_does_not_fail(checkout: Path) -> None:
    stack = STACK % ", gates: {errors: {margin: 0}}"
    (checkout / "stacks" / "Pulumi.dev.yaml").write_text(stack, encoding="utf-8")
    done = CliRunner().invoke(app, ["validate", "dev"])
    where = "stacks/Pulumi.dev.yaml: config.sluiceway:models.chat.rollout.gates.errors.margin"
    message = "errors can't pass at a margin of 0, however many requests there are"
    assert (done.exit_code, done.stderr.splitlines()[0]) == (0, f"warning: {where}: {message}")
    assert done.stderr.splitlines()[1].startswith("hint: ")
    assert "warning" not in done.stdout
    (only,) = json.loads(CliRunner().invoke(app, ["validate", "dev", "--json"]).stdout)
    assert [(warned["path"], warned["message"]) for warned in only["warnings"]] == [(where, message)]


def test_a_preview_tells_it_and_the_comment_reads_it_there(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked = context.check_stage(Workspace(checkout), "dev")
    result = Result("preview", {"same": 3}, {}, 1.0)
    stages._finish(checked, Watch("preview", "dev", quiet=True), result, as_json=False)
    assert SENTENCE in capsys.readouterr().out.splitlines()
    stages._finish(checked, Watch("preview", "dev", quiet=True), result, as_json=True)
    document = capsys.readouterr().out
    assert json.loads(document)["rollouts"] == [SENTENCE]
    (checkout / "preview.json").write_text(document, encoding="utf-8")
    done = CliRunner().invoke(app, ["gitops", "comment", "dev", "--preview", str(checkout / "preview.json")])
    assert f"- {SENTENCE}\n" in done.stdout


def test_a_candidate_without_a_line_in_the_lock_is_refused_but_on_stage_local(checkout: Path) -> None:
    (checkout / "models").unlink()
    shutil.copytree(ROOT / "models", checkout / "models", ignore=shutil.ignore_patterns("__pycache__"))
    with (checkout / "models" / "chat.yaml").open("a", encoding="utf-8") as file:
        file.write('  - {version: chat@3, backend: workers-ai, id: "@cf/zai-org/glm-4.7-flash"}\n')
    stack = (STACK % "").replace("chat@2", "chat@3")
    (checkout / "stacks" / "Pulumi.dev.yaml").write_text(stack, encoding="utf-8")
    local = stack.replace("0123456789abcdef0123456789abcdef", LOCAL_ACCOUNT)
    (checkout / "stacks" / "Pulumi.local.yaml").write_text(local, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        context.check_stage(Workspace(checkout), "dev")
    told = "models/versions.lock: chat@3 has no line yet, so nothing would notice a later change"
    assert str(caught.value) == told
    found = context.check_stage(Workspace(checkout), "local").plan.rollout_sentences()
    assert found == (SENTENCE.replace("chat@2", "chat@3"),)
