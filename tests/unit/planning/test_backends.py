"""What a model version says of its backend reaches the Worker, and a stage that can't ask it has no plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluiceway import settings
from sluiceway.catalog import Catalog
from sluiceway.domain.model import Model, ModelVersion, Price
from sluiceway.domain.stage import LOCAL_ACCOUNT
from sluiceway.errors import UserError
from sluiceway.planning import StagePlan, plan
from tests.unit.planning.test_plan import ACCOUNT, CATALOG

FAR = ModelVersion("far", 1, "openai", "kimi", base_url="https://up.test/v1", secret="UP_KEY")
BOUND = ["API_KEY", "UP_KEY"]
Stated = dict[str, object]


def planned(
    *versions: ModelVersion, stage: str = "dev", fallback: tuple[str, ...] = (), stated: Stated | None = None
) -> StagePlan:
    """A stage that serves the first of ``versions`` as model ``far``."""
    catalog = Catalog((*CATALOG.models, Model("far", "chat", False, versions, fallback)))
    account = LOCAL_ACCOUNT if stage == "local" else ACCOUNT
    models = {"far": {"split": [{"version": "far@1", "weight": 100}]}}
    mapping: Stated = {"account_id": account, "models": models, **(stated or {})}
    return plan(settings.parse(mapping, "here", stage=stage), catalog)


def test_the_worker_is_told_how_to_ask_and_what_is_known() -> None:
    full = replace(FAR, provider="a/v1", context_window=9, price=Price(1, 2), vision=True, guided=True)
    document = planned(
        full, replace(FAR, number=2, base_url=None), fallback=("far@2",), stated={"secrets": BOUND}
    ).models_document()
    assert document["far"] == {
        "task": "chat",
        "fallback": ["far@2"],
        "split": [[1, 100]],
        "versions": {
            "1": {
                "backend": "openai",
                "id": "kimi",
                "base_url": "https://up.test/v1",
                "secret": "UP_KEY",
                "provider": "a/v1",
                "context_window": 9,
                "price": {"input": 1, "cached": None, "output": 2},
                "vision": True,
                "guided": True,
            },
            "2": {"backend": "openai", "id": "kimi", "secret": "UP_KEY"},
        },
    }


def test_the_worker_knows_price_and_window_of_workers_ai_without_their_being_stated() -> None:
    document = plan(settings.parse({"account_id": ACCOUNT, "models": CHAT}, "here", stage="dev"), CATALOG)
    models = document.models_document()["chat"]
    assert isinstance(models, dict)
    versions = models["versions"]
    assert isinstance(versions, dict)
    one, two = versions["1"], versions["2"]
    assert isinstance(one, dict) and isinstance(two, dict)
    assert one["price"] == {"input": 0.06, "cached": None, "output": 0.4}
    assert (one["context_window"], "vision" in one, two["vision"]) == (131_072, False, True)


def test_the_worker_is_told_which_adapter_a_version_answers_with() -> None:
    tuned = ModelVersion("far", 1, "workers-ai", "@cf/google/gemma-2b-it-lora", lora="tone-1")
    document = planned(tuned).models_document()["far"]
    assert isinstance(document, dict)
    assert document["versions"] == {"1": {"backend": "workers-ai", "id": tuned.id, "lora": "tone-1"}}


CHAT = {"chat": {"split": [{"version": "chat@1", "weight": 100}]}}
LOOPBACK = replace(FAR, base_url="http://127.0.0.1:8000/v1", secret=None)
BY_GATEWAY = replace(FAR, base_url=None, provider="openai", secret=None)
NO_GATEWAY = {"gateway": {"enabled": False}}


@pytest.mark.parametrize(
    ("version", "stated", "message", "hint"),
    [
        (
            FAR,
            {},
            "models.far.split[0].version: far@1 needs a secret that the Worker isn't given, got 'UP_KEY'",
            "add UP_KEY to sluiceway:secrets, and its value by: sluiceway secrets set dev UP_KEY",
        ),
        (
            LOOPBACK,
            {},
            "models.far.split[0].version: far@1 is asked on loopback, where Cloudflare has nothing",
            "serve it on stage local alone, or add a version whose base_url is https",
        ),
        (
            BY_GATEWAY,
            NO_GATEWAY,
            "models.far.split[0].version: far@1 is asked through an AI Gateway, which this stage hasn't",
            "set sluiceway:gateway's enabled to true, or serve a version that has a base_url",
        ),
        (
            replace(LOOPBACK, provider="openai"),
            NO_GATEWAY,
            "models.far.split[0].version: far@1 is asked on loopback, where Cloudflare has nothing",
            "serve it on stage local alone, or add a version whose base_url is https",
        ),
    ],
)
def test_a_version_that_the_stage_cant_ask_is_refused(
    version: ModelVersion, stated: Stated, message: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        planned(version, stated=stated)
    assert (str(caught.value), caught.value.hint) == (f"here: config.sluiceway:{message}", hint)


@pytest.mark.parametrize(
    ("version", "stage", "stated"),
    [
        (FAR, "dev", {"secrets": BOUND}),
        (LOOPBACK, "local", {}),
        (BY_GATEWAY, "dev", {}),
        (replace(LOOPBACK, provider="openai"), "dev", {}),
        (replace(FAR, provider="openai"), "dev", {"secrets": BOUND, **NO_GATEWAY}),
    ],
)
def test_a_version_that_the_stage_can_ask_is_planned(version: ModelVersion, stage: str, stated: Stated) -> None:
    assert [model.name for model in planned(version, stage=stage, stated=stated).models] == ["far"]


def test_a_version_outside_the_split_needs_nothing_of_the_stage() -> None:
    assert len(planned(replace(FAR, secret=None), replace(FAR, number=2)).models[0].versions) == 2


def test_who_stands_in_is_served_by_the_stage() -> None:
    with pytest.raises(UserError) as caught:
        planned(replace(FAR, secret=None), fallback=("chat@1",))
    assert (str(caught.value), caught.value.hint) == (
        "here: config.sluiceway:models.far: chat@1 stands in for far, and this stage doesn't serve it",
        "add chat to sluiceway:models, or take it out of fallback in models/far.yaml",
    )
