"""An adapter that was checked: two files, what they hold, and the digest that names them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import BinaryIO, Final

from sluiceway.catalog.lora_bases import LoraBase
from sluiceway.errors import UserError
from sluiceway.pipeline.checks import archives, folder, pickles

CONFIG: Final = "adapter_config.json"
WEIGHTS: Final = "adapter_model.safetensors"
_HEAD: Final = 64 * 1024
_SAVE: Final = "save it with safe_serialization=True, which is the default of PEFT's save_pretrained"


@dataclass(frozen=True)
class AdapterFile:
    """As it is sent. ``bytes``: its length."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Adapter:
    """``config``: the bytes of adapter_config.json as they are sent. ``weights``: where the other file lies.

    ``rank``: the highest of its modules. ``modules``: their names in a layer. ``notes``: what is no fault, but may make
    it answer otherwise than it did where it was trained.
    """

    base: LoraBase
    config: bytes
    weights: Path
    files: tuple[AdapterFile, ...]
    rank: int
    alpha: float
    modules: tuple[str, ...]
    layers: int
    parameters: int
    dtypes: tuple[str, ...]
    added_model_type: bool
    notes: tuple[str, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def digest(self) -> str:
        """sha256 over the names and digests of its files: equal for equal bytes."""
        listed = [[file.name, file.sha256] for file in self.files]
        return sha256(json.dumps(listed, separators=(",", ":")).encode()).hexdigest()


def shown(text: str) -> str:
    """A name out of a file that isn't trusted, as it may stand in an error: a terminal obeys what it is sent."""
    return text[:200] if text.isprintable() else ascii(text[:200])


def find(place: Path, name: str, limit: int) -> Path:
    """The plain file ``name`` in the folder ``place``; a UserError if it isn't one, or has ``limit`` bytes or more."""
    if not place.is_dir():
        raise UserError("there is no such folder", path=str(place), hint="name the folder that PEFT saved")
    path = place / name
    if not path.exists() and not path.is_symlink():
        old = sorted(each.name for each in place.iterdir() if each.suffix.lower() in pickles.NAMES)
        hint = _SAVE if old and name == WEIGHTS else "name the folder that PEFT saved, or a checkpoint in it"
        raise UserError(f"there is no {name} here", path=str(place), got=", ".join(old[:3]) or "no file", hint=hint)
    size = folder.regular(path).st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if archives.is_archive(head):
        raise UserError("this is an archive under another name", path=str(path), hint=_SAVE)
    pickles.check(path, head, b"", is_data=False)
    if size >= limit:
        hint = "train fewer modules or a lower rank, or save it as float16"
        raise UserError(f"the file must be under {limit:,} bytes", path=str(path), got=size, hint=hint)
    return path


def reopen(adapter: Adapter) -> BinaryIO:
    """The weights at their first byte, as they were checked; a UserError when the file is another by now."""
    stated = next(file for file in adapter.files if file.name == WEIGHTS)
    opened = adapter.weights.open("rb")
    if file_digest(opened, "sha256").hexdigest() != stated.sha256:
        opened.close()
        hint = "run the command again once nobody writes into the folder"
        raise UserError("the file was changed after it was checked", path=str(adapter.weights), hint=hint)
    opened.seek(0)
    return opened
