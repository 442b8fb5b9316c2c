"""Shims and the environment of a stage."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest

from sluiceway.engine.resolve import Engine
from sluiceway.engine.shell_env import render_exports, stage_env
from sluiceway.engine.shims import write_shims
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace
from tests.unit.engine import machine

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Running:
    api_url: str = "http://127.0.0.1:8788/client/v4"
    front_url: str = "http://127.0.0.1:8787"
    s3_url: str = "http://127.0.0.1:8787/s3"
    account_id: str = "10ca1000000000000000000000000000"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "it's a checkout")
    made.local.mkdir(parents=True)
    (made.local / "token").write_text("the-token\n", encoding="utf-8")
    return made


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    path = machine.pulumi(tmp_path / "kept", "3.274.1")
    return Engine(path, "3.274.1", "build", "built", path.with_name("pulumi-language-python"), ())


def test_the_local_stage_gets_everything_that_its_clients_need(workspace: Workspace, engine: Engine) -> None:
    values = stage_env(workspace, "local", Running(), engine, {"PATH": "/usr/bin"})
    assert values["PATH"] == f"{workspace.bin}:/usr/bin"
    assert values["PULUMI_BACKEND_URL"] == f"file://{workspace.pulumi_state}"
    assert values["CLOUDFLARE_BASE_URL"] == values["CLOUDFLARE_API_BASE_URL"] == Running().api_url
    assert values["CLOUDFLARE_API_TOKEN"] == "the-token"
    assert values["SLUICEWAY_R2_ENDPOINT"] == values["AWS_ENDPOINT_URL_S3"] == Running().s3_url
    assert values["AWS_SECRET_ACCESS_KEY"] == sha256(b"the-token").hexdigest()
    assert values["AWS_ACCESS_KEY_ID"] == sha256(b"id:the-token").hexdigest()[:32]


def test_another_stage_keeps_the_persons_own_account_backend_and_passphrase(
    workspace: Workspace, engine: Engine
) -> None:
    values = stage_env(workspace, "production", None, engine, {"PATH": "/usr/bin"})
    assert set(values) == {
        "PATH",
        "SLUICEWAY_ROOT",
        "PULUMI_SKIP_UPDATE_CHECK",
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER",
        "WRANGLER_SEND_METRICS",
    }


def test_the_stand_in_provider_is_on_no_other_stages_path_unless_asked_for(
    workspace: Workspace, engine: Engine
) -> None:
    standin = str(workspace.private / "standin")
    assert standin not in stage_env(workspace, "staging", None, engine, {"PATH": f"{standin}:/usr/bin"})["PATH"]
    asked = stage_env(workspace, "staging", None, engine, {"PATH": "/usr/bin", "SLUICEWAY_STANDIN_PROVIDER": "1"})
    assert asked["PATH"] == f"{workspace.bin}:{standin}:/usr/bin"


def test_a_shell_of_the_local_stage_serves_no_other(workspace: Workspace, engine: Engine) -> None:
    local = stage_env(workspace, "local", Running(), engine, {"PATH": "/usr/bin"})
    with pytest.raises(UserError, match="set to the local stage") as caught:
        stage_env(workspace, "production", None, engine, local)
    assert "new shell" in (caught.value.hint or "")
    assert stage_env(workspace, "production", None, engine, {**local, "SLUICEWAY_STANDIN_PROVIDER": "1"})


def test_a_dead_local_stage_is_said_with_what_to_do(workspace: Workspace, engine: Engine) -> None:
    with pytest.raises(UserError, match="not running") as caught:
        stage_env(workspace, "local", None, engine, {})
    assert caught.value.hint == "run `sluiceway local start`"


def test_applying_an_environment_twice_does_not_lengthen_path(workspace: Workspace, engine: Engine) -> None:
    once = stage_env(workspace, "local", Running(), engine, {"PATH": "/usr/bin"})
    assert stage_env(workspace, "local", Running(), engine, once)["PATH"] == once["PATH"]


def test_no_test_finds_the_stage_that_its_shell_was_set_to(workspace: Workspace, engine: Engine) -> None:
    left = stage_env(workspace, "local", Running(), engine, {"PATH": "/usr/bin"})
    look = "import os, json, tests.conftest; print(json.dumps(dict(os.environ)))"
    told = subprocess.run([sys.executable, "-c", look], env=left, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(json.loads(told.stdout)) & set(left) == {"PATH"}


def test_exports_survive_a_shell_whatever_the_value() -> None:
    values = {"A": 'it\'s $HOME `id` \\ "q"', "B": "two\nlines 模型 🦊", "C": ""}
    script = render_exports(values) + 'printf \'%s|%s|%s\' "$A" "$B" "$C"'
    said = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode()
    assert said == "|".join(values.values())
    assert render_exports({"A": "it's \\"}, "fish") == "set -gx A 'it\\'s \\\\'\n"
    with pytest.raises(ValueError, match="not a variable's name"):
        render_exports({"A;id": "x"})


def test_shims_are_written_once_and_mended_when_they_differ(workspace: Workspace, engine: Engine) -> None:
    written = write_shims(workspace, engine)
    assert {path.name for path in written} == {
        "node", "pulumi", "pulumi-language-python", "pulumi-resource-cloudflare", "pulumi-resource-sluiceway",
        "sluiceway", "wrangler",
    }  # fmt: skip
    assert write_shims(workspace, engine) == []
    (workspace.bin / "node").write_text("spoilt", encoding="utf-8")
    (workspace.bin / "pulumi").unlink()
    assert {path.name for path in write_shims(workspace, engine)} == {"node", "pulumi"}


def test_the_stand_in_is_never_in_the_folder_that_every_stage_has_on_path(workspace: Workspace, engine: Engine) -> None:
    write_shims(workspace, engine)
    assert not (workspace.bin / "pulumi-resource-cloudflare").exists()
    assert [path.name for path in (workspace.private / "standin").iterdir()] == ["pulumi-resource-cloudflare"]


def test_a_shim_runs_from_a_folder_with_a_quote_in_its_name(workspace: Workspace, engine: Engine) -> None:
    machine.script(workspace.root / ".venv" / "bin" / "python", 'echo "ran $*"')
    write_shims(workspace, engine)
    done = subprocess.run([workspace.bin / "pulumi-resource-sluiceway", "an arg"], capture_output=True, check=True)
    assert done.stdout.decode() == "ran -P -m sluiceway.engine.provider.sluiceway_plugin an arg\n"


def test_only_a_built_engine_gets_our_language_host(workspace: Workspace, engine: Engine) -> None:
    write_shims(workspace, engine)
    assert (workspace.bin / "pulumi-language-python").readlink() == engine.language_host
    write_shims(workspace, replace(engine, source="path"))
    assert not (workspace.bin / "pulumi-language-python").is_symlink()
