"""A real encoder from its weights to a stage's R2 and back, as a person does it. Its build is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import models
from tests.e2e.checkout import Checkout
from tests.e2e.conftest import Served


@pytest.mark.skipif(not models.is_cached("minilm"), reason=models.MISSING)
def test_minilm_is_built_through_a_kill_published_verified_and_pulled(served: Served, tmp_path: Path) -> None:
    checkout, work = served.checkout, tmp_path / "work"
    words = ("models", "build", "minilm", "--dir", str(work), "--json")
    before = kill_after_stages(checkout, words, work)
    done = checkout.sluiceway(*words)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert {stage["stage"] for stage in document["stages"] if stage["kept"]} == before
    report = next(stage["report"] for stage in document["stages"] if stage["stage"] == "validate")
    assert report["figures"]["cosine_min"] >= 0.98 and report["figures"]["size_share"] <= 0.26
    package = Path(document["package"])
    manifest = json.loads((package / "model.json").read_text())
    assert manifest["model"] == "minilm" and manifest["licence"] == "Apache-2.0"
    assert not list(work.glob(".making-*"))

    published = checkout.sluiceway("models", "publish", str(package), "local", "--json")
    assert published.code == 0, published.err
    told = json.loads(published.out)
    assert (told["version"], told["already"]) == ("minilm@1", False)
    again = json.loads(checkout.sluiceway("models", "publish", str(package), "local", "--json").out)
    assert (again["version"], again["already"], again["sent"]) == ("minilm@1", True, [])
    pulled = checkout.sluiceway("models", "pull", "minilm@1", str(tmp_path / "pulled"), "local")
    assert pulled.code == 0, pulled.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "pulled").iterdir()} == {
        path.name: path.read_bytes() for path in package.iterdir()
    }
    verified = checkout.sluiceway("models", "verify", str(tmp_path / "pulled"))
    assert verified.code == 0, verified.err


def kill_after_stages(checkout: Checkout, words: tuple[str, ...], work: Path) -> set[str]:
    """The stages of the build that had ended when it was killed: three at least."""
    first = subprocess.Popen(
        [checkout.python, "-m", "sluiceway", *words],
        cwd=checkout.root,
        env=checkout.environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while first.poll() is None and len(stages(work)) < 3:
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL  # else it ended before, by itself
    return stages(work)


def stages(work: Path) -> set[str]:
    return {json.loads(path.read_text())["stage"] for path in work.glob("[0-9a-f]*/stage.json")}
