"""Who may stand in for an embedding model: whoever serves the very same one at another place."""

from __future__ import annotations

import pytest

from sluiceway import catalog
from sluiceway.errors import UserError
from tests.unit.catalog.conftest import Models

BGE = '{version: %s, backend: workers-ai, id: "@cf/baai/bge-m3"}'
QWEN = '{version: %s, backend: workers-ai, id: "@cf/qwen/qwen3-embedding-0.6b"}'
ELSEWHERE = '{version: %s, backend: openai, id: "%s", base_url: "https://up.test/v1"}'


def write(models: Models, fallback: str, *, own: tuple[str, ...], other: tuple[str, ...]) -> catalog.Catalog:
    files: dict[str, str | bytes] = {
        "near.yaml": f"task: embed\nfallback: [{fallback}]\nversions: [{', '.join(own)}]\n",
        "there.yaml": f"task: embed\nversions: [{', '.join(other)}]\n",
    }
    return catalog.load(models(files))


@pytest.mark.parametrize("id", ["BAAI/bge-m3", "bge-m3", "bge-m3:latest", "@cf/baai/bge-m3", "BAAI/BGE-M3"])
def test_the_same_embedding_model_at_another_place_stands_in(models: Models, id: str) -> None:
    found = write(models, "there", own=(BGE % "near@1",), other=(ELSEWHERE % ("there@1", id),))
    assert found.model("near", "").fallback == ("there",)


def test_another_embedding_model_never_stands_in(models: Models) -> None:
    with pytest.raises(UserError) as caught:
        write(models, "there", own=(BGE % "near@1",), other=(QWEN % "there@1",))
    assert str(caught.value) == (
        "models/near.yaml: fallback[0]: vectors of there@1 (@cf/qwen/qwen3-embedding-0.6b) and near@1 "
        "(@cf/baai/bge-m3) can't be compared, got 'there'"
    )
    assert caught.value.hint == "name a model that serves the same embedding model at another place, or take it out"


def test_a_version_by_name_is_judged_alone_and_a_name_by_all_that_it_may_mean(models: Models) -> None:
    mixed = (ELSEWHERE % ("there@1", "bge-m3"), QWEN % "there@2")
    assert write(models, "there@1", own=(BGE % "near@1",), other=mixed).models
    for target, foreign in (("there@2", "there@2"), ("there", "there@2")):
        with pytest.raises(UserError, match=f"vectors of {foreign} "):
            write(models, target, own=(BGE % "near@1",), other=mixed)


def test_a_stand_in_must_fit_every_version_that_it_may_stand_in_for(models: Models) -> None:
    with pytest.raises(UserError, match=r"vectors of there@1 .* and near@2 "):
        write(models, "there", own=(BGE % "near@1", QWEN % "near@2"), other=(ELSEWHERE % ("there@1", "bge-m3"),))


def test_an_older_version_of_itself_stands_in_only_if_it_is_the_same_model(models: Models) -> None:
    assert write(models, "near@1", own=(BGE % "near@1", ELSEWHERE % ("near@2", "bge-m3")), other=(QWEN % "there@1",))
    with pytest.raises(UserError, match=r"vectors of near@1 .* and near@2 "):
        write(models, "near@1", own=(BGE % "near@1", QWEN % "near@2"), other=(QWEN % "there@1",))
