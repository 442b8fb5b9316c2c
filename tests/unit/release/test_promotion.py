"""What is moved from one stage to another is one release, or it is refused by what differs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.release.promotion import Content, content, differences, own_settings

VERSION = {"backend": "workers-ai", "id": "@cf/moonshotai/kimi-k2.6", "prompt": "Be brief."}
MODELS: dict[str, Any] = {"chat": {"task": "chat", "versions": {"1": VERSION}, "split": [[1, 100]]}}


def made(stage: str, models: dict[str, Any] = MODELS, code: bytes = b"code", **own: object) -> Content:
    config = {"models": models, "stage": stage, "release": f"r-{stage}", "gateway": f"sluiceway-{stage}", **own}
    return content(stage, {"index.js": code, "config.json": json.dumps(config).encode()})


def changed(key: str, value: object) -> dict[str, Any]:
    models = json.loads(json.dumps(MODELS))
    found = models["chat"]["versions"]["1"] if key in VERSION else models["chat"]
    found[key] = value
    return dict(models)


def test_stages_that_differ_in_what_is_their_own_run_one_release() -> None:
    left, right = made("staging", limits={"requests": 10}), made("production", limits={"requests": 600})
    assert differences(left, right) == ()
    assert left.digest == right.digest
    (own,) = own_settings(left, right)
    assert own.path == "limits.requests"


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("prompt", "Be long.", "models.chat.versions.1.prompt"),
        ("id", "@cf/zai-org/glm-4.7-flash", "models.chat.versions.1.id"),
        ("split", [[1, 90], [2, 10]], "models.chat.split"),
        ("fallback", ["chat-small"], "models.chat.fallback"),
    ],
)
def test_another_prompt_model_or_routing_is_named_by_its_path(key: str, value: object, path: str) -> None:
    left, right = made("staging"), made("production", changed(key, value))
    (found,) = differences(left, right)
    assert found.path == path
    assert left.digest != right.digest
    assert path in found.told("staging", "production")


def test_another_bundle_is_named() -> None:
    left, right = made("staging"), made("production", code=b"other")
    assert [found.path for found in differences(left, right)] == ["bundle"]
    assert left.digest != right.digest


def test_a_model_that_one_stage_lacks_is_a_difference() -> None:
    (found,) = differences(made("staging"), made("production", {}))
    assert found.path == "models.chat" and found.right is None


def test_what_is_no_gateway_is_said_to_be_none() -> None:
    with pytest.raises(SluicewayError, match="no gateway"):
        content("staging", {"worker.js": b""})
