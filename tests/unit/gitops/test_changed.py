import subprocess
from pathlib import Path

import pytest

from sluiceway.errors import UserError
from sluiceway.gitops.changed import changed_paths, changed_stages

STAGES = ("dev", "staging", "production")


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], ()),
        (["README.md", "docs/a.md", "tests/unit/test_a.py", "worker/src/cors.test.ts"], ()),
        (["stacks/Pulumi.staging.yaml"], ("staging",)),
        (["stacks/Pulumi.production.yaml", "stacks/Pulumi.dev.yaml"], ("dev", "production")),
        (["stacks/Pulumi.local.yaml"], ()),
        (["models/chat.yaml"], STAGES),
        (["stacks/Pulumi.dev.yaml", "worker/src/index.ts"], STAGES),
        (["package-lock.json"], STAGES),
    ],
)
def test_paths_decide_which_stages_are_previewed(paths: list[str], expected: tuple[str, ...]) -> None:
    assert changed_stages(paths, STAGES) == expected


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def test_only_what_the_branch_itself_changed_counts(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    git(tmp_path, "checkout", "-qb", "feature")
    (tmp_path / "模型.yaml").write_text("new")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "feature")
    git(tmp_path, "checkout", "-q", "main")
    (tmp_path / "b.txt").write_text("b")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "main moved on")
    git(tmp_path, "checkout", "-q", "feature")
    assert changed_paths(tmp_path, "main") == ("模型.yaml",)


def test_an_unknown_base_is_the_callers_fault_and_has_a_hint(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(UserError) as caught:
        changed_paths(tmp_path, "no-such-branch")
    assert caught.value.exit_code == 2
    assert "fetch" in (caught.value.hint or "")
