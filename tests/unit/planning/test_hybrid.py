"""What a model's route must name, and what the Worker is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluiceway import settings
from sluiceway.catalog import Catalog
from sluiceway.domain.model import Model, ModelVersion
from sluiceway.errors import UserError
from sluiceway.planning import StagePlan, plan
from tests.unit.planning.test_plan import ACCOUNT, CATALOG

SMALL = Model("chat-small", "chat", False, (ModelVersion("chat-small", 1, "workers-ai", "@cf/zai-org/glm-4.7-flash"),))
FAR = Model("far", "classify", False, (ModelVersion("far", 1, "workers-ai", "@cf/meta/llama-guard-3-8b"),))
MODELS = Catalog((*CATALOG.models, SMALL, FAR))


def planned(route: object, of: str = "chat", leave_out: str = "") -> StagePlan:
    names = [name for name in ("chat", "chat-small", "router", "far", "embed") if name != leave_out]
    models: dict[str, dict[str, object]] = {
        name: {"split": [{"version": f"{name}@1", "weight": 100}]} for name in names
    }
    models[of]["route"] = route
    return plan(settings.parse({"account_id": ACCOUNT, "models": models}, "here", stage="dev"), MODELS)


def test_the_worker_is_told_the_route_whole() -> None:
    document = planned({"by": "router", "simple": "chat-small"}).models_document()
    assert isinstance(document["chat"], dict) and isinstance(document["chat-small"], dict)
    assert document["chat"]["route"] == {"by": "router", "simple": "chat-small", "threshold": 0.5}
    assert "route" not in document["chat-small"]


def test_one_version_of_the_same_model_may_have_the_simple_ones() -> None:
    found = {model.name: model for model in planned({"by": "router", "simple": "chat@2", "threshold": 1}).models}
    assert found["chat"].route is not None
    assert (found["chat"].route.simple, found["chat"].route.threshold) == ("chat@2", 1)


def test_the_router_s_file_goes_into_the_bucket() -> None:
    files = {(one.model, one.name) for one in planned({"by": "router", "simple": "chat-small"}).artifacts}
    assert ("router", "model.onnx") in files


def test_a_model_goes_by_a_rollout_and_a_route_at_the_same_time() -> None:
    rollout = {"strategy": "canary", "stable": "chat@1", "candidate": "chat@2"}
    models = {
        "chat": {"rollout": rollout, "route": {"by": "router", "simple": "chat@1"}},
        "router": {"split": [{"version": "router@1", "weight": 100}]},
    }
    found = plan(settings.parse({"account_id": ACCOUNT, "models": models}, "here", stage="dev"), MODELS)
    chat = found.models[0]
    assert chat.rollout is not None and chat.route is not None


@pytest.mark.parametrize(
    ("route", "of", "leave_out", "fault"),
    [
        ({"by": "router"}, "chat", "", "chat.route.simple: is required"),
        ({"simple": "chat-small"}, "chat", "", "chat.route.by: is required"),
        ({"by": "router", "simple": "chat-small", "below": 1}, "chat", "", "chat.route: unknown key 'below'"),
        ({"by": "router", "simple": "chat-small", "threshold": 1.5}, "chat", "", "chat.route.threshold: must be at"),
        ({"by": "router", "simple": "chat-small@x"}, "chat", "", "chat.route.simple: a model version is written like"),
        ("router", "chat", "", "chat.route: "),
        (
            {"by": "router", "simple": "chat-small"},
            "chat",
            "chat-small",
            "chat.route.simple: names a model that this stage doesn't serve, got 'chat-small'",
        ),
        (
            {"by": "router", "simple": "chat-small"},
            "chat",
            "router",
            "chat.route.by: names a model that this stage doesn't serve, got 'router'",
        ),
        (
            {"by": "chat-small", "simple": "chat-small"},
            "chat",
            "",
            "chat.route.by: needs a model of task classify, got 'chat-small, of task chat'",
        ),
        (
            {"by": "router", "simple": "embed"},
            "chat",
            "",
            "chat.route.simple: needs a model of task chat, got 'embed, of task embed'",
        ),
        ({"by": "router", "simple": "chat-small@2"}, "chat", "", "chat.route.simple: "),
        ({"by": "router", "simple": "chat"}, "chat", "", "chat.route.simple: a route leads to another model"),
        ({"by": "router", "simple": "chat"}, "embed", "", "embed.route: a model of another task has no route"),
        (
            {"by": "far", "simple": "chat-small"},
            "chat",
            "",
            "chat.route.by: is scored in the Worker, from its artifact, got 'far@1, of backend workers-ai'",
        ),
    ],
)
def test_a_route_that_can_t_be_is_refused_with_its_path(route: object, of: str, leave_out: str, fault: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(route, of, leave_out)
    assert str(caught.value).startswith(f"here: config.sluiceway:models.{fault}")
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_a_route_is_part_of_the_release() -> None:
    one, other = (planned({"by": "router", "simple": "chat-small", "threshold": at}) for at in (0.5, 0.6))
    assert one.models_document() != other.models_document()
    assert replace(one.models[0], route=None) == replace(other.models[0], route=None)
