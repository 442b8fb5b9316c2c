"""Drives one real host process: starts it, speaks its admin API, writes worlds."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tests.node import NODE

HOST = Path(__file__).parents[3] / "sluiceway" / "local" / "host" / "main.ts"
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Version:
    """A version as the world has it, from sources in memory."""

    modules: Mapping[str, str | bytes]
    number: int = 1
    tag: str = ""
    bindings: Sequence[JsonObject] = ()
    exports: JsonObject | None = None
    compatibility_date: str = "2026-07-01"
    main: str = "index.js"
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def describe(self, folder: Path) -> JsonObject:
        kinds = {".js": "esm", ".mjs": "esm", ".txt": "text", ".json": "text", ".bin": "data", ".wasm": "wasm"}
        modules = []
        for name, source in self.modules.items():
            content = source.encode() if isinstance(source, str) else source
            digest = hashlib.sha256(content).hexdigest()
            path = folder / digest
            path.write_bytes(content)
            modules.append({"name": name, "type": kinds[Path(name).suffix], "sha256": digest, "path": str(path)})
        return {
            "id": self.id,
            "number": self.number,
            "tag": self.tag,
            "created_on": f"2026-07-01T00:00:{self.number:02d}Z",
            "main_module": self.main,
            "modules": modules,
            "compatibility_date": self.compatibility_date,
            "compatibility_flags": [],
            "bindings": list(self.bindings),
            "exports": self.exports,
            "migrations": None,
        }


def says(
    text: str,
    *,
    number: int = 1,
    bindings: Sequence[JsonObject] = (),
    exports: JsonObject | None = None,
    compatibility_date: str = "2026-07-01",
) -> Version:
    """A Worker that answers with one text."""
    source = f"export default {{ fetch: () => new Response({json.dumps(text)}) }}"
    return Version({"index.js": source}, number, "", bindings, exports, compatibility_date)


class Host:
    """One host process. ``world`` fills in what a test does not name."""

    def __init__(self, data: Path, *, front_port: int = 0, **config: object) -> None:
        self.data = data
        self.modules = data / "modules"
        self.modules.mkdir(parents=True, exist_ok=True)
        self.generation = 0
        self.log: list[JsonObject] = []
        self.config: JsonObject = {
            "data": str(data / "data"),
            "front_port": front_port,
            "admin_token": "test-token",
            "ai_url": "http://127.0.0.1:9/ai",
            "s3": {"access_key_id": "a" * 32, "secret_access_key": "b" * 64},
            **config,
        }
        self.process = subprocess.Popen(
            [str(NODE), str(HOST)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.process.stdin.write(json.dumps(self.config) + "\n")
        self.process.stdin.flush()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self.ready: JsonObject = json.loads(self.process.stdout.readline() or '{"ready": false}')
        self.front = f"http://127.0.0.1:{self.ready.get('front_port', 9)}"
        self.admin = httpx.Client(
            base_url=self.ready.get("admin_url", "http://127.0.0.1:9"),
            headers={"authorization": "Bearer test-token"},
            timeout=60,
        )
        self.client = httpx.Client(base_url=self.front, timeout=30)

    def _read_log(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.log.append({"event": "not json", "line": line})

    def events(self, name: str) -> list[JsonObject]:
        return [entry for entry in self.log if entry["event"] == name]

    def world(self, workers: Sequence[JsonObject] = (), **more: object) -> JsonObject:
        self.generation += 1
        return {"generation": self.generation, "account_subdomain": "local", "workers": list(workers), **more}

    def worker(
        self, name: str, split: Sequence[tuple[Version, float]], spare: Sequence[Version] = (), **more: object
    ) -> JsonObject:
        """A worker whose ``split`` is deployed; ``spare`` versions are loaded only."""
        return {
            "name": name,
            "versions": [version.describe(self.modules) for version in (*(v for v, _ in split), *spare)],
            "deployment": {"versions": [{"version_id": v.id, "percentage": share} for v, share in split]},
            "subdomain": {"enabled": True, "previews_enabled": True},
            "crons": [],
            **more,
        }

    def put(self, world: JsonObject) -> httpx.Response:
        return self.admin.put("/world", json=world)

    def apply(self, *workers: JsonObject, **more: object) -> JsonObject:
        answer = self.put(self.world(workers, **more))
        assert answer.status_code == 200, answer.text
        result: JsonObject = answer.json()
        return result

    def get(self, path: str = "/", host: str | None = None, headers: Mapping[str, str] = {}) -> httpx.Response:
        return self.client.get(path, headers={**({"host": host} if host else {}), **headers})

    def kv(self, namespace: str, key: str) -> str:
        return f"/kv/{namespace}/values/{quote(key, safe='')}"

    def object(self, bucket: str, key: str) -> str:
        return f"/r2/{bucket}/objects/{quote(key, safe='')}"

    def stop(self) -> int:
        """Ends the host the way that its supervisor does: by closing its stdin."""
        assert self.process.stdin
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(timeout=20)
        self._reader.join(timeout=5)
        for client in (self.admin, self.client):
            client.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        return code


def until(condition: Callable[[], object], limit: float = 10.0) -> None:
    """Waits for ``condition()`` to be true."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.02)
