from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from sluiceway import settings
from sluiceway.errors import UserError
from sluiceway.settings import yaml_file
from sluiceway.settings.load import _KEYS as KEYS
from sluiceway.workspace import Workspace
from tests.unit.settings.conftest import ACCOUNT, ROOT, ZONE, Stack

HERE = Workspace(ROOT)
STAGES = ("local", "dev", "staging", "production")


def test_the_four_stages_are_known_from_the_nearest_outwards() -> None:
    assert settings.stages(HERE) == STAGES


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_of_this_repository_is_valid(stage: str) -> None:
    loaded = settings.load(HERE, stage)
    assert loaded.stage == stage
    split = loaded.models["chat"].split
    assert split is not None
    assert split[0].version == "chat@1"


@pytest.mark.parametrize("stage", ["stagng", "prod", "../local", "local ", "", "Local"])
def test_wr_02_an_unknown_stage_is_refused_and_the_known_ones_listed(stage: str) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(HERE, stage)
    assert str(caught.value) == f"stacks: there is no stage {stage!r}"
    assert (caught.value.hint or "").endswith("known stages: local, dev, staging, production")


def test_wr_02_the_nearest_stage_is_suggested() -> None:
    with pytest.raises(UserError) as caught:
        settings.require_stage(HERE, "stagng")
    assert caught.value.hint == "did you mean staging? known stages: local, dev, staging, production"


@pytest.mark.parametrize("stage", STAGES)
def test_an_update_is_refused_while_the_account_is_the_placeholder(stage: str) -> None:
    loaded = settings.load(HERE, stage)
    if stage == "local":
        loaded.ready()
        return
    with pytest.raises(UserError) as caught:
        loaded.ready()
    assert str(caught.value) == (
        f"stacks/Pulumi.{stage}.yaml: config.sluiceway:account_id: the account's id is still the placeholder"
    )
    assert f"pulumi config set sluiceway:account_id ID -s {stage}" in (caught.value.hint or "")


def test_a_stack_replaces_a_default_as_a_whole_and_keeps_the_others(stack: Stack) -> None:
    loaded = settings.load(stack("sluiceway:models: {chat: {split: [{version: chat@2, weight: 100}]}}"), "dev")
    assert list(loaded.models) == ["chat"]
    assert loaded.workers_dev is True
    assert loaded.secrets == ("API_KEY", "ADMIN_KEY")


def test_settings_are_frozen_all_the_way_down(stack: Stack) -> None:
    loaded = settings.load(stack("sluiceway:crons: ['0 9 * * MON-FRI']"), "dev")
    with pytest.raises(ValidationError):
        loaded.account_id = "x"  # type: ignore[misc]
    split = loaded.models["chat"].split
    assert split is not None
    with pytest.raises(ValidationError):
        split[0].weight = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        loaded.models["other"] = loaded.models["chat"]  # type: ignore[index]
    assert isinstance(loaded.crons, tuple)
    assert isinstance(loaded.models["chat"].split, tuple)


def test_other_tools_settings_in_a_stack_file_are_passed_over(stack: Stack) -> None:
    settings.load(stack("cloudflare:apiToken: {secure: AAAB}", "pulumi:tags: {a: b}"), "dev")


def test_an_encrypted_secret_is_passed_over_unread(stack: Stack) -> None:
    loaded = settings.load(stack("sluiceway:api_key: {secure: v1:abc}"), "dev")
    assert "v1:abc" not in repr(loaded)


def test_a_secret_in_clear_text_is_refused_without_showing_it(stack: Stack) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack("sluiceway:api_key: S3CR-7f2a-canary"), "dev")
    assert str(caught.value) == "stacks/Pulumi.dev.yaml: config.sluiceway:api_key: a secret stands in clear text"
    assert caught.value.hint == "replace it now, then: pulumi config set --secret sluiceway:api_key"
    assert "canary" not in caught.value.render()


def test_a_secret_never_takes_the_place_of_a_setting() -> None:
    mapping = {**as_the_engine_gives_it("dev"), "sluiceway:secrets": '["API_KEY", "ROUTES"]'}
    with pytest.raises(UserError, match="a secret has the name of a setting, got 'ROUTES'"):
        settings.parse(mapping, "here", stage="dev")


def test_a_setting_that_is_no_secret_must_be_readable(stack: Stack) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack("sluiceway:crons: {secure: v1:abc}"), "dev")
    assert str(caught.value) == (
        "stacks/Pulumi.dev.yaml: config.sluiceway:crons: is encrypted, but is no secret and must be readable"
    )


def as_the_engine_gives_it(stage: str) -> dict[str, str]:
    """Every value as text, the keys of mappings sorted: what the program finds."""
    project = yaml_file.read(ROOT / "Pulumi.yaml", "Pulumi.yaml")["config"]
    stated = yaml_file.read(ROOT / "stacks" / f"Pulumi.{stage}.yaml", stage)["config"]
    values = {f"sluiceway:{key}": declared["default"] for key, declared in project.items() if "default" in declared}
    return {
        key: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for key, value in (values | stated).items()
    }


@pytest.mark.parametrize("stage", STAGES)
def test_the_program_and_the_file_give_the_same_settings(stage: str) -> None:
    mapping = {**as_the_engine_gives_it(stage), "sluiceway:api_key": "[secret]", "cloudflare:apiToken": "x"}
    source = f"stacks/Pulumi.{stage}.yaml"
    assert settings.parse(mapping, source, stage=stage) == settings.load(HERE, stage)


def test_a_value_given_on_the_command_line_is_read_by_its_kind() -> None:
    mapping = {
        "account_id": ACCOUNT,
        "workers_dev": "false",
        "crons": '["*/5 * * * *"]',
        "zone": "{}",
        "worker_name": "",
    }
    found = settings.parse(mapping, "here", stage="dev")
    assert (found.workers_dev, found.crons, found.zone, found.worker_name) == (False, ("*/5 * * * *",), None, None)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("crons", "[", "here: config.sluiceway:crons: must be a list, got '['"),
        (
            "queue",
            '{"retention": 60, "retention": 70}',
            'here: config.sluiceway:queue: must be a mapping, got \'{"retention": 60, "retention": 70}\'',
        ),
        ("workers_dev", "1", "here: config.sluiceway:workers_dev: must be true or false, got 1"),
        ("other_key", "x", "here: config: unknown setting sluiceway:other_key"),
    ],
)
def test_a_wrong_value_of_the_program_is_told_with_its_source(key: str, value: str, message: str) -> None:
    mapping = {"account_id": ACCOUNT, key: value}
    with pytest.raises(UserError) as caught:
        settings.parse(mapping, "here", stage="dev")
    assert str(caught.value) == message


def test_the_projects_block_declares_every_setting_and_no_other() -> None:
    declared = yaml_file.read(ROOT / "Pulumi.yaml", "Pulumi.yaml")["config"]
    assert tuple(declared) == KEYS
    without = [key for key, entry in declared.items() if "default" not in entry]
    assert without == ["account_id"], "the engine would want the others in every stack"


@pytest.mark.parametrize("stage", STAGES)
def test_stack_files_are_spelled_as_the_engine_spells_them(stage: str) -> None:
    # Otherwise the first `pulumi config set` rewrites lines that nobody meant to change.
    text = (ROOT / "stacks" / f"Pulumi.{stage}.yaml").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if not line.strip().startswith("#")]
    assert not [line for line in code if "{ " in line or " }" in line]
    assert not [line for line in code if line.startswith("  sluiceway:") and line.endswith((" true", " false"))]


@pytest.mark.parametrize("location", ["WEUR", "weur", "Weur"])
def test_tf_06_a_location_means_the_same_in_any_letter_case(stack: Stack, location: str) -> None:
    assert settings.load(stack(f"sluiceway:bucket: {{location: {location}}}"), "dev").bucket.location == "weur"


def test_a_zone_with_all_that_is_in_it_is_accepted(stack: Stack) -> None:
    loaded = settings.load(
        stack(
            f"sluiceway:zone: {ZONE}",
            "sluiceway:routes: ['*.example.com/*', example.com/v1/*]",
            "sluiceway:custom_domains: [chat.example.com]",
            "sluiceway:zone_rate_limits: [{name: all, path: /, requests: 10, period: 60}]",
            "sluiceway:worker_name: gateway-dev",
        ),
        "dev",
    )
    assert (loaded.worker_name, len(loaded.routes)) == ("gateway-dev", 2)


def test_pu_06_files_are_read_alike_in_every_locale(stack: Stack) -> None:
    workspace = stack("cloudflare:note: 'naïve 模型 🦊'", "sluiceway:crons: ['模']")
    program = (
        "import sys\nfrom pathlib import Path\nfrom sluiceway import settings\n"
        "from sluiceway.workspace import Workspace\nfrom sluiceway.errors import UserError\n"
        "try:\n    settings.load(Workspace(Path(sys.argv[1])), 'dev')\n"
        "except UserError as error:\n    sys.stdout.buffer.write(error.render().encode())\n"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = [sys.executable, "-c", program, str(workspace.root)]
    done = subprocess.run(arguments, capture_output=True, env=environment, cwd=Path("/"), check=True, timeout=60)
    assert done.stdout.decode().startswith(
        "error: stacks/Pulumi.dev.yaml: config.sluiceway:crons[0]: a cron has five fields, got '模'"
    )


@pytest.mark.parametrize(("key", "value"), [("custom_domains", "chat.example.com"), ("routes", "api.example.com/v1/*")])
def test_wr_02_a_host_or_route_has_one_stage(stack: Stack, key: str, value: str) -> None:
    workspace = stack(
        f"sluiceway:zone: {ZONE}", f"sluiceway:{key}: [x.example.com{'/*' * (key == 'routes')}, '{value}']"
    )
    other = workspace.root / "stacks" / "Pulumi.production.yaml"
    other.write_text(f"config:\n  sluiceway:{key}: ['{value}']\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        settings.load(workspace, "dev")
    assert str(caught.value) == (
        f"stacks/Pulumi.dev.yaml: config.sluiceway:{key}[1]: belongs to stage production too, got '{value}'"
    )
    other.write_text("config: [\n", encoding="utf-8")
    assert settings.load(workspace, "dev").stage == "dev"


def test_a_huge_wrong_value_is_told_in_one_short_line(stack: Stack) -> None:
    bomb = "sluiceway:queue: {retention: [&a [x, x, x, x, x, x, x, x, x], &b [*a, *a, *a, *a], [*b, *b, *b]]}"
    for line in (bomb, f"sluiceway:queue: {{retention: {'x' * 5000}}}"):
        with pytest.raises(UserError) as caught:
            settings.load(stack(line), "dev")
        assert len(str(caught.value)) < 400
