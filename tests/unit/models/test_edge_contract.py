from __future__ import annotations

import json

import numpy as np

from models.recipes.router import features
from tests.contract import make_edge

CONTRACT = json.loads(make_edge.FILE.read_text(encoding="utf-8"))


def test_onnxruntime_answers_what_the_worker_is_held_to() -> None:
    found = json.loads(json.dumps(make_edge.made()))
    for model in ("small", "router", "injection", "intent"):
        assert found[model]["labels"] == CONTRACT[model]["labels"]
        assert np.allclose(found[model]["rows"], CONTRACT[model]["rows"], atol=1e-6)
    assert (found["texts"], found["small"]["onnx"]) == (CONTRACT["texts"], CONTRACT["small"]["onnx"])


def test_the_texts_are_long_enough_to_meet_the_cap_also_within_a_rare_character() -> None:
    texts = [text for text in CONTRACT["texts"] if len(text) > features.CAP]
    assert any(ord(text[features.CAP - 1]) > 0xFFFF for text in texts)
