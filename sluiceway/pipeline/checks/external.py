"""Where a model's external data lies: beside the model, in plain files, and all of it there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from onnx import ModelProto, TensorProto

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import proto
from sluiceway.pipeline.checks.folder import regular

_WHERE = "write external data beside the model, under a plain relative name like model.onnx.data"
_AGAIN = "copy the model again with all of its files; the names of its data stand in the model"


@dataclass(frozen=True)
class Range:
    """Where a tensor's bytes lie: ``file`` relative to the model's folder, ``offset`` and ``length`` in bytes."""

    file: str
    offset: int
    length: int


def check(model: ModelProto, folder: Path) -> dict[str, int]:
    """Size of each data file by name; a UserError for the first tensor whose data lies outside or is not all there."""
    sizes: dict[str, int] = {}
    for tensor in proto.tensors(model):
        if any(dim < 0 for dim in tensor.dims):
            raise UserError("a dim is negative", path=tensor.name, got=list(tensor.dims), hint="export the model again")
        if not proto.is_external(tensor):
            _inline(tensor)
            continue
        location = _fields(tensor).get("location", "")
        check_location(location, tensor.name)
        if location not in sizes:
            sizes[location] = _size(folder, location)
        _inside(tensor, sizes[location])
    return sizes


def data_files(model: ModelProto) -> frozenset[str]:
    """Names of the files that hold the model's external data, each checked to stay in the folder."""
    names = {_fields(tensor).get("location", ""): tensor.name for tensor in proto.tensors(model) if external(tensor)}
    for name, tensor in names.items():
        check_location(name, tensor)
    return frozenset(names)


def external(tensor: TensorProto) -> bool:
    return proto.is_external(tensor)


def check_location(location: str, tensor: str) -> None:
    """Refuses a name of a data file that is empty, absolute, climbs out of the folder or is special to a runtime."""
    pure = PurePosixPath(location)
    fault = None
    if not location or "\0" in location:
        fault = "external data without the name of its file"
    elif pure.is_absolute() or location.startswith("~") or re.match(r"[A-Za-z]:", location):
        fault = "external data at an absolute path"
    elif "\\" in location:
        fault = "external data at a path with a backslash"
    elif ".." in pure.parts:
        fault = "external data outside the model's folder"
    elif location.startswith("*/") or "_ORT_MEM_ADDR_" in location:
        fault = "external data at an address in memory"
    elif pure.as_posix() != location:
        fault = "external data at a path that is not in its shortest form"
    if fault:
        raise UserError(fault, path=tensor, got=location, hint=_WHERE)


def where(tensor: TensorProto) -> Range:
    """Of a tensor that `check` has passed."""
    fields = _fields(tensor)
    length = fields.get("length")
    needed = proto.byte_size(tensor) or 0
    return Range(fields["location"], int(fields.get("offset", "0")), needed if length is None else int(length))


def _fields(tensor: TensorProto) -> dict[str, str]:
    fields = {entry.key: entry.value for entry in tensor.external_data}
    if not all(isinstance(part, str) for pair in fields.items() for part in pair):
        # What is no UTF-8 comes as bytes.
        raise UserError("external data is named in no text", path=tensor.name, got=str(fields), hint=_WHERE)
    return fields


def _size(folder: Path, location: str) -> int:
    path = folder / location
    for parent in PurePosixPath(location).parents:
        if (folder / parent).is_symlink() and str(parent) != ".":
            raise UserError("this is a symbolic link", path=str(folder / parent), hint="put the folder itself there")
    if not path.exists() and not path.is_symlink():
        raise UserError("the model's external data is missing", path=str(path), hint=_AGAIN)
    return regular(path, lone=True).st_size


def _inside(tensor: TensorProto, size: int) -> None:
    fields = _fields(tensor)
    numbers = [fields[key] for key in ("offset", "length") if key in fields]
    if not all(re.fullmatch(r"[0-9]{1,18}", number) for number in numbers):
        raise UserError(
            "offset or length of external data is no whole number from 0 on",
            path=tensor.name,
            got=fields,
            hint="export the model again",
        )
    found, needed = where(tensor), proto.byte_size(tensor)
    if found.offset + found.length > size:
        raise UserError(
            f"external data goes beyond the end of {found.file}",
            path=tensor.name,
            got=f"bytes {found.offset} to {found.offset + found.length} of {size}",
            hint=_AGAIN,
        )
    if needed is not None and found.length != needed:
        raise UserError(
            f"external data has another length than the {needed} bytes that type and dims come to",
            path=tensor.name,
            got=found.length,
            hint="export the model again",
        )


def _inline(tensor: TensorProto) -> None:
    needed = proto.byte_size(tensor)
    if tensor.HasField("raw_data") and needed is not None and len(tensor.raw_data) != needed:
        raise UserError(
            f"a tensor has another length than the {needed} bytes that its type and dims come to",
            path=tensor.name,
            got=len(tensor.raw_data),
            hint="the model was cut off or changed: copy or export it again",
        )
