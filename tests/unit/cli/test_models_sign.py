"""``sluiceway models sign`` and ``verify --key``, and a recipe whose package is signed, by the real library."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sluiceway.cli.main import app
from sluiceway.errors import UserError
from sluiceway.pipeline.signing.environment import SIGNING
from tests import signer
from tests.unit.cli.test_models_build import RECIPE, laid_out
from tests.unit.pipeline.publish.conftest import built

__all__ = ["built"]

pytestmark = pytest.mark.skipif(SIGNING.found() is None, reason=signer.MISSING)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return signer.key_pair(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture
def package(tmp_path: Path, built: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "package"))


def run(*words: object, **env: str) -> Result:
    return CliRunner(env=env).invoke(app, ["models", *map(str, words)])


def verified(folder: Path, *more: object) -> str:
    done = run("verify", folder, *more, "--json")
    assert done.exit_code == 0, done.exception
    return str(json.loads(done.stdout)["signature"])


def refused(*words: object) -> UserError:
    error = run(*words).exception
    assert isinstance(error, UserError), error
    return error


@pytest.fixture(scope="module")
def signed_once(tmp_path_factory: pytest.TempPathFactory, built: Path, keys: tuple[Path, Path]) -> Path:
    return sign(Path(shutil.copytree(built, tmp_path_factory.mktemp("signed") / "package")), keys)


@pytest.fixture
def signed(tmp_path: Path, signed_once: Path) -> Path:
    return Path(shutil.copytree(signed_once, tmp_path / "signed"))


def sign(folder: Path, keys: tuple[Path, Path]) -> Path:
    done = run("sign", folder, "--key", keys[0])
    assert done.exit_code == 0, done.exception
    return folder


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def repackaged(folder: Path, out: Path) -> Path:
    """The same package with another licence in its model.json."""
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns("model.sig"))
    text = (out / "model.json").read_text("utf-8")
    (out / "model.json").write_text(text.replace("Apache-2.0", "MIT"), "utf-8")
    return out


def test_a_package_is_signed_and_checked_by_two_commands(package: Path, keys: tuple[Path, Path]) -> None:
    assert verified(package) == "none"
    done = run("sign", package, "--key", keys[0])
    assert done.exit_code == 0, done.exception
    assert f"sluiceway models verify {package} --key" in done.stderr
    assert verified(package) == "unchecked"
    assert "was not looked at: --key PUBLIC" in run("verify", package).stdout
    assert verified(package, "--key", keys[1]) == "good"
    assert f"signed by {keys[1]}" in run("verify", package, "--key", keys[1]).stdout


def test_the_key_may_be_named_by_a_variable_and_the_answer_be_json(package: Path, keys: tuple[Path, Path]) -> None:
    done = run("sign", package, "--json", SLUICEWAY_SIGNING_KEY=str(keys[0]))
    told = json.loads(done.stdout)
    files = [path for path in package.rglob("*") if path.is_file()]
    assert (told["signature"], told["files"]) == (str(package / "model.sig"), len(files) - 1)
    assert "PRIVATE" not in done.stdout + done.stderr


def test_what_was_changed_since_it_was_signed_is_told(package: Path, keys: tuple[Path, Path]) -> None:
    run("sign", package, "--key", keys[0])
    manifest = (package / "model.json").read_text("utf-8")
    (package / "model.json").write_text(manifest.replace('"fp32"', '"fp16"'), "utf-8")
    for words in (("verify", package), ("verify", package, "--key", keys[1])):
        assert "of another file of this name" in str(refused(*words))


@pytest.mark.parametrize("name", ["model.onnx", "model.json", "tokenizer.json", "sbom.cdx.json"])
def test_a_flipped_byte_in_any_file_is_one_error(signed: Path, keys: tuple[Path, Path], name: str) -> None:
    flip(signed / name, (signed / name).stat().st_size // 2)
    for words in (("verify", signed), ("verify", signed, "--key", keys[1])):
        assert refused(*words).hint


@pytest.mark.parametrize("within", ["payload", "sig", "hint"])
def test_a_flipped_byte_in_the_signature_is_one_error(signed: Path, keys: tuple[Path, Path], within: str) -> None:
    text = (signed / "model.sig").read_bytes()
    flip(signed / "model.sig", text.index(f'"{within}":"'.encode()) + len(within) + 20)
    assert refused("verify", signed, "--key", keys[1]).hint


def test_a_file_that_was_added_since_is_one_error(signed: Path, keys: tuple[Path, Path]) -> None:
    (signed / "more.txt").write_text("not signed", "utf-8")
    assert "a file that model.json doesn't list" in str(refused("verify", signed, "--key", keys[1]))


def test_the_signature_of_another_package_is_one_error(signed: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    other = sign(repackaged(signed, tmp_path / "other"), keys)
    shutil.copy(other / "model.sig", signed)
    for words in (("verify", signed), ("verify", signed, "--key", keys[1])):
        assert "the signature is of another file of this name" in str(refused(*words))


def test_a_signature_by_another_key_is_one_error(signed: Path, tmp_path: Path) -> None:
    _, theirs = signer.key_pair(tmp_path, "theirs")
    assert "isn't signed by this key" in str(refused("verify", signed, "--key", theirs))


def test_a_folder_in_the_place_of_a_signature_is_one_error(package: Path, keys: tuple[Path, Path]) -> None:
    (package / "model.sig").mkdir()
    for words in (("verify", package), ("verify", package, "--key", keys[1]), ("sign", package, "--key", keys[0])):
        assert "model.sig: is a folder" in str(refused(*words))


def test_a_signature_that_leaves_out_a_file_is_refused_though_its_owner_made_it(
    package: Path, keys: tuple[Path, Path]
) -> None:
    python = SIGNING.found()
    code = """import sys
from model_signing import hashing, signing
folder, key = sys.argv[1:]
config = signing.Config().use_elliptic_key_signer(private_key=key)
config.set_hashing_config(hashing.Config().set_ignored_paths(paths=["model.sig", "model.onnx"]))
config.sign(folder, folder + "/model.sig")
"""
    subprocess.run([str(python), "-c", code, str(package), str(keys[0])], check=True)
    for words in (("verify", package), ("verify", package, "--key", keys[1])):
        assert "leaves out a file, got 'model.onnx'" in str(refused(*words))


def test_an_unsigned_package_and_a_missing_key_are_told_with_what_to_do(
    package: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    assert "isn't signed" in str(refused("verify", package, "--key", keys[1]))
    assert "no such file" in str(refused("verify", package, "--key", tmp_path / "absent"))
    assert "no such file" in str(refused("sign", package, "--key", tmp_path / "absent"))
    assert "SLUICEWAY_SIGNING_KEY" in (refused("sign", package).hint or "")
    assert not (package / "model.sig").exists()


def test_a_broken_package_is_not_signed(package: Path, keys: tuple[Path, Path]) -> None:
    with (package / "model.onnx").open("r+b") as stream:
        stream.seek(40)
        stream.write(b"\0\0")
    assert "isn't the file of sha256" in str(refused("sign", package, "--key", keys[0]))
    assert not (package / "model.sig").exists()


def test_a_recipe_that_asks_for_it_ends_in_a_signed_package(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    laid_out(tmp_path, {**RECIPE, "package": {"signature": True}})
    env = {"SLUICEWAY_ROOT": str(tmp_path), "SLUICEWAY_SIGNING_KEY": str(keys[0])}
    done = run("build", "tiny", "--json", **env)
    assert done.exit_code == 0, done.exception
    (made,) = (tmp_path / ".sluiceway" / "models" / "tiny").glob("*/out/model.sig")
    assert verified(made.parent, "--key", keys[1]) == "good"
