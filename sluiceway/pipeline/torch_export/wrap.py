"""What is traced: a model behind plain tensors, with the inputs and outputs of a graph that is drawn by hand.

Imported only where torch is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

from sluiceway.errors import UserError

Feeds = dict[str, NDArray[Any]]
_TRACED: Final = (2, 3, 5)
"""Rows, new tokens and tokens before them when a graph is traced: sizes of 0 and 1 would be taken for fixed."""
_LEAST: Final = 1e-9
_NO_CACHE: Final = "models with recurrent or linear attention can't be exported here; take another one"


@dataclass(frozen=True)
class Traced:
    """``module`` takes the arrays of ``inputs`` in their order; ``dims``: the names of the axes that are free.

    ``cache``: of each layer the shapes [heads, width] of what it keeps, key and value.
    """

    module: Any
    inputs: tuple[tuple[str, tuple[str | int, ...]], ...]
    outputs: tuple[tuple[str, tuple[str | int, ...]], ...]
    vocabulary: int
    cache: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()

    def example(self) -> Feeds:
        """Feeds of the sizes that are traced."""
        return self.feeds(*_TRACED if self.cache else (*_TRACED[:2], 0))

    def feeds(self, rows: int, length: int, past: int, padding: int = 0, seed: int = 0) -> Feeds:
        """Feeds by name; each row but the first begins with ``padding`` tokens that the mask hides."""
        random = np.random.default_rng(seed)
        mask = np.ones((rows, past + length), np.int64)
        mask[1:, :padding] = 0
        places = np.maximum(mask.cumsum(axis=1) - 1, 0)[:, past:]
        made: Feeds = {
            "input_ids": random.integers(0, self.vocabulary, (rows, length)),
            "attention_mask": mask,
            "position_ids": np.ascontiguousarray(places),
        }
        for number, pair in enumerate(self.cache):
            for kind, (heads, width) in zip(("key", "value"), pair, strict=True):
                values = random.standard_normal((rows, heads, past, width)).astype(np.float32)
                made[f"past_key_values.{number}.{kind}"] = values
        return {name: made[name] for name, _ in self.inputs}

    def answer(self, feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """What torch answers, in the order of ``outputs``."""
        with torch.no_grad():
            found = self.module(*(torch.from_numpy(feeds[name]) for name, _ in self.inputs))
        return [each.numpy() for each in found]


def wrap(model: Any, kind: str, pooling: tuple[str, bool]) -> Traced:  # noqa: ANN401
    """``pooling``: how an encoder's tokens become one vector. UserError for a cache that isn't keys and values."""
    if kind == "causal-lm":
        return _causal(model)
    tokens = (("input_ids", ("batch", "length")), ("attention_mask", ("batch", "length")))
    vocabulary = int(model.config.vocab_size)
    if kind == "classifier":
        return Traced(_Classifier(model), tokens, (("logits", ("batch", int(model.config.num_labels))),), vocabulary)
    width = int(model.config.hidden_size)
    outputs = (("sentence_embedding", ("batch", width)), ("last_hidden_state", ("batch", "length", width)))
    return Traced(_Encoder(model, *pooling), tokens, outputs, vocabulary)


def _causal(model: Any) -> Traced:  # noqa: ANN401
    cache = cache_shapes(model)
    vocabulary = int(model.config.vocab_size)
    tokens = [("input_ids", ("batch", "length")), ("attention_mask", ("batch", "total"))]
    places = ("position_ids", ("batch", "length"))
    past = _ports("past_key_values", cache, "past")
    outputs = [("logits", ("batch", "length", vocabulary)), *_ports("present", cache, "total")]
    return Traced(_Causal(model, len(cache)), (*tokens, places, *past), tuple(outputs), vocabulary, cache)


def _ports(stem: str, cache: Sequence[Any], length: str) -> list[tuple[str, tuple[str | int, ...]]]:
    return [
        (f"{stem}.{number}.{kind}", ("batch", heads, length, width))
        for number, pair in enumerate(cache)
        for kind, (heads, width) in zip(("key", "value"), pair, strict=True)
    ]


def cache_shapes(model: Any) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:  # noqa: ANN401
    """[heads, width] of what each layer keeps, as a forward shows them: a latent's aren't those that a config says."""
    rows, length, _ = _TRACED
    ids = torch.zeros((rows, length), dtype=torch.int64)
    try:
        with torch.no_grad():
            found = model(input_ids=ids, cache=DynamicCache(), use_cache=True).cache
    except Exception as error:  # a model with a state of its own finds no place for it, wherever it looks first
        message = f"the model doesn't run with a cache of keys and values: {type(error).__name__}"
        raise UserError(message, path="export.kind", hint=_NO_CACHE) from error
    shapes = []
    for number, layer in enumerate(found.layers):
        pair = [tuple(getattr(getattr(layer, each, None), "shape", ())) for each in ("keys", "values")]
        if any(len(shape) != 4 or shape[0] != rows or shape[2] != length for shape in pair):
            raise UserError(
                "a layer's cache isn't keys and values of each token",
                path=f"layer {number}",
                got=[list(shape) for shape in pair],
                hint=_NO_CACHE,
            )
        shapes.append(((pair[0][1], pair[0][3]), (pair[1][1], pair[1][3])))
    return tuple(shapes)


class _Causal(torch.nn.Module):  # type: ignore[misc]
    """ids, mask, positions and the cache, layer by layer -> logits and the cache with the new tokens in it."""

    def __init__(self, model: Any, layers: int) -> None:  # noqa: ANN401
        super().__init__()
        self.model, self.layers = model, layers

    def forward(self, input_ids: Any, attention_mask: Any, position_ids: Any, *past: Any) -> tuple[Any, ...]:  # noqa: ANN401
        cache = DynamicCache()
        for number in range(self.layers):
            cache.update(past[2 * number], past[2 * number + 1], number)
        found = self.model(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, cache=cache, use_cache=True
        )
        kept = [each for layer in found.cache.layers for each in (layer.keys, layer.values)]
        return (found.logits, *kept)


class _Encoder(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: Any, pooling: str, normalize: bool) -> None:  # noqa: ANN401
        super().__init__()
        self.model, self.pooling, self.normalize = model, pooling, normalize

    def forward(self, input_ids: Any, attention_mask: Any) -> tuple[Any, Any]:  # noqa: ANN401
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        if self.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            seen = attention_mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * seen).sum(dim=1) / seen.sum(dim=1).clamp(min=_LEAST)
        if self.normalize:
            pooled = pooled / pooled.norm(dim=1, keepdim=True).clamp(min=_LEAST)
        return pooled, hidden


class _Classifier(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any) -> tuple[Any]:  # noqa: ANN401
        return (self.model(input_ids=input_ids, attention_mask=attention_mask).logits,)
