"""Makes embedder/: a tokenizer, a tiny model and what the `tokenizers` and `onnxruntime` libraries make of some texts.

    python -m tests.contract.make_embedder

The inference Worker must give the same ids, and the same vectors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from onnx import TensorProto, helper, numpy_helper
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

FOLDER = Path(__file__).parent / "embedder"
LIMIT = 24
WIDTH = 8
_WORDS = """the hello world token ##ization un ##believ ##able cafe resume naive strasse run ##ning quick brown fox
 jump ##s over lazy dog model route cost edge 你 好 世 界 模 型 东 京 한 ##국 ##어 привет мир σοφ ##ος 2026 ##26 3 ##14
 . , ! ? - ' _ / @ # ( )"""
TEXTS = (
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "unbelievable tokenization running",
    "你好，世界！模型 model",
    "東京 と 东京 mixed 한국어",
    "Café résumé NAÏVE Straße",
    "ΣΟΦΟΣ σοφος ΣοφΟς",
    "İstanbul ISTANBUL ıi",
    "привет МИР",
    "  spaces\tand\nlines\u2028and\u00a0more\u3000 ",
    "zero\u200bwidth\u00adsoft\ufeffmark\u0000nul\ufffdbad",
    "emoji 🦊👩‍👩‍👧 flag 🇩🇪 end",
    "[SEP] in a text, [MASK] too, [CLS][PAD] [sep]",
    "a" * 101 + " " + "b" * 100,
    "punct_uation-in@every#place(3.14)/'quoted' “curly” «angle» ¿que? ¡si!",
    "ﬁ ligature Ａｌｐｈａ fullwidth ① Ⅳ ½",
    "e\u0301 combining \u0489 enclosing a\u0323\u0307",
    "𠀀 𪜀 𫝀 𫠠 𫤠 豈 丽 ideographs 〇 々 ぁ ア",
    "\u0085 next line \u001f unit \u007f delete \ue000 private \ud7ff end",
    "2026-11-30T12:00Z 202626 31414",
    "",
    " ",
    "🦊",
    "the " * 40,
    "$100 + 5% = £42 ^ ` | ~ © ® ™ € ° § ¶ † ‡ • … ‰",
    "नमस्ते สวัสดี مرحبا שלום",
    "not assigned \u0e7d\u09ff here",
)


def tokenizer() -> Tokenizer:
    """BERT's own, over a vocabulary of some letters and pieces."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1) if chr(code) not in "kqz"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *_WORDS.split()])
    made = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in special])
    ends = [(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    made.enable_truncation(LIMIT)
    return made


def model(words: int) -> bytes:
    """Mean of the words' vectors over the mask, scaled to length 1: the smallest thing with an encoder's inputs."""
    # Whole numbers from a fixed formula: no generator whose numbers may change.
    table = ((np.arange(words * WIDTH) * 7919 % 201) - 100).reshape(words, WIDTH).astype(np.float32) / 100
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["seen", "last"], ["column"]),
        helper.make_node("Mul", ["words", "column"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "places"], ["sum"], keepdims=0),
        helper.make_node("ReduceSum", ["column", "places"], ["count"], keepdims=0),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("ReduceL2", ["mean"], ["length"], axes=[1], keepdims=1),
        helper.make_node("Div", ["mean", "length"], ["sentence_embedding"]),
    ]
    names = ("input_ids", "attention_mask")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    outputs = [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH])]
    weights = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "places"),
    ]
    graph = helper.make_graph(nodes, "embedder", inputs, outputs, weights)
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    return bytes(made.SerializeToString(deterministic=True))


def expected(made: Tokenizer, content: bytes) -> list[dict[str, Any]]:
    """Ids and vector of each text, each run alone."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    rows = []
    for text in TEXTS:
        ids = made.encode(text).ids
        asked = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), dtype=np.int64)}
        (vectors,) = session.run(["sentence_embedding"], asked)
        rows.append({"text": text, "ids": ids, "vector": [round(float(value), 6) for value in vectors[0]]})
    return rows


def documents() -> dict[str, bytes]:
    made = tokenizer()
    content = model(made.get_vocab_size())
    cases = {"limit": LIMIT, "cases": expected(made, content)}
    return {
        "tokenizer.json": made.to_str(pretty=True).encode() + b"\n",
        "model.onnx": content,
        "cases.json": json.dumps(cases, ensure_ascii=True, indent=1).encode() + b"\n",
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in documents().items():
        (FOLDER / name).write_bytes(content)
