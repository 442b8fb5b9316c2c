"""wrangler from npm against the complete local stage: the commands that people and CI type."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.local.conftest import CHECKOUT, LocalStage
from tests.node import NODE

_WRANGLER = CHECKOUT / "node_modules" / "wrangler" / "bin" / "wrangler.js"
_CODE = "export default {{ async fetch(request, env) {{ return new Response({text}) }} }}\n"


@dataclass(frozen=True)
class Project:
    """A folder with wrangler.jsonc and a Worker; ``run`` gives what wrangler printed."""

    folder: Path
    stage: LocalStage
    name: str

    def run(self, *arguments: str, input_: str | None = None, code: int = 0) -> str:
        done = subprocess.run(
            [str(NODE), "--no-warnings", str(_WRANGLER), *arguments],
            cwd=self.folder,
            env=self._environment(),
            input=input_,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def configure(self, text: str = "'one'", **settings: object) -> None:
        (self.folder / "index.js").write_text(_CODE.format(text=text))
        document = {
            "name": self.name,
            "main": "index.js",
            "compatibility_date": "2026-07-01",
            "workers_dev": True,
            "send_metrics": False,
            **settings,
        }
        (self.folder / "wrangler.jsonc").write_text(json.dumps(document))

    def fetch(self, host: str = "", path: str = "/", **headers: str) -> httpx.Response:
        hosted = {"host": host or f"{self.name}.local.workers.dev", **headers}
        return httpx.get(self.stage.runtime.front_url + path, headers=hosted, trust_env=False, timeout=30)

    def versions(self) -> list[str]:
        """Version ids, oldest first."""
        return [version["id"] for version in json.loads(self.run("versions", "list", "--json"))]

    def _environment(self) -> dict[str, str]:
        home = str(self.folder / "home")
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_CONFIG_HOME": home,
            "XDG_CACHE_HOME": home,
            "CI": "1",
            "NO_COLOR": "1",
            "WRANGLER_SEND_METRICS": "false",
            "WRANGLER_HIDE_BANNER": "true",
            # A third of each run is the compilation of wrangler: kept from the first run to the last.
            "NODE_COMPILE_CACHE": str(self.stage.data.parent / "wrangler-compiled"),
            "CLOUDFLARE_API_BASE_URL": self.stage.runtime.api_url,
            "CLOUDFLARE_API_TOKEN": self.stage.token,
            "CLOUDFLARE_ACCOUNT_ID": self.stage.runtime.account_id,
        }


Make = Callable[[str], Project]


@pytest.fixture
def project(tmp_path: Path, local_stage: LocalStage) -> Make:
    def make(name: str) -> Project:
        (tmp_path / "home").mkdir()
        made = Project(tmp_path, local_stage, name)
        made.configure()
        return made

    return make


@pytest.mark.long
def test_deploy_upload_split_and_roll_back(project: Make) -> None:
    worker = project("wr-split")
    assert "https://wr-split.local.workers.dev" in worker.run("deploy")
    assert worker.fetch().text == "one"

    worker.configure("'two'")
    worker.run("versions", "upload", "--tag", "second", "--message", "the second one")
    assert worker.fetch().text == "one"
    first, second = worker.versions()
    assert "second" in worker.run("versions", "view", second)

    worker.run("versions", "deploy", f"{first}@0%", f"{second}@100%", "-y")
    assert worker.fetch().text == "two"
    worker.run("versions", "deploy", f"{first}@50%", f"{second}@50%", "-y")
    assert {worker.fetch().text for _ in range(60)} == {"one", "two"}
    status = worker.run("deployments", "status")
    assert first in status and second in status

    worker.run("rollback", first, "-y", "--message", "bad")
    assert {worker.fetch().text for _ in range(20)} == {"one"}
    assert len(json.loads(worker.run("deployments", "list", "--json"))) == 4
    worker.run("delete")
    assert worker.fetch().status_code >= 400


@pytest.mark.long
def test_kv_keys_are_shared_with_the_worker(project: Make) -> None:
    worker = project("wr-kv")
    created = worker.run("kv", "namespace", "create", "wr-cache")
    namespace = re.search(r'"id": "([0-9a-f]{32})"', created)
    assert namespace, created
    assert "wr-cache" in worker.run("kv", "namespace", "list")
    at = ("--namespace-id", namespace[1], "--remote")
    worker.run("kv", "key", "put", "rollouts/chat ü", "槓桿 100%", "--metadata", '{"who":"tests"}', *at)
    assert worker.run("kv", "key", "get", "rollouts/chat ü", "--text", *at).strip() == "槓桿 100%"
    listed = json.loads(worker.run("kv", "key", "list", *at))
    assert listed == [{"name": "rollouts/chat ü", "metadata": {"who": "tests"}}]

    worker.configure("await env.CACHE.get('rollouts/chat ü')", kv_namespaces=[{"binding": "CACHE", "id": namespace[1]}])
    worker.run("deploy")
    assert worker.fetch().text == "槓桿 100%"
    worker.run("kv", "key", "delete", "rollouts/chat ü", *at)
    assert worker.fetch().text == ""


@pytest.mark.long
def test_r2_objects_are_shared_with_the_worker(project: Make) -> None:
    worker = project("wr-r2")
    worker.run("r2", "bucket", "create", "wr-models")
    content = bytes(range(256)) * 999
    (worker.folder / "model.bin").write_bytes(content)
    worker.run("r2", "object", "put", "wr-models/models/intent/1.bin", "--file", "model.bin", "--remote")
    worker.run("r2", "object", "get", "wr-models/models/intent/1.bin", "--file", "back.bin", "--remote")
    assert (worker.folder / "back.bin").read_bytes() == content

    worker.configure(
        "(await env.MODELS.get('models/intent/1.bin')).body",
        r2_buckets=[{"binding": "MODELS", "bucket_name": "wr-models"}],
    )
    worker.run("deploy")
    assert worker.fetch().content == content
    assert "not empty" in worker.run("r2", "bucket", "delete", "wr-models", code=1)
    worker.run("r2", "object", "delete", "wr-models/models/intent/1.bin", "--remote")


@pytest.mark.long
def test_secrets_stay_over_deploys_and_are_never_listed(project: Make) -> None:
    worker = project("wr-secret")
    worker.configure("env.API_KEY ?? 'none'")
    worker.run("deploy")
    worker.run("secret", "put", "API_KEY", input_="hunter2\n")
    assert worker.fetch().text == "hunter2"
    listed = worker.run("secret", "list")
    assert "API_KEY" in listed and "hunter2" not in listed
    worker.configure("env.API_KEY + '!'")
    worker.run("deploy")
    assert worker.fetch().text == "hunter2!"


@pytest.mark.long
def test_triggers_and_routes(project: Make) -> None:
    worker = project("wr-triggers")
    worker.configure(
        routes=[{"pattern": "wr.sluiceway.test/*", "zone_name": "sluiceway.test"}],
        triggers={"crons": ["*/5 * * * MON-FRI"]},
    )
    worker.run("deploy")
    worker.run("triggers", "deploy")
    assert worker.fetch("wr.sluiceway.test", "/x").text == "one"
    taken = project_of(worker, "wr-other")
    taken.configure("'other'", routes=[{"pattern": "wr.sluiceway.test/*", "zone_name": "sluiceway.test"}])
    # wrangler leaves out code and message when a trigger fails: only the call is named.
    assert "workers/scripts/wr-other/routes) failed" in taken.run("deploy", code=1)
    assert worker.fetch("wr.sluiceway.test", "/x").text == "one"
    worker.configure(triggers={"crons": ["0 16 * * 0"]})
    assert "workers/scripts/wr-triggers/schedules) failed" in worker.run("triggers", "deploy", code=1)


def test_whoami_knows_the_account(project: Make) -> None:
    assert "Local stage" in project("wr-who").run("whoami")


def project_of(other: Project, name: str) -> Project:
    return Project(other.folder, other.stage, name)
