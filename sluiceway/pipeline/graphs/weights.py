"""The tensors of a checkpoint, each taken once: a missing one and a left-over one are both errors that name it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.config import read_json

Read = Callable[[], NDArray[np.float32]]
_FLOATS = ("F32", "F16", "BF16", "F64")
_SHOWN = 5


class Weights:
    """``tensors``: name -> a function that reads it as float32. ``path`` is what errors call the source."""

    def __init__(self, tensors: Mapping[str, Read], path: str) -> None:
        self._tensors = dict(tensors)
        self._taken: set[str] = set()
        self._path = path

    def has(self, name: str) -> bool:
        return name in self._tensors

    def take(self, name: str, *shape: int) -> NDArray[np.float32]:
        """The tensor as float32. Raises UserError when it isn't there, has another shape, or isn't finite."""
        if name not in self._tensors:
            end = name.rsplit(".", 2)[-2:]
            near = ", ".join(sorted(other for other in self._tensors if other.rsplit(".", 2)[-2:] == end)[:_SHOWN])
            hint = f"it has {near}" if near else "the weights are of another architecture than config.json says"
            raise UserError(f"the weights lack {name}", path=self._path, hint=hint)
        array = self._tensors[name]()
        self._taken.add(name)
        if array.shape != shape:
            raise UserError(
                f"{name} must have the shape {list(shape)} that config.json gives",
                path=self._path,
                got=list(array.shape),
                hint="take weights and config.json of the same model",
            )
        if not np.isfinite(array).all():
            raise UserError(f"{name} holds NaN or infinity", path=self._path, hint="take a sound copy of the weights")
        return array

    def leave(self, *names: str) -> None:
        """Marks tensors that the graph does without, knowingly."""
        self._taken.update(names)

    def finish(self) -> None:
        """Raises UserError that names every tensor nobody took."""
        left = sorted(self._tensors.keys() - self._taken)
        if left:
            more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
            raise UserError(
                f"the graph has no place for {', '.join(left[:_SHOWN])}{more}",
                path=self._path,
                hint="the architecture differs from what is exported; a graph without them would answer wrongly",
            )


def read_weights(folder: Path, prefix: str) -> Weights:
    """All safetensors of ``folder`` (one file, or several by model.safetensors.index.json), names without ``prefix``.

    Raises UserError: no file, an integer tensor that isn't a buffer of positions, the same name twice.
    """
    tensors: dict[str, Read] = {}
    for file in weight_files(folder):
        for stored, read in _open(file).items():
            name = _renamed(stored.removeprefix(prefix))
            if name in tensors:
                raise UserError(f"{name} is there twice", path=str(file), hint="keep one file of weights in the folder")
            tensors[name] = read
    return Weights(tensors, str(folder))


def weight_files(folder: Path) -> Sequence[Path]:
    """The files that hold the weights, in order of name. Raises UserError."""
    index, single = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if not index.is_file():
        if single.is_file():
            return [single]
        hint = "take a revision that has safetensors; .bin, .pt and .h5 files are never opened"
        raise UserError("there is no model.safetensors here", path=str(folder), hint=hint)
    said = read_json(index)
    places = said.get("weight_map") if isinstance(said, dict) else None
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise UserError("the index has no weight_map of names", path=str(index), hint="fetch it again")
    names = sorted(set(places.values()))
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise UserError("the index names a file that isn't here", path=str(index), got=name, hint="fetch it again")
    return [folder / name for name in names]


def _renamed(name: str) -> str:
    """Checkpoints that were TensorFlow's once call a norm's scale and shift gamma and beta."""
    return name.replace(".LayerNorm.gamma", ".LayerNorm.weight").replace(".LayerNorm.beta", ".LayerNorm.bias")


def _open(file: Path) -> Mapping[str, Read]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "np") as tensors:
            kinds = {name: tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UserError(f"this isn't a safetensors file: {error}", path=str(file), hint="fetch it again") from error
    tensors_read: dict[str, Read] = {}
    for name, kind in kinds.items():
        if name.endswith(".position_ids"):
            continue  # a buffer 0, 1, 2, ... that old checkpoints store; not a weight
        if kind not in _FLOATS:
            hint = "export from the float weights; quantise afterwards, by a pass"
            raise UserError(f"{name} must be of floats", path=str(file), got=kind, hint=hint)
        tensors_read[name] = _reader(file, name)
    return tensors_read


def _reader(file: Path, name: str) -> Read:
    def read() -> NDArray[np.float32]:
        from safetensors import safe_open

        with safe_open(file, "np") as tensors:
            return np.asarray(tensors.get_tensor(name)).astype(np.float32)

    return read
