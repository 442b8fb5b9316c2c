"""A version that answers with a LoRA adapter: which may, and what becomes of it."""

from __future__ import annotations

import pytest

from sluiceway import catalog
from sluiceway.catalog import lock
from sluiceway.catalog.lora_bases import LORA_BASES, base_of_shape
from sluiceway.catalog.workers_ai import MODELS
from sluiceway.errors import UserError
from sluiceway.local.ai import models as local_models
from tests.unit.catalog.conftest import Models

GEMMA = "@cf/google/gemma-2b-it-lora"


def file(fields: str) -> str:
    return f"task: chat\nversions: [{{version: chat@1, {fields}}}]\n"


def fault(models: Models, fields: str) -> UserError:
    with pytest.raises(UserError) as caught:
        catalog.load(models({"chat.yaml": file(fields)}))
    return caught.value


@pytest.mark.parametrize("id", LORA_BASES)
def test_each_base_takes_an_adapter_and_may_answer_without_one(models: Models, id: str) -> None:
    (with_one,) = catalog.load(models({"chat.yaml": file(f'backend: workers-ai, id: "{id}", lora: tone-1')})).models
    assert (with_one.versions[0].id, with_one.versions[0].lora) == (id, "tone-1")
    (without,) = catalog.load(models({"chat.yaml": file(f'backend: workers-ai, id: "{id}"')})).models
    assert without.versions[0].lora is None


def test_a_model_that_takes_no_adapters_is_told_with_those_that_do(models: Models) -> None:
    found = fault(models, 'backend: workers-ai, id: "@cf/zai-org/glm-4.7-flash", lora: tone-1')
    assert str(found) == (
        "models/chat.yaml: versions[0].lora: @cf/zai-org/glm-4.7-flash takes no LoRA adapters, got 'tone-1'"
    )
    assert str(found.hint).endswith(", ".join(LORA_BASES))


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ('backend: openai, id: kimi, base_url: "https://up.test/v1"', "take lora out; a server of one's own"),
        ("backend: openai, id: kimi, provider: openai", "take lora out; a server of one's own"),
    ],
)
def test_only_workers_ai_has_adapters(models: Models, fields: str, hint: str) -> None:
    found = fault(models, f"{fields}, lora: tone-1")
    assert "versions[0].lora: an openai version has no lora" in str(found)
    assert str(found.hint).startswith(hint)


@pytest.mark.parametrize("name", ["''", "a b", "-a", "../x", "é", "a" * 101, "a/b"])
def test_a_name_that_no_adapter_has_is_refused(models: Models, name: str) -> None:
    found = fault(models, f'backend: workers-ai, id: "{GEMMA}", lora: {name}')
    assert "versions[0].lora: an adapter's name is 1 to 100 letters" in str(found)


def test_an_added_adapter_is_another_version(models: Models) -> None:
    with_one = f'backend: workers-ai, id: "{GEMMA}", lora: tone-%d'
    workspace = models({"chat.yaml": file(with_one % 1)})
    lock.append(workspace.root / "models", catalog.load(workspace).models)
    models({"chat.yaml": file(with_one % 2)})
    with pytest.raises(UserError, match="chat@1 was changed, and a version keeps its meaning"):
        catalog.load(workspace)


def test_every_base_is_known_by_its_id_and_found_by_its_shape() -> None:
    for id, base in LORA_BASES.items():
        assert MODELS[id].task == "chat"
        assert local_models.MODELS[id].lora
        assert base_of_shape(base.model_type, base.hidden, base.layers, base.kv_heads, base.vocab) is base
    assert {id for id, model in local_models.MODELS.items() if model.lora} == set(LORA_BASES)


def test_the_widths_of_a_layer_are_those_of_the_models() -> None:
    gemma = LORA_BASES["@cf/google/gemma-7b-it-lora"].linear
    assert gemma["self_attn.q_proj"] == (3072, 4096), "its heads are wider than the model"
    assert gemma["self_attn.o_proj"] == (4096, 3072)
    mistral = LORA_BASES["@cf/mistral/mistral-7b-instruct-v0.2-lora"].linear
    assert (mistral["self_attn.k_proj"], mistral["mlp.down_proj"]) == ((4096, 1024), (14_336, 4096))
