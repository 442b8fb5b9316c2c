"""A tiny decoder and encoder with their data, and ways to spoil them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from sluiceway.pipeline.graphs.export import ExportSettings, export
from tests.unit.pipeline.graphs import tiny

Spoil = Callable[[ModelProto], None]


@dataclass(frozen=True)
class Made:
    """``reference``: the folder of the checkpoint; ``model``: its export; ``data``: a JSONL file."""

    reference: Path
    model: Path
    data: Path

    def spoilt(self, spoil: Spoil) -> Path:
        """A copy of the model beside it, which ``spoil`` has changed."""
        copy = onnx.load(self.model)
        spoil(copy)
        path = self.model.parent / "spoilt.onnx"
        onnx.save(copy, path)
        return path


def make(folder: Path, kind: str, cache: bool = False, rows: int = 12) -> Made:
    """``kind`` as an export has it: encoder, classifier or causal-lm."""
    rng = np.random.default_rng(5)
    if kind == "causal-lm":
        source = tiny.write(folder / "source", tiny.llama_config(), tiny.llama_tensors(rng))
    else:
        classes = {"id2label": {"0": "calm", "1": "cross", "2": "sad"}} if kind == "classifier" else {}
        tensors = tiny.bert_tensors(rng, labels=len(classes and classes["id2label"]))
        source = tiny.write(folder / "source", tiny.bert_config(**classes), tensors)
    (folder / "out").mkdir()
    path = export(source, folder / "out", ExportSettings(kind, cache=cache)).path
    data = folder / "data.jsonl"
    data.write_text("\n".join(json.dumps({"text": text}) for text in texts(rng, rows)), encoding="utf-8")
    return Made(source, path, data)


def texts(rng: np.random.Generator, rows: int) -> list[str]:
    """Of 3 to 14 words, which the tokenizer knows."""
    return [" ".join(f"w{word}" for word in rng.integers(0, 60, 3 + row % 12)) for row in range(rows)]


def output(model: ModelProto, operator: str, *more: str, **attributes: Any) -> None:  # noqa: ANN401 - any attribute
    """Puts one more node before the first output."""
    name = model.graph.output[0].name
    for node in model.graph.node:
        node.output[:] = ["spoilt_in" if value == name else value for value in node.output]
        node.input[:] = ["spoilt_in" if value == name else value for value in node.input]
    model.graph.node.append(helper.make_node(operator, ["spoilt_in", *more], [name], **attributes))


def constant(model: ModelProto, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    model.graph.initializer.append(numpy_helper.from_array(values, "spoilt_with"))
    return "spoilt_with"


def all_nan(model: ModelProto) -> None:
    output(model, "Mul", constant(model, np.array(np.nan, np.float32)))


def shifted(model: ModelProto) -> None:
    output(model, "Add", constant(model, np.array(1000, np.float32)))


def permuted(model: ModelProto) -> None:
    order = np.random.default_rng(1).permutation(len(tiny.WORDS))
    output(model, "Gather", constant(model, order.astype(np.int64)), axis=2)


def noise(share: float) -> Spoil:
    """Each weight moved by that share of its tensor's spread."""

    def spoil(model: ModelProto) -> None:
        rng = np.random.default_rng(3)
        for weight in model.graph.initializer:
            values = numpy_helper.to_array(weight)
            if weight.name.endswith("weight"):
                moved = values + rng.standard_normal(values.shape).astype(np.float32) * values.std() * share
                weight.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), weight.name))

    return spoil


def forgetful(model: ModelProto) -> None:
    """The keys of the first layer's past are read as zeros."""
    name = "past_key_values.0.key"
    for node in model.graph.node:
        node.input[:] = ["spoilt_past" if value == name else value for value in node.input]
    nothing = constant(model, np.zeros(1, np.float32))
    model.graph.node.insert(0, helper.make_node("Mul", [name, nothing], ["spoilt_past"]))


def blind(model: ModelProto) -> None:
    """The mask is read, and what it hides is seen all the same."""
    for node in model.graph.node:
        if node.name == "mask/Cast":
            ones = constant(model, np.ones((1, 1), np.int64))
            model.graph.node.insert(0, helper.make_node("Max", [node.input[0], ones], ["spoilt_mask"]))
            node.input[0] = "spoilt_mask"
            return
    raise AssertionError("there is no mask")
