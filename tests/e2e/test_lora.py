"""A LoRA adapter from its folder to an answer: published, a version with it, a stage that serves it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.e2e.checkout import Checkout
from tests.e2e.conftest import bring_up
from tests.unit.pipeline.lora.tiny import write

pytestmark = pytest.mark.long

LOST = """task: chat
versions:
  - {version: lost@1, backend: workers-ai, id: "@cf/google/gemma-2b-it-lora", lora: lost-1}
"""


def serve(checkout: Checkout, *models: str) -> None:
    """The first version of each model, on all stages."""
    project = checkout.root / "Pulumi.yaml"
    splits = "".join(rf"\n      {name}:\n        split: [{{version: {name}@1, weight: 100}}]" for name in models)
    text, count = re.subn(r"(\n      embed:\n        split:\n)", splits + r"\1", project.read_text())
    assert count == 1
    project.write_text(text)


def test_a_chat_is_answered_with_the_adapter_of_its_version(fresh: Callable[[], Checkout], tmp_path: Path) -> None:
    checkout = fresh()
    assert checkout.sluiceway("local", "start").code == 0
    folder = write(tmp_path / "adapter")
    words = ("models", "lora", "publish", str(folder), "--base", "gemma-2b-it-lora", "--name", "tone-1")
    done = checkout.sluiceway(*words, "--model", "tone", "--write", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["version"] == "tone@1"
    again = checkout.sluiceway(*words, "--model", "tone", "--write")
    assert again.code == 0, again.err
    assert "nothing was sent" in again.err
    (checkout.root / "models" / "lost.yaml").write_text(LOST)
    serve(checkout, "tone", "lost")
    served = bring_up(checkout)

    question: Any = [{"role": "user", "content": "How are you?"}]
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key=served.key, max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(model="tone", messages=question)
        assert raw.headers["x-sluiceway-model"] == "tone@1"
        whole = raw.parse().choices[0].message.content
        assert whole is not None and whole.startswith("[scripted gemma-2b-it-lora + tone-1] ")
        stream = client.chat.completions.create(model="tone", messages=question, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == whole
        with pytest.raises(openai.InternalServerError, match=r"\(3037\).*Finetune lost-1 not found") as caught:
            client.chat.completions.create(model="lost", messages=question)
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_refused")

    listed = json.loads(checkout.sluiceway("models", "lora", "list", "local", "--json").out)
    assert [(row["name"], row["versions"]) for row in listed["adapters"]] == [("tone-1", ["tone@1"])]
    assert listed["missing"] == {"lost-1": ["lost@1"]}
    shown = httpx.get(f"{served.url}/v1/models", headers={"authorization": f"Bearer {served.key}"}, trust_env=False)
    assert {"tone", "lost"} <= {model["id"] for model in shown.json()["data"]}
