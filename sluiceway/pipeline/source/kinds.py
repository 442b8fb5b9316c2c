"""Which files of a source belong to a model, told by name. What is in them is `checks` to say."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Final

from sluiceway.errors import UserError

WEIGHTS: Final = ("*.safetensors",)
GGUF: Final = ("*.gguf",)
"""One file with weights, config and tokenizer. Not fetched from a hub, where a folder has one for each precision."""
TEXTS: Final = ("*.json", "*.txt", "*.jinja", "*.model", "*.tiktoken", "LICENSE*", "NOTICE*", "README.md")
"""Config, tokenizer, chat template, licence."""
GRAPHS: Final = ("*.onnx", "*.onnx.data", "*.onnx_data", "*.data")
PICKLES: Final = (
    "*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.joblib", "*.npy", "*.npz", "*.h5", "*.keras",
    "*.msgpack", "*.ot",
)  # fmt: skip
"""Formats that run code when they are read, or may; whether one does isn't looked at."""


def is_wanted(name: str, patterns: Iterable[str] = (*WEIGHTS, *GGUF, *TEXTS, *GRAPHS)) -> bool:
    """Whether the file ``name`` (without its folders) is of a kind that a model is made of."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def is_pickle_name(name: str) -> bool:
    return is_wanted(name.lower(), PICKLES)


def require_weights(names: Iterable[str], left: Iterable[str], shown: str) -> None:
    """UserError when no file of weights got through; ``left``: the names of what was left out."""
    if any(is_wanted(name.rpartition("/")[2], (*WEIGHTS, *GGUF, "*.onnx")) for name in names):
        return
    pickles = sorted(name for name in left if is_pickle_name(name.rpartition("/")[2]))
    if pickles:
        hint = "take a source that has the weights as .safetensors"
        raise UserError("the weights are pickles, which may run code when they are read", path=shown, got=pickles[0],
                        hint=hint)  # fmt: skip
    raise UserError("there are no weights here", path=shown, hint="weights are .safetensors, .gguf or .onnx files")
