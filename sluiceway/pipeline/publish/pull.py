"""Fetches a version's files out of a bucket into a folder: whole and checked, or not there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sluiceway.domain.model import Backend, ModelRef
from sluiceway.errors import UserError
from sluiceway.pipeline.package.verify import sha256_of
from sluiceway.pipeline.publish.shelf import Bucket, FileLike, record, same


def wanted(
    bucket: Bucket, ref: ModelRef, stated: Sequence[FileLike], backend: Backend | None = None
) -> tuple[FileLike, ...]:
    """The files of ``ref``: those of models/*.yaml, which the bucket's record must agree with; else the record's.

    ``backend``: what models/*.yaml says of it, None where it isn't there. UserError when the files are in neither, or
    they disagree.
    """
    found = record(bucket, ref)
    if not stated and found is None:
        if backend is not None:
            hint = f"pull a version of backend onnx: `sluiceway models list {bucket.stage}` shows them"
            raise UserError(f"its backend is {backend}, which has no files", path=str(ref), hint=hint)
        hint = f"`sluiceway models list {bucket.stage}` shows what is there"
        raise UserError(f"{bucket.stage} has no such version", path=str(ref), hint=hint)
    if stated and found is not None and not same(stated, found.files):
        hint = f"see which is right: git log models/{ref.model}.yaml, and who published {ref}"
        raise UserError(f"models/{ref.model}.yaml has other files than what was published", path=str(ref), hint=hint)
    return tuple(stated) if stated or found is None else found.files


def pull(
    bucket: Bucket,
    ref: ModelRef,
    files: Sequence[FileLike],
    out: Path,
    tell: Callable[[int], None] = lambda size: None,
) -> bool:
    """Puts ``files`` of ``ref`` into the folder ``out``; False when they are there already.

    What arrives is gathered beside ``out`` and comes to its name when all of it is checked; a broken pull goes on
    there. UserError when ``out`` holds something else, SluicewayError when R2 fails or holds other bytes.
    """
    from sluiceway.cloudflare import r2_objects

    if out.exists():
        if holds(out, files):
            return False
        if not out.is_dir() or any(out.iterdir()):
            hint = "name a folder that isn't there yet, or remove this one"
            raise UserError("something else is there already", path=str(out), hint=hint)
    out.parent.mkdir(parents=True, exist_ok=True)
    gathered = out.parent / f".{out.name}.{ref.model}-{ref.number}.pulling"
    with _alone(gathered):
        _clear(gathered, {file.name for file in files})
        for file in files:
            (gathered / file.name).parent.mkdir(parents=True, exist_ok=True)
            key = bucket.key_of(ref.model, ref.number, file.sha256, file.name)
            whole = (file.sha256, file.bytes)
            r2_objects.download(bucket.client, bucket.name, key, gathered / file.name, whole, tell)
        if out.exists():
            out.rmdir()
        gathered.rename(out)
    return True


def _names_in(folder: Path) -> set[str]:
    """What lies in ``folder`` and below it, by its path from there; folders are not named."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def _clear(gathered: Path, expected: set[str]) -> None:
    """Takes out what an interrupted pull of other files left."""
    for name in _names_in(gathered) - expected:
        (gathered / name).unlink()
    for folder in sorted((path for path in gathered.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def holds(folder: Path, files: Sequence[FileLike]) -> bool:
    """Whether ``files`` lie in ``folder``, byte for byte, and nothing else."""
    if not folder.is_dir() or _names_in(folder) != {file.name for file in files}:
        return False
    paths = [(folder / file.name, file) for file in files]
    return all(path.is_file() and path.stat().st_size == f.bytes and sha256_of(path) == f.sha256 for path, f in paths)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """The folder, made, while no other process gathers in it."""
    folder.mkdir(exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "wait for it, or end it: this one would go on where it left off"
            raise UserError("another process is pulling into this folder", path=str(folder), hint=hint) from None
        yield
    finally:
        os.close(handle)
