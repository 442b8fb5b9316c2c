"""Where settings and secrets come from, and what the program says when they are wrong."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import config as runtime_config

from infra.configuration import read_settings, secret_value
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace
from tests.components.conftest import WORKSPACE
from tests.components.harness import Run, Secret, run_program

ACCOUNT = "a" * 32


def run_with(
    program: Callable[[], None], values: dict[str, str], secret: tuple[str, ...] = (), stack: str = "dev"
) -> Run:
    def configured() -> None:
        runtime_config.set_all_config(values, list(secret))
        program()

    return run_program(configured, stack)


def exporting(workspace: Workspace, stage: str, name: str = "API_KEY") -> Callable[[], None]:
    return lambda: pulumi.export("key", secret_value(workspace, stage, name))


def test_pu_07_a_secret_of_the_stack_stays_one(tmp_path: Path) -> None:
    run = run_with(exporting(Workspace(tmp_path), "dev"), {"sluiceway:api_key": "k"}, ("sluiceway:api_key",))
    assert run.outputs["key"] == Secret("k")


def test_pu_07_a_secret_of_the_environment_becomes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEWAY_SECRET_API_KEY", "from-env")
    assert run_with(exporting(Workspace(tmp_path), "dev"), {}).outputs["key"] == Secret("from-env")


@pytest.mark.parametrize(("name", "file"), [("API_KEY", "api-key"), ("ADMIN_KEY", "admin-key")])
def test_pu_07_the_local_stages_key_is_read_from_its_file_and_becomes_a_secret(
    tmp_path: Path, name: str, file: str
) -> None:
    workspace = Workspace(tmp_path)
    workspace.local.mkdir(parents=True)
    (workspace.local / file).write_text("slw-file\n", encoding="utf-8")
    assert run_with(exporting(workspace, "local", name), {}, stack="local").outputs["key"] == Secret("slw-file")
    with pytest.raises(UserError, match=f"{name} has no value") as caught:
        run_with(exporting(workspace, "dev", name), {})
    assert caught.value.hint and f"sluiceway secrets set dev {name}" in caught.value.hint


def test_a_missing_secret_says_how_to_set_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="API_KEY has no value") as caught:
        run_with(exporting(Workspace(tmp_path), "dev"), {})
    assert caught.value.hint and "sluiceway secrets set dev API_KEY" in caught.value.hint


def test_pu_07_a_secret_in_clear_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="in clear text") as caught:
        run_with(exporting(Workspace(tmp_path), "dev"), {"sluiceway:api_key": "S3CR-canary"})
    assert "S3CR-canary" not in caught.value.render()


def test_secret_values_never_reach_the_parser_of_settings() -> None:
    found: list[str] = []
    values = {"sluiceway:account_id": ACCOUNT, "sluiceway:worker_name": "w-dev", "sluiceway:log": "S3CR-canary"}
    run_with(lambda: found.append(read_settings("dev").account_id), values, ("sluiceway:log",))
    assert found == [ACCOUNT]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("sluiceway:routes", '"no list"', "routes"),
        ("sluiceway:models", json.dumps({"chat": {"split": [{"version": "chat@1", "weight": 99}]}}), "sum to 100"),
        ("sluiceway:models", json.dumps({"chat": {"split": [{"version": "chat@99", "weight": 100}]}}), "chat@99"),
    ],
)
def test_a_wrong_setting_ends_the_program_with_one_line_and_no_resource(key: str, value: str, told: str) -> None:
    def program() -> None:
        runpy.run_path(str(WORKSPACE.root / "infra" / "__main__.py"), run_name="__main__")

    with pytest.raises(pulumi.RunError) as caught:
        run_with(program, {"sluiceway:account_id": ACCOUNT, key: value})
    message = str(caught.value)
    assert message.startswith("stacks/Pulumi.dev.yaml: ")
    assert told in message
    assert "Traceback" not in message


def test_an_update_of_a_stage_whose_account_is_still_zeros_is_refused() -> None:
    def program() -> None:
        runpy.run_path(str(WORKSPACE.root / "infra" / "__main__.py"), run_name="__main__")

    with pytest.raises(pulumi.RunError, match="account_id"):
        run_with(program, {"sluiceway:account_id": "0" * 32})
