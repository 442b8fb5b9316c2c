"""Files that run code when they are read: pickles and what wraps them, known by name and by first bytes."""

from __future__ import annotations

import re
from pathlib import Path

from sluiceway.errors import UserError

NAMES = (".bin", ".ckpt", ".h5", ".hdf5", ".joblib", ".keras", ".pickle", ".pkl", ".pt", ".pth")
_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_TEXT_PICKLE = re.compile(rb"\A(?:c[A-Za-z_][\w.]*\n[\w.]+\n|\([ld]p0\n|\(i[A-Za-z_][\w.]*\n)")
_OBJECT_ARRAY = re.compile(rb"'descr':\s*(?:'\|?O|\[.*'\|?O)")
_HINT = "give the weights as safetensors or ONNX: a file of this kind can run code when it is opened"


def check(path: Path, head: bytes, tail: bytes, is_data: bool) -> None:
    """Refuses ``path`` if its name or its bytes say pickle, HDF5 or an array of objects.

    ``head``: its first bytes (up to 64 KiB), ``tail``: its last one. ``is_data``: a model's external data, which may
    bear any name and begin with any bytes, so that both ends must look like a pickle's.
    """
    found = _by_bytes(head, tail, is_data)
    if found is None and not is_data and path.suffix.lower() in NAMES:
        found = f"a file named {path.suffix.lower()} is not taken"
    if found is not None:
        raise UserError(found, path=str(path), hint=_HINT)


def _by_bytes(head: bytes, tail: bytes, is_data: bool) -> str | None:
    if head.startswith(_TORCH) or _TEXT_PICKLE.match(head):
        return "this is a pickle"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and (tail == b"." or not is_data):
        return "this is a pickle"
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "this is an HDF5 file"
    if head.startswith(b"\x93NUMPY") and _OBJECT_ARRAY.search(head):
        return "this array holds pickled objects"
    return None
