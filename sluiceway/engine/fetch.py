"""Fetches the official engine where the network allows it.

Reachability is asked first, with three seconds for everything (a name server that never answers counts),
so that a machine without that network loses no time. The archive must match the published sha256.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Final

from sluiceway.engine.find import LANGUAGE_HOST, version_of
from sluiceway.engine.store import Store
from sluiceway.progress import Progress

PROBE_SECONDS: Final = 3.0
_STALL_SECONDS: Final = 20.0
_BASES: Final = (
    "https://get.pulumi.com/releases/sdk",
    "https://github.com/pulumi/pulumi/releases/download/v{version}",
)


class FetchFailed(Exception):
    """Why there is no engine from the official download; the next way is tried."""


@dataclass(frozen=True)
class Source:
    """One place that serves releases. ``base`` is a URL without a trailing slash."""

    base: str
    version: str
    system: str

    @property
    def archive(self) -> str:
        return f"pulumi-v{self.version}-{self.system}.tar.gz"

    @property
    def archive_url(self) -> str:
        return f"{self.base}/{self.archive}"

    @property
    def checksums_url(self) -> str:
        return f"{self.base}/pulumi-{self.version}-checksums.txt"


def sources(version: str, env: Mapping[str, str]) -> list[Source]:
    """The official places, or the one that SLUICEWAY_ENGINE_URL names (a mirror)."""
    given = env.get("SLUICEWAY_ENGINE_URL")
    bases = (given.rstrip("/"),) if given else _BASES
    return [Source(base.format(version=version), version, system_name()) for base in bases]


def system_name() -> str:
    """``linux-x64``, ``darwin-arm64``: this machine in the names of the releases."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    return f"{'darwin' if sys.platform == 'darwin' else 'linux'}-{machine or platform.machine()}"


def probe(url: str, seconds: float = PROBE_SECONDS) -> str | None:
    """None if ``url`` answers at all within ``seconds``; else why not."""
    return probe_all([url], seconds)[0]


def probe_all(urls: list[str], seconds: float = PROBE_SECONDS) -> list[str | None]:
    """`probe` of each, all at once."""
    asked = [_ask(url, seconds) for url in urls]
    deadline = time.monotonic() + seconds
    reasons: list[str | None] = []
    for answers in asked:
        try:
            reasons.append(answers.get(timeout=max(0.0, deadline - time.monotonic())))
        except Empty:
            reasons.append(f"no answer in {seconds:.0f} s")
    return reasons


def _ask(url: str, seconds: float) -> Queue[str | None]:
    answers: Queue[str | None] = Queue()

    def ask() -> None:
        request = urllib.request.Request(url, method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=seconds).close()
            answers.put(None)
        except urllib.error.HTTPError as error:
            answers.put(None if error.code < 500 else f"answered {error.code}")
        except (OSError, ValueError) as error:
            answers.put(str(getattr(error, "reason", error)))

    # A thread, since the system's name look-up takes no timeout.
    threading.Thread(target=ask, daemon=True).start()
    return answers


def fetch(store: Store, env: Mapping[str, str], progress: Progress) -> str:
    """Puts the official engine into ``store`` (which must be locked); the reason text. Raises `FetchFailed`."""
    reasons: list[str] = []
    places = sources(store.version, env)
    for source, unreachable in zip(places, probe_all([one.checksums_url for one in places]), strict=True):
        if unreachable:
            reasons.append(f"{source.base} can't be reached ({unreachable})")
            continue
        try:
            _fetch_from(source, store, progress)
        except FetchFailed as error:
            reasons.append(str(error))
            continue
        return f"fetched from {source.base}"
    raise FetchFailed("; ".join(reasons))


def _fetch_from(source: Source, store: Store, progress: Progress) -> None:
    with store.scratch(progress) as scratch:
        archive = scratch / source.archive
        with progress.step(f"fetching Pulumi {source.version}", expected=20) as note:
            wanted = _checksum(source)
            got = _download(source.archive_url, archive, note)
            if got != wanted:
                raise FetchFailed(f"{source.archive_url} has sha256 {got}, published is {wanted}")
            made = _unpack(archive, scratch / "out")
        said = version_of(made / "pulumi")
        if said != source.version:
            raise FetchFailed(f"{source.archive_url} does not run here: version {said or 'unknown'}")
        store.put(made, "download")


def _checksum(source: Source) -> str:
    try:
        with urllib.request.urlopen(source.checksums_url, timeout=_STALL_SECONDS) as answer:
            text = bytes(answer.read(1 << 20)).decode("utf-8", "replace")
    except OSError as error:
        raise FetchFailed(f"{source.checksums_url}: {error}") from error
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].lstrip("*").removeprefix("./") == source.archive:
            return words[0].lower()
    raise FetchFailed(f"{source.checksums_url} does not name {source.archive}")


def _download(url: str, to: Path, note: Callable[[str], None]) -> str:
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=_STALL_SECONDS) as answer, to.open("wb") as out:
            total = int(answer.headers.get("content-length") or 0)
            done = 0
            while block := answer.read(1 << 20):
                out.write(block)
                digest.update(block)
                done += len(block)
                note(f"{done >> 20} of {total >> 20} MB" if total else f"{done >> 20} MB")
    except OSError as error:
        raise FetchFailed(f"{url}: {error}") from error
    return digest.hexdigest()


def _unpack(archive: Path, to: Path) -> Path:
    """Unpacks; the folder that holds the binaries."""
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(to, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise FetchFailed(f"{archive.name} can't be unpacked: {error}") from error
    for made in (to / "pulumi", to / "pulumi" / "bin", to):
        if (made / "pulumi").is_file() and (made / LANGUAGE_HOST).is_file():
            return made
    raise FetchFailed(f"{archive.name} holds no pulumi with its {LANGUAGE_HOST}")
