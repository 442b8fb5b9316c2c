"""An ONNX encoder of a team's own behind /v1/embeddings: from files in models/ to vectors out of workerd."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx
import openai
import pytest

from tests.e2e.checkout import Checkout
from tests.e2e.conftest import bring_up

pytestmark = pytest.mark.long

EMBEDDER = Path(__file__).parents[1] / "contract" / "embedder"


def add_words(checkout: Checkout) -> None:
    """words@1, the tiny encoder of the contract, in the catalogue and on the local stage."""
    folder = checkout.root / "models" / "artifacts" / "words" / "1"
    folder.mkdir(parents=True)
    lines = ["task: embed", "versions:", "  - version: words@1", "    backend: onnx", "    files:"]
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(EMBEDDER / name, folder / name)
        content = (folder / name).read_bytes()
        lines += [f"      - name: {name}", f"        path: artifacts/words/1/{name}"]
        lines += [f"        sha256: {hashlib.sha256(content).hexdigest()}", f"        bytes: {len(content)}"]
    (checkout.root / "models" / "words.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    project = checkout.root / "Pulumi.yaml"
    split = r"\n      words:\n        split: [{version: words@1, weight: 100}]\1"
    text, count = re.subn(r"(\n      embed:\n        split:\n)", split, project.read_text())
    assert count == 1
    project.write_text(text)


def test_an_encoder_answers_from_workerd_and_the_next_up_changes_nothing(fresh: Callable[[], Checkout]) -> None:
    checkout = fresh()
    add_words(checkout)
    served = bring_up(checkout)
    cases = json.loads((EMBEDDER / "cases.json").read_text(encoding="utf-8"))
    rows = [row for row in cases["cases"] if 2 < len(row["ids"]) < cases["limit"]]
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key=served.key, max_retries=0) as client:
        answer = client.embeddings.create(model="words", input=[row["text"] for row in rows])
        with pytest.raises(openai.BadRequestError, match="more than the 256 tokens"):
            client.embeddings.create(model="words", input="the " * 300)
    assert answer.usage.prompt_tokens == sum(len(row["ids"]) for row in rows)
    for row, found in zip(rows, answer.data, strict=True):
        assert all(math.isclose(a, b, abs_tol=1e-4) for a, b in zip(row["vector"], found.embedding, strict=True))
    headers = {"authorization": f"Bearer {served.key}", "host": "sluiceway-local-inference.local.workers.dev"}
    assert httpx.get(f"{served.url}/health", headers=headers, trust_env=False).status_code == 404
    again = checkout.sluiceway("up", "local", "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["changes"].keys() <= {"same"}, again.out
