"""The real engine on the sample program of ``program/``, with our plugins on PATH."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PLUGINS = {
    "pulumi-language-python": "sluiceway.engine.language_host",
    "pulumi-resource-cloudflare": "sluiceway.engine.provider.cloudflare_plugin",
    "pulumi-resource-sluiceway": "sluiceway.engine.provider.sluiceway_plugin",
}


@dataclass
class Outcome:
    """``steps`` are the counts that the engine printed, such as ``{"unchanged": 15}``."""

    code: int
    text: str

    @property
    def steps(self) -> dict[str, int]:
        lines = re.findall(r"^    (?:[-+~=]+ ?)?\d+ [a-z].*$", self.text, re.MULTILINE)
        found = re.findall(r"(\d+) ([a-z]+(?: [a-z]+)*)", "\n".join(lines))
        return {what: int(count) for count, what in found if what not in {"change", "changes"}}


@dataclass
class Program:
    folder: Path
    env: dict[str, str]

    @classmethod
    def make(cls, folder: Path, engine: Path, base_url: str) -> Program:
        (folder / "bin").mkdir()
        (folder / "bin" / "pulumi").symlink_to(engine)
        for name, module in PLUGINS.items():
            shim = folder / "bin" / name
            shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m {module} "$@"\n', encoding="utf-8")
            shim.chmod(0o755)
        shutil.copytree(HERE / "program", folder / "program")
        (folder / "state").mkdir()
        yaml = f"name: sample\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
        (folder / "program" / "Pulumi.yaml").write_text(yaml, encoding="utf-8")
        env = {
            **os.environ,
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "sample",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "CLOUDFLARE_API_TOKEN": "token-9f31-canary",
            "CLOUDFLARE_BASE_URL": base_url,
        }
        made = cls(folder, env)
        made.run("stack", "init", "local")
        return made

    def run(self, *words: str, check: bool = True, env: dict[str, str] | None = None) -> Outcome:
        """``pulumi`` with these words; output of both streams together."""
        done = subprocess.run(
            ["pulumi", *words, "--non-interactive"],
            cwd=self.folder / "program",
            env=self.env | (env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout.decode("utf-8", "replace"))
        if check and outcome.code != 0:
            raise AssertionError(outcome.text)
        return outcome

    def up(self, env: dict[str, str] | None = None) -> Outcome:
        return self.run("up", "-s", "local", "--yes", "--skip-preview", "--suppress-progress", env=env)

    def preview(self, env: dict[str, str] | None = None) -> Outcome:
        return self.run("preview", "-s", "local", "--suppress-progress", env=env)

    def refresh(self) -> Outcome:
        return self.run("refresh", "-s", "local", "--yes", "--skip-preview", "--suppress-progress")

    def destroy(self) -> Outcome:
        return self.run("destroy", "-s", "local", "--yes", "--skip-preview", "--suppress-progress")

    def state(self) -> list[dict[str, Any]]:
        """Resources as the engine keeps them."""
        (file,) = (self.folder / "state").rglob("stacks/**/local.json")
        return list(json.loads(file.read_text(encoding="utf-8"))["checkpoint"]["latest"].get("resources") or [])

    def written(self) -> str:
        """Everything that the engine wrote to disk for this stack."""
        files = [file for file in (self.folder / "state").rglob("*") if file.is_file()]
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
