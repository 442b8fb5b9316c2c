"""Embeddings: right sizes, deterministic, of length 1, and near for texts that are alike."""

from __future__ import annotations

import base64
import math
import struct

import pytest

from sluiceway.local.ai.embeddings import embed, similarity
from tests.local.ai.conftest import GLM, Served

SIZES = {"@cf/baai/bge-m3": 1024, "@cf/baai/bge-small-en-v1.5": 384, "@cf/baai/bge-base-en-v1.5": 768,
         "@cf/qwen/qwen3-embedding-0.6b": 1024, "@cf/google/embeddinggemma-300m": 768}  # fmt: skip


@pytest.mark.parametrize(("model", "size"), SIZES.items())
def test_vectors_have_the_size_of_the_model_and_length_one(served: Served, model: str, size: int) -> None:
    result = served.run(model, {"text": ["one", "two", ""]}).json()["result"]
    assert result["shape"] == [3, size]
    for vector in result["data"]:
        assert len(vector) == size
        assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("How do I reset my password?", "how can I reset the password", "The weather in Oslo is cold today"),
        ("怎么重置密码", "如何重置我的密码", "今天天气很冷"),
        ("delete the bucket", "deleting a bucket", "hello world"),
    ],
)
def test_texts_that_share_wording_are_nearer(text: str, near: str, far: str) -> None:
    assert similarity(text, near) > similarity(text, far) + 0.2


def test_the_openai_path_gives_numbers_or_base64_of_the_same_vector(served: Served) -> None:
    def ask(**more: object) -> dict[str, object]:
        body = {"model": "@cf/baai/bge-m3", "input": ["a b", "c"], **more}
        found: dict[str, object] = served.client.post(f"{served.ai}/v1/embeddings", json=body).json()
        return found

    plain, packed = ask()["data"], ask(encoding_format="base64")["data"]
    assert isinstance(plain, list)
    assert isinstance(packed, list)
    assert plain[0]["embedding"] == pytest.approx(embed("a b", 1024))
    unpacked = struct.unpack("<1024f", base64.b64decode(packed[1]["embedding"]))
    assert unpacked == pytest.approx(plain[1]["embedding"], abs=1e-6)


@pytest.mark.parametrize("text", [None, 5, [], ["a", 1], ["x"] * 101])
def test_inputs_that_are_no_texts_are_refused(served: Served, text: object) -> None:
    response = served.run("@cf/baai/bge-m3", {"text": text})
    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == 5006


def test_a_chat_model_does_not_embed(served: Served) -> None:
    response = served.client.post(f"{served.ai}/v1/embeddings", json={"model": GLM, "input": "x"})
    assert response.status_code == 400


def test_the_reranker_puts_the_nearest_context_first(served: Served) -> None:
    body: dict[str, object] = {
        "query": "reset password",
        "contexts": [{"text": "cold weather"}, {"text": "reset your password here"}],
        "top_k": 1,
    }
    assert [each["id"] for each in served.run("@cf/baai/bge-reranker-base", body).json()["result"]["response"]] == [1]
