"""Who answers: an ONNX file by onnxruntime, or a checkpoint by the float64 forward. Both take the same feeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError
from sluiceway.pipeline.checks.session import line, open_session
from sluiceway.pipeline.validate.encode import Feeds
from sluiceway.pipeline.validate.reference import load_reference

_KINDS: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
_PREFERRED = {
    "embed": ("sentence_embedding",),
    "classify": ("logits", "probabilities"),
    "chat": ("logits",),
}
_AXES = {"embed": 2, "classify": 2, "chat": 3}

Answer = Mapping[str, NDArray[Any]]
Cache = Mapping[str, NDArray[Any]]


class Fails(Exception):
    """The model can't answer what it was fed; the text is the runtime's, in a line."""


class Answers(Protocol):
    @property
    def cached(self) -> bool:
        """Whether it takes a cache."""
        ...

    def answer(self, feeds: Feeds, cache: Cache | None = None) -> Answer:
        """All outputs by name. Raises Fails."""
        ...


def open_answers(path: Path) -> Answers:
    """An ONNX file, or the folder of a checkpoint. Raises UserError."""
    return _Checkpoint(path) if path.is_dir() else OnnxModel(path)


class OnnxModel:
    """One thread of onnxruntime. Inputs that a client needn't give are made here: types, positions, an empty cache."""

    def __init__(self, path: Path) -> None:
        self._session = open_session(path)
        self._inputs = {value.name: value for value in self._session.get_inputs()}
        self._outputs = [value.name for value in self._session.get_outputs()]
        self.past = [name for name in self._inputs if name.startswith("past")]

    @property
    def cached(self) -> bool:
        return bool(self.past)

    @property
    def properties(self) -> Mapping[str, str]:
        """What the file says of itself."""
        return dict(self._session.get_modelmeta().custom_metadata_map)

    def feeds(self, feeds: Feeds, cache: Cache | None = None) -> dict[str, NDArray[Any]]:
        """What the session is fed: every input it has, in its type. Raises UserError for one that it doesn't know."""
        made: dict[str, NDArray[Any]] = {}
        for name, value in self._inputs.items():
            kind = _KINDS.get(value.type, np.float32)
            made[name] = self._array(name, value.shape, feeds, cache or {}).astype(kind)
        return made

    def answer(self, feeds: Feeds, cache: Cache | None = None) -> Answer:
        return dict(zip(self._outputs, self.run(self.feeds(feeds, cache)), strict=True))

    def run(self, made: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        try:
            return list(self._session.run(self._outputs, made))
        except Exception as error:  # the runtime raises a dozen kinds
            raise Fails(line(error)) from error

    def cache_of(self, answer: Answer) -> Cache:
        """The cache that goes with the next call: ``present.N.key`` becomes ``past_key_values.N.key``."""
        return {name: answer[name.replace("past_key_values", "present")] for name in self.past}

    def _array(self, name: str, shape: list[Any], feeds: Feeds, cache: Cache) -> NDArray[Any]:
        if name in feeds:
            return feeds[name]
        if name in cache:
            return cache[name]
        ids = feeds.get("input_ids")
        if ids is None:
            raise UserError("the model takes an input that the data doesn't give", path=name, hint="give its features")
        if name == "token_type_ids":
            return np.zeros_like(ids)
        if name == "position_ids":
            places = np.maximum(feeds["attention_mask"].cumsum(axis=1) - 1, 0)
            return np.asarray(places[:, -ids.shape[1] :])
        if name in self.past:
            sizes = [size if isinstance(size, int) else 0 for size in shape]
            return np.zeros((len(ids), *sizes[1:]), np.float32)
        raise UserError("nothing is known of this input", path=name, hint="validate a model that takes ids and a mask")


class _Checkpoint:
    cached = False

    def __init__(self, folder: Path) -> None:
        self._reference = load_reference(folder)

    def answer(self, feeds: Feeds, cache: Cache | None = None) -> Answer:
        return self._reference.forward(feeds["input_ids"], feeds["attention_mask"])


def chosen(answer: Answer, task: str) -> NDArray[Any]:
    """The output that the task is about, float: [rows, width], or [rows, length, vocabulary] of a chat model.

    Probabilities come back as their logarithms, which are logits too. Raises UserError when there is none.
    """
    fitting = [name for name, value in answer.items() if value.ndim == _AXES[task] and value.dtype.kind == "f"]
    names = [name for name in _PREFERRED[task] if name in fitting] or fitting
    if not names:
        wanted = " or ".join(_PREFERRED[task])
        raise UserError(f"no output fits the task {task}", got=sorted(answer), hint=f"export it with {wanted}")
    values = answer[names[0]]
    if names[0] == "probabilities":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.maximum(values.astype(np.float64), 1e-12)))
    return values
