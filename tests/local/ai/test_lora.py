"""A request with a LoRA adapter: answered as that adapter if it is there, whole and for the model; else refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sluiceway.local.ai.scripted import ScriptedEngine
from tests.local.ai.conftest import GLM, Served, serving
from tests.local.ai.test_chat import user
from tests.local.ai.test_remote import remote_stage

GEMMA = "@cf/google/gemma-2b-it-lora"
MISTRAL = "@cf/mistral/mistral-7b-instruct-v0.2-lora"
BOTH: dict[str, Any] = {"adapter_config.json": {}, "adapter_model.safetensors": {}}
KEPT: dict[str, Mapping[str, Any]] = {
    "whole": {"name": "whole", "model": GEMMA, "assets": BOTH},
    "id-of-whole": {"name": "whole", "model": GEMMA, "assets": BOTH},
    "half": {"name": "half", "model": GEMMA, "assets": {"adapter_config.json": {}}},
}


@pytest.fixture(scope="module")
def adapted() -> Iterator[Served]:
    with serving(ScriptedEngine(token_delay=0.0)) as found:
        found.stage.finetune = KEPT.get
        yield found


def said(served: Served, model: str, **body: object) -> str:
    answer = served.run(model, {"messages": user("hi"), **body})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"]["response"])


def refused(served: Served, model: str, lora: str, **body: object) -> tuple[int, int, str]:
    answer = served.run(model, {"messages": user("hi"), "lora": lora, **body})
    (error,) = answer.json()["errors"]
    return answer.status_code, error["code"], error["message"]


def test_the_answer_says_which_adapter_gave_it_under_its_name_or_its_id(adapted: Served) -> None:
    assert said(adapted, GEMMA, lora="whole").startswith("[scripted gemma-2b-it-lora + whole] ")
    assert said(adapted, GEMMA, lora="id-of-whole") == said(adapted, GEMMA, lora="whole")
    plain = said(adapted, GEMMA)
    assert plain.startswith("[scripted gemma-2b-it-lora] ")
    assert said(adapted, GEMMA, lora="") == plain == said(adapted, GEMMA, lora=None)


def test_an_adapter_that_is_not_there_is_error_3037(adapted: Served) -> None:
    status, code, message = refused(adapted, GEMMA, "none")
    assert (status, code) == (404, 3037)
    assert message.startswith("AiError: Finetune none not found")
    assert refused(adapted, MISTRAL, "whole")[1] == 3037, "it is another model's"
    assert refused(adapted, GEMMA, "none", stream=True)[:2] == (404, 3037), "before the stream begins"


def test_an_adapter_that_lacks_a_file_is_error_3039(adapted: Served) -> None:
    status, code, message = refused(adapted, GEMMA, "half")
    assert (status, code) == (400, 3039)
    assert "missing required files" in message


def test_a_model_that_takes_none_is_error_5005(adapted: Served) -> None:
    assert refused(adapted, GLM, "whole")[:2] == (405, 5005)


def test_a_server_is_asked_for_the_model_of_the_adapters_name(adapted: Served) -> None:
    with remote_stage(f"{adapted.ai}/v1") as remote:
        remote.stage.finetune = KEPT.get
        status, code, message = refused(remote, GEMMA, "whole")
        assert (status, code) == (400, 5006)
        assert "No such model whole" in message
