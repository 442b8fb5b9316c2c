"""A stage renders to the same bytes everywhere, and its release changes with what it runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pulumi
import pytest

from sluiceway import catalog, settings
from sluiceway.errors import SluicewayError
from sluiceway.planning import Ref, StagePlan, plan
from sluiceway.render import render_stage, templates_of, write_wrangler
from sluiceway.render.bundle import FREE_LIMIT, size_note
from tests.components.conftest import WORKSPACE, linked_checkout


@pytest.fixture(scope="module")
def staging() -> StagePlan:
    return plan(settings.load(WORKSPACE, "staging"), catalog.load(WORKSPACE))


def with_prompt(staging: StagePlan, prompt: str) -> StagePlan:
    chat = next(model for model in staging.models if model.name == "chat")
    changed = replace(chat, versions=tuple(replace(version, prompt=prompt) for version in chat.versions))
    return replace(staging, models=tuple(changed if model is chat else model for model in staging.models))


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_checkouts_render_the_same_files(staging: StagePlan, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "a" / "deeper one"
    one.mkdir()
    two.mkdir(parents=True)
    first, second = (render_stage(staging, linked_checkout(folder)) for folder in (one, two))
    assert first.release == second.release
    assert files_below(first.out_dir) == files_below(second.out_dir)
    for content in files_below(first.out_dir).values():
        assert str(tmp_path).encode() not in content
        assert str(WORKSPACE.root).encode() not in content


def test_wr_08_a_prompt_is_in_config_json_letter_by_letter_and_not_in_code(staging: StagePlan, tmp_path: Path) -> None:
    prompt = 'He said "hi" `id` ${env.API_KEY} {{ 7*7 }} </script> \u2028 Calling __str__ on an Output \\'
    rendered = render_stage(with_prompt(staging, prompt), linked_checkout(tmp_path))
    code, config = (module.content.decode("utf-8") for module in rendered.modules)
    assert json.loads(config)["models"]["chat"]["versions"]["1"]["prompt"] == prompt
    assert "He said" not in code


def test_a_new_prompt_is_a_new_release_of_the_same_bundle(staging: StagePlan, tmp_path: Path) -> None:
    checkout = linked_checkout(tmp_path)
    before, after = render_stage(staging, checkout), render_stage(with_prompt(staging, "other"), checkout)
    assert before.bundle_digest == after.bundle_digest
    assert before.release != after.release
    assert before.release.startswith("r-") and len(before.release) == 14


def test_config_json_is_one_sorted_line(staging: StagePlan, tmp_path: Path) -> None:
    rendered = render_stage(staging, linked_checkout(tmp_path))
    text = rendered.modules[1].content.decode("utf-8")
    document = json.loads(text)
    assert text == json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert document["release"] == rendered.release
    assert document["stage"] == "staging"


def test_pu_01_an_output_never_reaches_wrangler_toml(staging: StagePlan, tmp_path: Path) -> None:
    checkout = linked_checkout(tmp_path)
    formatted = "Calling __str__ on an Output[T] is not supported."
    resolved = {Ref("kv", "id"): formatted, Ref("bucket", "name"): "b", Ref("queue", "name"): "q"}
    with pytest.raises(SluicewayError, match=r"'document\.kv_namespaces\[0\]\.id' is a Pulumi Output"):
        write_wrangler(staging, resolved, templates_of(checkout), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_pu_01_an_output_in_the_plan_is_refused_before_config_json_is_written(
    staging: StagePlan, tmp_path: Path
) -> None:
    class Leaky(StagePlan):
        def config_document(self, release: str) -> dict[str, object]:  # type: ignore[override]
            return {"release": release, "gateway": object.__new__(pulumi.Output)}

    leaky = Leaky(**{name: getattr(staging, name) for name in staging.__dataclass_fields__})
    with pytest.raises(SluicewayError, match="'gateway' is a Pulumi Output"):
        render_stage(leaky, linked_checkout(tmp_path))
    assert not list(tmp_path.glob(".sluiceway/**/config.json"))


def test_a_worker_beyond_the_free_plans_limit_is_told() -> None:
    assert size_note(FREE_LIMIT) is None
    assert size_note(FREE_LIMIT + 1) == "the Worker is 3.0 MiB gzipped: accounts on the Free plan take 3 MiB"
