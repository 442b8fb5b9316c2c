"""What the inference Worker is held to is what the libraries give today."""

from __future__ import annotations

import pytest

from tests.contract.make_embedder import FOLDER, documents


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx", "cases.json"])
def test_the_file_is_what_its_maker_makes(name: str) -> None:
    assert (FOLDER / name).read_bytes() == documents()[name]
