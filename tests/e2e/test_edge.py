"""Linear models at the edge: intent answers from workerd, and the router sends what is simple to a smaller model."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import httpx
import pytest

from models.recipes.intent import features, verify
from tests.e2e.checkout import ROOT, Checkout
from tests.e2e.conftest import Served, bring_up

pytestmark = pytest.mark.long

LARGE = """
        split:
          - { version: chat@2, weight: 100 }
        route: { by: router, simple: chat@1, threshold: 0.5 }"""
EASY = "Translate this letter into French, please"
HARD = "证明根号二是无理数"


def route_chat(checkout: Checkout, simple: str = "chat@1") -> None:
    """The stage serves chat@2, and the router has chat@1 answer what is simple."""
    project = checkout.root / "Pulumi.yaml"
    text, count = re.subn(
        r"\n      chat:\n        split:\n(          - .*\n)+", "\n      chat:" + LARGE + "\n", project.read_text()
    )
    assert count == 1
    text = text.replace("simple: chat@1", f"simple: {simple}")
    split = "\n      router:\n        split: [{version: router@1, weight: 100}]\n      intent:\n"
    project.write_text(text.replace("\n      intent:\n", split, 1))


def ask(served: Served, path: str, body: object, **headers: str) -> httpx.Response:
    sent = {"authorization": f"Bearer {served.key}", "x-sluiceway-cache": "bypass", **headers}
    return httpx.post(f"{served.url}{path}", json=body, headers=sent, timeout=60, trust_env=False)


def chat(served: Served, text: str, model: str = "chat", **headers: str) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    return ask(served, "/v1/chat/completions", body, **headers)


def test_linear_models_answer_from_workerd_and_route_what_is_simple(fresh: Callable[[], Checkout]) -> None:
    checkout = fresh()
    route_chat(checkout, simple="chat-small")
    refused = checkout.sluiceway("validate", "local")
    assert refused.code == 2
    assert "models.chat.route.simple" in refused.err
    (checkout.root / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text())
    route_chat(checkout)
    served = bring_up(checkout)

    texts = [EASY, "帮我修复这段Python代码的错误", "  Summarise ＴＨＩＳ "]
    answer = ask(served, "/v1/classify", {"model": "intent", "input": texts})
    assert answer.status_code == 200, answer.text
    file = ROOT / "models/artifacts/intent/1"
    labels = json.loads((file / "manifest.json").read_text(encoding="utf-8"))["labels"]
    rows = verify.run((file / "model.onnx").read_bytes(), features.vectors(texts))
    for row, found in zip(rows, answer.json()["data"], strict=True):
        assert found["label"] == labels[int(row.argmax())]
        for label, share in zip(labels, row, strict=True):
            assert math.isclose(found["probabilities"][label], share, abs_tol=1e-5)

    easy, hard = chat(served, EASY), chat(served, HARD)
    assert (easy.status_code, easy.json()["model"]) == (200, "chat@1")
    assert re.fullmatch(r"simple [01]\.\d\d", easy.headers["x-sluiceway-route"])
    assert (hard.status_code, hard.json()["model"]) == (200, "chat@2")
    assert re.fullmatch(r"complex 0\.\d\d", hard.headers["x-sluiceway-route"])
    off = chat(served, EASY, **{"x-sluiceway-route": "off"})
    assert (off.headers["x-sluiceway-model"], off.headers["x-sluiceway-route"]) == ("chat@2", "complex off")
    pinned = chat(served, EASY, "chat@2")
    assert "x-sluiceway-route" not in pinned.headers

    again = checkout.sluiceway("up", "local", "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["changes"].keys() <= {"same"}, again.out
