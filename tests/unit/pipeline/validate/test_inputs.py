"""What validation reads: rows, tokens, the checkpoint, the machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.validate.cpu import this_cpu
from sluiceway.pipeline.validate.data import Row, read_rows
from sluiceway.pipeline.validate.encode import Tokens
from sluiceway.pipeline.validate.reference import load_reference
from tests.unit.pipeline.graphs import tiny


def test_rows_have_a_text_and_may_have_a_label(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a\\u2028b", "label": "x"}\n\n{"text": "模型", "label": "y"}\n', encoding="utf-8")
    assert read_rows(path) == (Row("a\u2028b", "x"), Row("模型", "y"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a file has 1 to"),
        ('{"text": "a"}\n{"text": ""}', "rows.jsonl:2: a text has 1 to"),
        ('{"text": "a"}\n{"txt": "b"}', "rows.jsonl:2: this isn't a row"),
        ('{"text": "a"}\nnot json', "rows.jsonl:2: this isn't JSON"),
        ('{"text": "a", "label": 3}', "a label is a word"),
        ('{"text": "a", "label": "x"}\n{"text": "b"}', "some rows have a label"),
    ],
)
def test_a_row_at_fault_is_named_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_rows(path)


@pytest.mark.parametrize(("side", "ids"), [("right", [[5, 0, 0], [6, 7, 8]]), ("left", [[0, 0, 5], [6, 7, 8]])])
def test_a_batch_is_padded_on_its_side_and_the_mask_says_where(tmp_path: Path, side: str, ids: list[list[int]]) -> None:
    source = tiny.write(tmp_path / "source", tiny.bert_config(), tiny.bert_tensors(np.random.default_rng(1)))
    tokens = Tokens(source, side, 3)
    feeds = tokens.batch(tokens.encode(["w1", "w2 w3 w4 w5 w6"]))
    assert feeds["input_ids"].tolist() == ids
    assert feeds["attention_mask"].tolist() == [[int(value > 0) for value in row] for row in ids]


def test_no_text_is_longer_than_the_table_of_positions(tmp_path: Path) -> None:
    config = tiny.bert_config(max_position_embeddings=4)
    source = tiny.write(tmp_path / "source", config, tiny.bert_tensors(np.random.default_rng(1)))
    assert [len(row) for row in Tokens(source, "right", 256).encode(["w1 w2 w3 w4 w5 w6"])] == [4]


def test_a_missing_or_broken_tokenizer_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no tokenizer\.json"):
        Tokens(tmp_path, "left", 9)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match="the tokenizer can't be read"):
        Tokens(tmp_path, "left", 9)


def test_an_architecture_without_a_reference_is_refused(tmp_path: Path) -> None:
    config = {"model_type": "mamba"}
    with pytest.raises(UserError, match="no reference is written for this architecture, got 'mamba'"):
        load_reference(tiny.write(tmp_path / "source", config, tiny.bert_tensors(np.random.default_rng(1))))


def test_a_processor_is_told_by_the_flags_that_matter(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("model name\t: Some Chip\nflags\t\t: fpu avx2 avx512_vnni sse\n", encoding="utf-8")
    assert (this_cpu(info).name, this_cpu(info).flags) == ("Some Chip", ("avx2", "avx512_vnni"))
    assert this_cpu(tmp_path / "nothing").flags == ()
