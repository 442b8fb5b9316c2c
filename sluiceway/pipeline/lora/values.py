"""The weights themselves, read once from the first byte to the last: digest, NaN, infinity, and what does nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError
from sluiceway.pipeline.lora.header import WIDTHS, Header, Tensor

_CHUNK: Final = 2**20
# The bits of the exponent: all set in NaN and infinity, in no other value. Those below the sign: none set in zero.
_EXPONENT: Final[dict[str, tuple[Any, int, int]]] = {
    "F32": ("<u4", 0x7F800000, 0x7FFFFFFF),
    "F16": ("<u2", 0x7C00, 0x7FFF),
    "BF16": ("<u2", 0x7F80, 0x7FFF),
}
_HINT: Final = "take another checkpoint: training went wrong before this one"


def scan(path: Path, header: Header, tell: Callable[[int], None]) -> tuple[str, frozenset[str]]:
    """(sha256 of the file, names of the tensors that are all zero); a UserError for NaN, infinity or an early end."""
    running = sha256()
    zero: set[str] = set()
    with path.open("rb") as file:
        running.update(file.read(header.length))
        for tensor in header.tensors:
            if not _tensor(file, tensor, path, running.update, tell):
                zero.add(tensor.name)
        running.update(file.read())
    return running.hexdigest(), frozenset(zero)


def _tensor(
    file: BinaryIO, tensor: Tensor, path: Path, digest: Callable[[bytes], None], tell: Callable[[int], None]
) -> bool:
    """Whether any value of it is other than zero."""
    kind, exponent, below_sign = _EXPONENT[tensor.dtype]
    any_value = False
    for at in range(0, tensor.size, _CHUNK):
        data = file.read(min(_CHUNK, tensor.size - at))
        if len(data) < min(_CHUNK, tensor.size - at):
            raise UserError("the file ends early", path=str(path), got=tensor.name, hint="copy it anew")
        digest(data)
        bits: NDArray[Any] = np.frombuffer(data, kind)
        bad = int(((bits & exponent) == exponent).sum())
        if bad:
            got = f"{bad} of {len(data) // WIDTHS[tensor.dtype]} values"
            raise UserError("a weight is NaN or infinite", path=f"{path}: {tensor.name}", got=got, hint=_HINT)
        any_value = any_value or bool((bits & below_sign).any())
        tell(len(data))
    return any_value


def refuse_idle(zero: frozenset[str], b_names: Sequence[str], path: Path) -> None:
    """UserError when every lora_B is zero, as it is before the first step of training."""
    if zero.issuperset(b_names):
        hint = "train it, and save it after that: as it is, it answers as the base does"
        raise UserError("the adapter changes nothing: all of lora_B is zero", path=str(path), hint=hint)
