"""Uploading a model to the local stage's R2: ours beside a plain boto3 upload of the same file to the same server.

    python -m bench.publish --mb 1000 --rounds 3

Each upload has a process of its own, which tells its time (without its start) and its peak of memory; the two sides
take turns at going first. Then ours is killed with SIGKILL at 60 % and taken up: told is what is sent again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

MB = 1_000_000


@dataclass(frozen=True)
class Place:
    """Where uploads go: an S3 endpoint, its keys, a bucket."""

    endpoint: str
    access_key: str
    secret: str
    bucket: str


@dataclass(frozen=True)
class Run:
    """``sent``: bytes that went over the wire; ``peak_mb``: of the process that uploaded."""

    seconds: float
    peak_mb: float
    sent: int


@dataclass(frozen=True)
class Result:
    """``ratio``: of ours to plain in bytes a second, the median over the rounds. ``again``: the share of the file that
    was sent after the kill."""

    plain: tuple[Run, ...]
    ours: tuple[Run, ...]
    ratio: float
    again: float


def measure(place: Place, folder: Path, size: int, rounds: int, say: Callable[[str], None]) -> Result:
    """Uploads a file of ``size`` bytes, made in ``folder``, ``rounds`` times by each side."""
    file = folder / "model.onnx.data"
    digest = _fill(file, size)
    sides: dict[str, list[Run]] = {"plain": [], "ours": []}
    for number in range(rounds):
        for side in ("plain", "ours") if number % 2 == 0 else ("ours", "plain"):
            with _child(place, side, file, digest) as child:
                run = _told(child)
            sides[side].append(run)
            say(f"{side:<6} {size / run.seconds / MB:7.1f} MB/s   peak {run.peak_mb:.0f} MB")
    pairs = zip(sides["plain"], sides["ours"], strict=True)
    ratio = statistics.median(plain.seconds / ours.seconds for plain, ours in pairs)
    return Result(tuple(sides["plain"]), tuple(sides["ours"]), ratio, _killed(place, file, digest, size) / size)


def _killed(place: Place, file: Path, digest: str, size: int) -> int:
    """Bytes that are sent after a SIGKILL at 60 %."""
    with _child(place, "ours", file, digest, "--tell") as child:
        assert child.stdout is not None
        for line in child.stdout:
            if json.loads(line).get("there", 0) >= 0.6 * size:
                child.send_signal(signal.SIGKILL)
                break
        child.wait()
        if child.returncode != -signal.SIGKILL:
            raise SystemExit("the upload was over before it could be killed: take a larger file")
    with _child(place, "ours", file, digest) as child:
        return _told(child).sent


@contextmanager
def _child(place: Place, side: str, file: Path, digest: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "bench.publish", "--child", side, str(file), digest, *more]
    env = os.environ | {"BENCH_PLACE": json.dumps(vars(place))}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def _told(child: subprocess.Popen[str]) -> Run:
    out, _ = child.communicate()
    if child.returncode != 0:
        raise SystemExit(f"an upload failed with exit code {child.returncode}")
    return Run(**json.loads(out.splitlines()[-1]))


def _fill(file: Path, size: int) -> str:
    running = hashlib.sha256()
    with file.open("wb") as stream:
        for at in range(0, size, MB):
            data = os.urandom(min(MB, size - at))
            stream.write(data)
            running.update(data)
    return running.hexdigest()


def _upload(side: str, file: Path, digest: str, tells: bool) -> None:
    """In the child: one upload, then the object is gone again."""
    from sluiceway.cloudflare import r2

    place = Place(**json.loads(os.environ["BENCH_PLACE"]))
    ours = r2.client(place.endpoint, place.access_key, place.secret)
    client = ours if side == "ours" else _plain_client(place)
    sent = [0]
    client.meta.events.register("request-created.s3", lambda request, **_: _count(request, sent))
    key = f"models/bench/1/{digest}/{file.name}"
    began = time.monotonic()
    if side == "ours":
        _ours(client, place.bucket, key, file, digest, tells)
    else:
        client.upload_file(str(file), place.bucket, key)
    seconds = time.monotonic() - began
    found = r2.head(ours, place.bucket, key)
    assert found is not None
    assert found.size == file.stat().st_size
    r2.delete(ours, place.bucket, key)
    peak = peak_mb()
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "sent": sent[0]}))


def peak_mb() -> float:
    """Of this process alone: what getrusage tells begins with the memory of the process that started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def _ours(client: S3Client, bucket: str, key: str, file: Path, digest: str, tells: bool) -> None:
    from sluiceway.cloudflare import r2
    from sluiceway.pipeline.publish.send import PARALLEL, PART

    there = [0]

    def tell(size: int) -> None:
        there[0] += size
        if tells:
            print(json.dumps({"there": there[0]}), flush=True)

    sizes = r2.Sizes(part=PART, parallel=PARALLEL)
    r2.upload(
        client, bucket, key, file, digest, "application/octet-stream",
        sizes=sizes, journals=file.parent, tell=tell, checked=True,
    )  # fmt: skip


def _plain_client(place: Place) -> S3Client:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=place.endpoint,
        aws_access_key_id=place.access_key,
        aws_secret_access_key=place.secret,
        region_name="auto",
    )


def _count(request: Any, sent: list[int]) -> None:  # noqa: ANN401 - botocore has no types for it
    if request.method == "PUT":
        body = request.body
        sent[0] += len(body) if isinstance(body, bytes | bytearray) else len(getattr(body, "getvalue", bytes)())


def _local() -> Place:
    from sluiceway.cli.context import find_workspace
    from sluiceway.cloudflare.r2_keys import credentials, local_token_id
    from sluiceway.local import lifecycle
    from sluiceway.planning import names

    workspace = find_workspace()
    runtime = lifecycle.require_runtime(workspace.local)
    token = (workspace.local / "token").read_text(encoding="utf-8").strip()
    keys = credentials(token, local_token_id(token))
    return Place(runtime.s3_url, keys.access_key_id, keys.secret_access_key, names.bucket("local"))


def main() -> None:
    parser = argparse.ArgumentParser(description="uploads to the local stage's R2, ours beside boto3's own")
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, metavar=("SIDE", "FILE", "SHA256"), help=argparse.SUPPRESS)
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _upload(given.child[0], Path(given.child[1]), given.child[2], given.tell)
        return
    with tempfile.TemporaryDirectory(prefix="sluiceway-bench-") as folder:
        found = measure(_local(), Path(folder), given.mb * MB, given.rounds, print)
    peak = max(run.peak_mb for run in found.ours)
    print(f"ours reaches {found.ratio:.0%} of plain boto3 (goal: at least 80 %); peak {peak:.0f} MB (goal: under 300)")
    print(f"killed at 60 %: {found.again:.0%} of the file was sent after that (from the start would be 100 %)")


if __name__ == "__main__":
    main()
