"""Signatures by the real library: of all of a package, by one key, or refused with one clear error."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.package import package, verify
from sluiceway.pipeline.publish import send
from sluiceway.pipeline.publish.pull import pull, wanted
from sluiceway.pipeline.publish.shelf import Bucket
from sluiceway.pipeline.signing import bundle, call
from sluiceway.pipeline.signing.environment import SIGNING
from tests import signer
from tests.unit.pipeline.package.samples import META
from tests.unit.pipeline.package.test_package import CLASSIFY, external, made, tree
from tests.unit.pipeline.publish.conftest import bucket, client, s3, server, shared_client

__all__ = ["bucket", "client", "s3", "server", "shared_client"]

pytestmark = pytest.mark.skipif(SIGNING.found() is None, reason=signer.MISSING)
Statement = dict[str, Any]


@pytest.fixture(scope="module")
def python() -> Path:
    found = SIGNING.found()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return signer.key_pair(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture(scope="module")
def signed_once(tmp_path_factory: pytest.TempPathFactory, keys: tuple[Path, Path], python: Path) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    done = package(made(folder), META, folder / "shelf" / "package").folder
    call.sign(done, keys[0], python)
    return done


@pytest.fixture
def signed(tmp_path: Path, signed_once: Path) -> Path:
    """A signed package, in another place and under another name than it was signed in."""
    return Path(shutil.copytree(signed_once, tmp_path / "elsewhere" / "taken"))


def changed(folder: Path, change: Callable[[Statement], None]) -> None:
    """The statement in the signature, which is another from here on."""
    path = folder / "model.sig"
    document = json.loads(path.read_text("utf-8"))
    statement = json.loads(base64.b64decode(document["dsseEnvelope"]["payload"]))
    change(statement)
    document["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    path.write_text(json.dumps(document), "utf-8")


def test_a_signed_package_verifies_wherever_it_lies(signed: Path, keys: tuple[Path, Path], python: Path) -> None:
    call.check(signed, verify(signed), keys[1], python)
    assert not list(signed.parent.glob(".*")), "nothing is left beside it"


def test_a_signature_is_of_every_file_but_itself(signed: Path) -> None:
    document = json.loads((signed / "model.sig").read_text("utf-8"))
    statement = json.loads(base64.b64decode(document["dsseEnvelope"]["payload"]))
    names = {entry["name"] for entry in statement["predicate"]["resources"]}
    files = {path.relative_to(signed).as_posix() for path in signed.rglob("*") if path.is_file()}
    assert names == files - {"model.sig"}


def test_signing_again_by_another_key_replaces_the_signature(
    tmp_path: Path, signed: Path, keys: tuple[Path, Path], python: Path
) -> None:
    private, public = signer.key_pair(tmp_path, "theirs", "SECP384R1")
    call.sign(signed, private, python)
    call.check(signed, verify(signed), public, python)
    with pytest.raises(UserError, match="isn't signed by this key"):
        call.check(signed, verify(signed), keys[1], python)


def test_the_digest_of_a_package_is_the_same_signed_or_not(signed: Path) -> None:
    before = verify(signed)
    (signed / "model.sig").unlink()
    assert verify(signed) == before


def test_a_package_that_is_published_takes_its_signature_along(signed: Path) -> None:
    assert "model.sig" in {file.name for file in send.described(signed, verify(signed))}
    changed(signed, lambda statement: statement["predicate"]["resources"].pop())
    with pytest.raises(UserError, match="leaves out a file"):
        send.described(signed, verify(signed))


def test_a_package_with_weights_in_a_folder_is_signed_published_pulled_and_still_signed(
    tmp_path: Path, keys: tuple[Path, Path], python: Path, bucket: Bucket
) -> None:
    model = external(tmp_path / "model", ["data/weights.bin", "data/deep/more.bin"])
    ours = package(model, CLASSIFY, tmp_path / "ours").folder
    call.sign(ours, keys[0], python)
    ref = ModelRef("tiny", 3)
    send.publish(bucket, ref, ours, send.described(ours, verify(ours)))
    pull(bucket, ref, wanted(bucket, ref, ()), tmp_path / "theirs")
    assert tree(tmp_path / "theirs") == tree(ours)
    call.check(tmp_path / "theirs", verify(tmp_path / "theirs"), keys[1], python)


def test_an_unsigned_package_is_refused_by_a_key(signed: Path, keys: tuple[Path, Path], python: Path) -> None:
    (signed / "model.sig").unlink()
    with pytest.raises(UserError, match="isn't signed") as caught:
        call.check(signed, verify(signed), keys[1], python)
    assert "models sign" in (caught.value.hint or "")


def _left_out(statement: Statement) -> None:
    """The file that an attacker swaps is one that the signature says to leave out."""
    predicate = statement["predicate"]
    predicate["resources"] = [each for each in predicate["resources"] if each["name"] != "model.onnx"]
    predicate["serialization"]["ignore_paths"].append("model.onnx")


def _renamed(statement: Statement) -> None:
    statement["predicate"]["resources"][0]["name"] = "nothing"


def _other_digest(statement: Statement) -> None:
    statement["predicate"]["resources"][0]["digest"] = "0" * 64


def _twice(statement: Statement) -> None:
    statement["predicate"]["resources"].append(dict(statement["predicate"]["resources"][0]))


def _shards(statement: Statement) -> None:
    statement["predicate"]["serialization"]["method"] = "shards"


def _blake(statement: Statement) -> None:
    statement["predicate"]["resources"][0]["algorithm"] = "blake3"


def _old(statement: Statement) -> None:
    statement["predicateType"] = "https://model_signing/Digests/v0.1"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_left_out, "leaves out a file.*model.onnx"),
        (_renamed, "leaves out a file"),
        (_other_digest, "is of another file of this name"),
        (_twice, "stands twice"),
        (_shards, "in pieces"),
        (_blake, "blake3"),
        (_old, "predicate"),
    ],
)
def test_a_signature_of_less_or_of_something_else_is_refused_before_its_key_matters(
    signed: Path, change: Callable[[Statement], None], told: str
) -> None:
    changed(signed, change)
    with pytest.raises(UserError, match=told):
        bundle.require_of(signed, verify(signed))


def test_a_statement_that_was_changed_is_not_signed_by_the_key(
    signed: Path, keys: tuple[Path, Path], python: Path
) -> None:
    changed(signed, lambda statement: statement["subject"][0].update(name="another"))
    with pytest.raises(UserError, match="isn't signed by this key"):
        call.check(signed, verify(signed), keys[1], python)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"dsseEnvelope": {}}', '{"dsseEnvelope": {"payload": "%%%"}}', "[" * 100_000],
    ids=["empty", "cut", "list", "null", "no payload", "no base64", "deep"],
)
def test_what_is_no_signature_is_one_error(signed: Path, text: str) -> None:
    (signed / "model.sig").write_text(text, "utf-8")
    with pytest.raises(UserError, match="is no signature of a package"):
        bundle.require_of(signed, verify(signed))


def test_a_signature_cut_anywhere_is_one_error(signed: Path, keys: tuple[Path, Path], python: Path) -> None:
    whole = (signed / "model.sig").read_bytes()
    manifest = verify(signed)
    for length in range(0, len(whole) - 1, 97):
        (signed / "model.sig").write_bytes(whole[:length])
        with pytest.raises(UserError):
            bundle.require_of(signed, manifest)


def test_a_huge_signature_is_not_read(signed: Path) -> None:
    with (signed / "model.sig").open("wb") as stream:
        stream.truncate(bundle.MOST_BYTES + 1)
    with pytest.raises(UserError, match="larger than"):
        bundle.require_of(signed, verify(signed))


@pytest.mark.parametrize("kind", ["rsa", "SECP256K1", "text", "public"])
def test_a_key_that_is_no_use_changes_nothing_and_is_not_shown(
    tmp_path: Path, signed: Path, keys: tuple[Path, Path], python: Path, kind: str
) -> None:
    before = (signed / "model.sig").read_bytes()
    key = tmp_path / "key.pem"
    if kind == "text":
        key.write_text("a secret that nobody should read", "utf-8")
    elif kind == "public":
        key = keys[1]
    else:
        key, _ = signer.key_pair(tmp_path, "key", kind)
    with pytest.raises(UserError, match="is no private key") as caught:
        call.sign(signed, key, python)
    assert "secret" not in caught.value.render()
    assert (signed / "model.sig").read_bytes() == before
    assert not list(signed.parent.glob(".*"))


def test_an_encrypted_key_opens_by_its_passphrase_alone(
    tmp_path: Path, signed: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, public = signer.key_pair(tmp_path, "locked", passphrase="open sesame")
    with pytest.raises(UserError, match="no passphrase is there") as caught:
        call.sign(signed, private, python)
    assert call.PASSPHRASE in (caught.value.hint or "")
    monkeypatch.setenv(call.PASSPHRASE, "wrong words")
    with pytest.raises(UserError, match="doesn't open") as caught:
        call.sign(signed, private, python)
    assert "wrong words" not in caught.value.render()
    monkeypatch.setenv(call.PASSPHRASE, "open sesame")
    call.sign(signed, private, python)
    call.check(signed, verify(signed), public, python)


def test_a_private_key_is_no_key_to_check_by(signed: Path, keys: tuple[Path, Path], python: Path) -> None:
    with pytest.raises(UserError, match="is no public key"):
        call.check(signed, verify(signed), keys[0], python)


def test_a_source_that_was_signed_leaves_its_signature_behind(tmp_path: Path) -> None:
    model = made(tmp_path)
    (model.folder / "model.sig").write_text("of another folder", "utf-8")
    done = package(model, META, tmp_path / "shelf" / "package")
    assert not (done.folder / "model.sig").exists()


def test_a_build_names_its_key_by_a_variable_or_says_which(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="names no key") as caught:
        call.named_key({})
    assert call.KEY in caught.value.render()
    with pytest.raises(UserError, match="no such file"):
        call.named_key({call.KEY: str(tmp_path / "absent.pem")})
    (tmp_path / "there.pem").touch()
    assert call.named_key({call.KEY: str(tmp_path / "there.pem")}) == tmp_path / "there.pem"


def test_a_library_that_never_answers_is_not_waited_for(
    tmp_path: Path, signed: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (signed / "model.sig").read_bytes()
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nexec sleep 600\n", "utf-8")
    stuck.chmod(0o755)
    monkeypatch.setattr(call, "patience", lambda folder: 0.2)
    with pytest.raises(SluicewayError, match="took longer than"):
        call.sign(signed, keys[0], stuck)
    with pytest.raises(SluicewayError, match="took longer than"):
        call.check(signed, verify(signed), keys[1], stuck)
    assert (signed / "model.sig").read_bytes() == before
    assert not list(signed.parent.glob(".*"))


def test_a_larger_package_may_take_longer(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    least = call.patience(tmp_path)
    with (tmp_path / "data" / "weights.bin").open("wb") as stream:
        stream.truncate(10**9)
    assert call.patience(tmp_path) > least > 0
