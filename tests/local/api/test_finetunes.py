"""Workers AI's fine-tunes: made once, given two files once, kept over a start; the platform's limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.local.api import ai_finetunes
from sluiceway.local.store import Json
from tests.local.api.conftest import Api

PATH = "/a/ai/finetunes"
GEMMA = "@cf/google/gemma-2b-it-lora"
CONFIG = {"r": 8, "model_type": "gemma", "peft_type": "LORA"}
WEIGHTS = (2).to_bytes(8, "little") + b"{}"


def made(api: Api, name: str = "tone-1", **more: Json) -> Any:  # noqa: ANN401 - JSON
    return api.ok("POST", PATH, {"model": GEMMA, "name": name, **more})


def asset(name: str, data: bytes) -> dict[str, Any]:
    return {"data": {"file_name": name}, "files": {"file": (name, data)}}


def config(**changed: Json) -> dict[str, Any]:
    return asset("adapter_config.json", json.dumps({**CONFIG, **changed}).encode())


def test_an_adapter_is_made_filled_and_found_by_name_and_by_id(api: Api) -> None:
    found = made(api, description="kind")
    assert {found[key] for key in ("name", "model", "description", "public")} == {"tone-1", GEMMA, "kind", False}
    assert api.ok("GET", PATH) == [found]
    assert "assets" not in found
    assert ai_finetunes.find(api.control.store.committed, "tone-1")["assets"] == {}  # type: ignore[index]
    for sent in (config(), asset("adapter_model.safetensors", WEIGHTS)):
        assert api("POST", f"{PATH}/{found['id']}/finetune-assets", **sent).json()["success"] is True
    for named in ("tone-1", found["id"]):
        kept = ai_finetunes.find(api.control.store.committed, named)
        assert kept is not None
        assert set(kept["assets"]) == set(ai_finetunes.FILES)
        assert kept["assets"]["adapter_model.safetensors"]["bytes"] == len(WEIGHTS)
    assert ai_finetunes.find(api.control.store.committed, "other") is None


def test_adapters_are_there_after_a_start(api: Api) -> None:
    found = made(api)
    api.ok("POST", f"{PATH}/{found['id']}/finetune-assets", **config())
    before = api.ok("GET", PATH)
    api.close()
    api.open()
    assert api.ok("GET", PATH) == before
    assert set(ai_finetunes.find(api.control.store.committed, found["id"])["assets"]) == {"adapter_config.json"}  # type: ignore[index]


@pytest.mark.parametrize(
    "body",
    [
        {"model": "@cf/zai-org/glm-4.7-flash", "name": "a"},
        {"model": "@cf/google/gemma-9", "name": "a"},
        {"model": GEMMA, "name": ""},
        {"model": GEMMA, "name": "a" * 101},
        {"model": GEMMA, "name": "cf-public-mine"},
    ],
)
def test_what_is_no_adapter_is_refused(body: Json, api: Api) -> None:
    assert api.refused("POST", PATH, body) == (400, 7020)


@pytest.mark.parametrize("body", [{"name": "a"}, {"model": GEMMA}, {"model": 1, "name": "a"}, []])
def test_a_body_of_another_shape_is_refused(body: Json, api: Api) -> None:
    assert api.refused("POST", PATH, body) == (400, 10001)


def test_a_name_is_given_once_and_an_account_has_a_hundred(api: Api) -> None:
    for number in range(ai_finetunes.MAX_FINETUNES):
        made(api, f"tone-{number}")
    assert "already exists" in api("POST", PATH, {"model": GEMMA, "name": "tone-1"}).text
    assert "at most 100" in api("POST", PATH, {"model": GEMMA, "name": "one-too-many"}).text
    assert len(api.ok("GET", PATH)) == 100


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (config(r=33), "r must be from 1 to 32"),
        (config(r="8"), "r must be from 1 to 32"),
        (config(model_type=None), "model_type must be one of mistral, gemma, llama"),
        (asset("adapter_config.json", b"["), "not a JSON object"),
        (asset("adapter_model.safetensors", b"\x80\x02}q\x00."), "not a safetensors file"),
        (asset("adapter_model.safetensors", (99).to_bytes(8, "little") + b"{}"), "not a safetensors file"),
        (asset("adapter_model.bin", b"x"), "file_name: must be one of"),
        ({"data": {"file_name": "adapter_config.json", "file": "text"}}, "file: required"),
        ({"data": {}}, "file_name: must be one of"),
    ],
)
def test_a_file_that_is_not_an_adapters_is_refused_and_not_kept(sent: dict[str, Any], message: str, api: Api) -> None:
    path = f"{PATH}/{made(api)['id']}/finetune-assets"
    answer = api("POST", path, **sent)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, 7020)
    assert message in answer.text
    assert ai_finetunes.find(api.control.store.committed, "tone-1")["assets"] == {}  # type: ignore[index]
    api.ok("POST", path, **config())


def test_a_file_can_not_be_changed_and_belongs_to_an_adapter(api: Api) -> None:
    path = f"{PATH}/{made(api)['id']}/finetune-assets"
    api.ok("POST", path, **config())
    assert "can't be changed" in api("POST", path, **config(r=4)).text
    assert api.refused("POST", f"{PATH}/none/finetune-assets", **config()) == (404, 7022)
    assert api.refused("DELETE", f"{PATH}/none")[0] == 404


def test_a_file_over_the_limit_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ai_finetunes, "MAX_BYTES", 11)
    path = f"{PATH}/{made(api)['id']}/finetune-assets"
    assert api.refused("POST", path, **asset("adapter_model.safetensors", WEIGHTS + b"0")) == (413, 7021)
    api.ok("POST", path, **asset("adapter_model.safetensors", WEIGHTS))


def test_cloudflares_own_adapters_are_listed_apart(api: Api) -> None:
    assert [each["name"] for each in api.ok("GET", f"{PATH}/public?limit=2")] == [
        "cf-public-magicoder", "cf-public-jigsaw-classification",
    ]  # fmt: skip
    assert len(api.ok("GET", f"{PATH}/public?offset=2")) == 1
    assert api.ok("GET", PATH) == []
