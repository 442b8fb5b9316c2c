"""A second, independent forward of the architectures that are exported without torch: float64, plain numpy.

Written from the definition of the architecture. It shares no code with the exporter: not the reader of weights, not
that of config.json, not the order of the sums. What an export is checked against must not make its mistakes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ERF = np.frompyfunc(math.erf, 1, 1)


class Reference(Protocol):
    def forward(self, ids: Ints, mask: Ints) -> Mapping[str, Floats]:
        """Outputs by name, as an export has them. ``ids`` and ``mask`` [batch, length]."""
        ...


def load_reference(folder: Path) -> Reference:
    """The forward of the checkpoint in ``folder``. Raises UserError for an architecture that isn't written here."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    tensors = _tensors(folder)
    kind = config.get("model_type")
    if kind == "bert":
        return Bert(config, tensors, _pooling(folder))
    if kind == "llama":
        return Llama(config, tensors)
    hint = "validate against an ONNX file of the float model"
    raise UserError("no reference is written for this architecture", path=str(folder), got=kind, hint=hint)


class Bert:
    """Outputs ``last_hidden_state`` and ``sentence_embedding``, or ``logits`` where there is a classifier."""

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Floats], pooling: tuple[str, bool]) -> None:
        self._t = {name.removeprefix("bert."): array for name, array in tensors.items()}
        self._heads, self._layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self._eps = float(config.get("layer_norm_eps", 1e-12))
        self._pooling, self._normalize = pooling

    def forward(self, ids: Ints, mask: Ints) -> Mapping[str, Floats]:
        t = self._t
        x = t["embeddings.word_embeddings.weight"][ids]
        x = x + t["embeddings.position_embeddings.weight"][np.arange(ids.shape[1])]
        x = self._norm(x + t["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self._layers):
            x = self._layer(x, mask, f"encoder.layer.{number}")
        if "classifier.weight" in t:
            first = np.tanh(self._dense(x[:, 0], "pooler.dense"))
            return {"logits": self._dense(first, "classifier")}
        return {"sentence_embedding": self._pool(x, mask), "last_hidden_state": x}

    def _layer(self, x: Floats, mask: Ints, name: str) -> Floats:
        query, key, value = (
            _split(self._dense(x, f"{name}.attention.self.{kind}"), self._heads) for kind in ("query", "key", "value")
        )
        scores = np.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(query.shape[-1])
        shares = softmax(np.where(mask[:, None, None, :] == 0, -np.inf, scores))
        mixed = np.einsum("bhqk,bkhd->bqhd", shares, value).reshape(x.shape)
        x = self._norm(x + self._dense(mixed, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = self._dense(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1.0 + erf(inner / np.sqrt(2.0)))
        return self._norm(x + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _pool(self, x: Floats, mask: Ints) -> Floats:
        rows = [
            row[0] if self._pooling == "cls" else row[seen == 1].mean(axis=0) for row, seen in zip(x, mask, strict=True)
        ]
        pooled = np.stack(rows)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True) if self._normalize else pooled

    def _dense(self, x: Floats, name: str) -> Floats:
        flat = x.reshape(-1, x.shape[-1]) @ self._t[f"{name}.weight"].T  # one product of matrices, not one a row
        return (flat + self._t[f"{name}.bias"]).reshape(*x.shape[:-1], -1)

    def _norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(np.var(x, axis=-1, keepdims=True) + self._eps)
        return np.asarray(scaled * self._t[f"{name}.weight"] + self._t[f"{name}.bias"])


class Llama:
    """Output ``logits``. Each row is computed by itself, without its padding, so that padding can't touch it."""

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Floats]) -> None:
        self._t, self._layers = tensors, int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._kv = int(config.get("num_key_value_heads") or self._heads)
        self._eps = float(config.get("rms_norm_eps", 1e-6))
        parameters = config.get("rope_parameters") or {}
        self._theta = float(parameters.get("rope_theta") or config["rope_theta"])
        tied = bool(config.get("tie_word_embeddings", False))
        self._head = tensors["model.embed_tokens.weight" if tied else "lm_head.weight"]

    def forward(self, ids: Ints, mask: Ints) -> Mapping[str, Floats]:
        """Logits [batch, length, vocabulary]; zeros where the mask hides a token."""
        logits = np.zeros((*ids.shape, len(self._head)))
        for row in range(len(ids)):
            seen = mask[row] == 1
            logits[row, seen] = self._row(ids[row, seen])
        return {"logits": logits}

    def _row(self, ids: Ints) -> Floats:
        x = self._t["model.embed_tokens.weight"][ids]
        for number in range(self._layers):
            name = f"model.layers.{number}"
            x = x + self._attention(self._rms(x, f"{name}.input_layernorm"), f"{name}.self_attn")
            normed = self._rms(x, f"{name}.post_attention_layernorm")
            gate = self._dense(normed, f"{name}.mlp.gate_proj")
            inner = gate / (1.0 + np.exp(-gate)) * self._dense(normed, f"{name}.mlp.up_proj")
            x = x + self._dense(inner, f"{name}.mlp.down_proj")
        return np.asarray(self._rms(x, "model.norm") @ self._head.T)

    def _attention(self, x: Floats, name: str) -> Floats:
        length = len(x)
        query = self._turn(_split(self._dense(x, f"{name}.q_proj"), self._heads))
        key = self._turn(_split(self._dense(x, f"{name}.k_proj"), self._kv))
        value = _split(self._dense(x, f"{name}.v_proj"), self._kv)
        out = np.zeros_like(query)
        later = np.triu(np.ones((length, length), bool), 1)
        for head in range(self._heads):
            shared = head // (self._heads // self._kv)
            scores = query[:, head] @ key[:, shared].T / np.sqrt(query.shape[-1])
            out[:, head] = softmax(np.where(later, -np.inf, scores)) @ value[:, shared]
        return self._dense(out.reshape(length, -1), f"{name}.o_proj")

    def _turn(self, x: Floats) -> Floats:
        """Element i of a head and element i + half are one complex number, turned by position * theta^(-2i/width)."""
        length, _, width = x.shape
        rate = self._theta ** (-2.0 * np.arange(width // 2) / width)
        turn = np.exp(1j * np.arange(length)[:, None] * rate)[:, None, :]
        turned = (x[..., : width // 2] + 1j * x[..., width // 2 :]) * turn
        return np.concatenate([turned.real, turned.imag], axis=-1)

    def _dense(self, x: Floats, name: str) -> Floats:
        out = x @ self._t[f"{name}.weight"].T
        return np.asarray(out + self._t[f"{name}.bias"] if f"{name}.bias" in self._t else out)

    def _rms(self, x: Floats, name: str) -> Floats:
        return np.asarray(x * (np.mean(x * x, axis=-1, keepdims=True) + self._eps) ** -0.5 * self._t[f"{name}.weight"])


def softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def erf(x: Floats) -> Floats:
    return np.asarray(_ERF(x), np.float64)


def _split(x: Floats, heads: int) -> Floats:
    return x.reshape(*x.shape[:-1], heads, -1)


def _tensors(folder: Path) -> Mapping[str, Floats]:
    from safetensors.numpy import load_file

    found: dict[str, Floats] = {}
    for file in sorted(folder.glob("*.safetensors")):
        found |= {name: np.asarray(array).astype(np.float64) for name, array in load_file(file).items()}
    if not found:
        raise UserError("there are no safetensors here", path=str(folder), hint="name the folder of the checkpoint")
    return found


def _pooling(folder: Path) -> tuple[str, bool]:
    modules, pooling = folder / "modules.json", folder / "1_Pooling" / "config.json"
    normalize = not modules.is_file() or "models.Normalize" in modules.read_text("utf-8")
    first = pooling.is_file() and json.loads(pooling.read_text("utf-8")).get("pooling_mode_cls_token") is True
    return ("cls" if first else "mean"), normalize
