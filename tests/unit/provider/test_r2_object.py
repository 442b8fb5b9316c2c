"""R2 objects by the real boto3 against a small S3 server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluiceway.cloudflare import r2
from sluiceway.engine.provider.row import Row
from sluiceway.engine.provider.rows.r2_object import R2_OBJECT, R2ObjectQuirks
from sluiceway.errors import SluicewayError
from tests.unit.cloudflare.fake_s3 import CERTIFICATE, FakeS3, serve
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import ACCOUNT, Driver, Refused

KEY = "models/intent/1/abc/model.onnx"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeS3]:
    with serve() as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        monkeypatch.setenv("SLUICEWAY_R2_ENDPOINT", server.url)
        yield server


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICEWAY_ROOT", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "one.onnx").write_bytes(b"weights")
    (tmp_path / "models" / "copy.onnx").write_bytes(b"weights")
    (tmp_path / "models" / "two.onnx").write_bytes(b"other weights")
    return tmp_path


@pytest.fixture
def objects(fake: FakeCloudflare, s3: FakeS3, root: Path) -> Driver:
    row = Row(**{**vars(R2_OBJECT), "quirks": R2ObjectQuirks()})
    return Driver(fake, {row.token: row})


def wanted(root: Path, source: str = "models/one.onnx", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    data = (root / source).read_bytes()
    return {
        "accountId": ACCOUNT,
        "bucket": "models",
        "jurisdiction": "default",
        "key": KEY,
        "source": source,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "contentType": "application/octet-stream",
        **more,
    }


def test_uploaded_read_back_unchanged_and_deleted(objects: Driver, s3: FakeS3, root: Path) -> None:
    made = objects.create("R2Object", wanted(root))
    assert made.rid == f"models/{KEY}"
    assert made.state["etag"]
    fresh = objects.refresh(made)
    assert fresh is not None
    assert objects.changed(fresh, wanted(root)) == []
    assert [stored.data for stored in s3.objects.values()] == [b"weights"]
    objects.delete(made)
    assert s3.objects == {}
    assert objects.refresh(made) is None


def test_the_same_bytes_from_another_path_are_no_change(objects: Driver, root: Path) -> None:
    made = objects.create("R2Object", wanted(root))
    assert objects.changed(made, wanted(root, "models/copy.onnx")) == []


def test_other_bytes_update_and_another_key_replaces(objects: Driver, s3: FakeS3, root: Path) -> None:
    made = objects.create("R2Object", wanted(root))
    diff = objects.diff(made, wanted(root, "models/two.onnx"))
    assert (sorted(diff.diffs), diff.replaces) == (["bytes", "sha256"], [])
    objects.update(made, wanted(root, "models/two.onnx"))
    assert [stored.data for stored in s3.objects.values()] == [b"other weights"]
    assert objects.diff(made, wanted(root, key="elsewhere")).replaces == ["key"]
    assert objects.diff(made, wanted(root, bucket="other")).replaces == ["bucket"]


def test_an_object_changed_by_hand_is_drift(objects: Driver, s3: FakeS3, root: Path) -> None:
    made = objects.create("R2Object", wanted(root))
    (stored,) = s3.objects.values()
    stored.metadata["sha256"] = "0" * 64
    fresh = objects.refresh(made)
    assert fresh is not None
    assert objects.changed(fresh, wanted(root)) == ["sha256"]


def test_imported_by_its_path_is_no_change(objects: Driver, root: Path) -> None:
    made = objects.create("R2Object", wanted(root))
    imported = objects.imported("R2Object", f"{ACCOUNT}/default/models/{KEY}")
    assert imported is not None
    assert imported.rid == made.rid
    assert objects.changed(imported, wanted(root)) == []


def test_a_missing_or_changed_file_is_refused_before_any_call(objects: Driver, s3: FakeS3, root: Path) -> None:
    with pytest.raises(Refused) as refused:
        objects.create("R2Object", {**wanted(root), "source": "models/none.onnx"})
    assert "models/none.onnx" in refused.value.faults["source"]
    with pytest.raises(Refused) as refused:
        objects.create("R2Object", {**wanted(root), "bytes": 1})
    assert "7 bytes" in refused.value.faults["bytes"]
    assert s3.requests == []


def test_a_file_of_another_digest_is_refused_with_the_resource_named(objects: Driver, s3: FakeS3, root: Path) -> None:
    with pytest.raises(SluicewayError, match="sha256") as fault:
        objects.create("R2Object", {**wanted(root), "sha256": "0" * 64})
    assert str(fault.value).startswith("R2Object 'it': ")
    assert s3.objects == {}


def test_keys_are_those_of_the_token(objects: Driver, fake: FakeCloudflare, s3: FakeS3, root: Path) -> None:
    objects.create("R2Object", wanted(root))
    assert [call[1] for call in fake.calls] == ["/user/tokens/verify"]
    (_, _, headers) = s3.requests[0]
    access_key = r2.credentials("token", fake.token_id).access_key_id
    assert f"Credential={access_key}/" in {name.lower(): text for name, text in headers.items()}["authorization"]


def test_tokens_of_an_account_are_asked_of_the_account(objects: Driver, fake: FakeCloudflare, root: Path) -> None:
    fake.faults.append(("/user/tokens/verify", 401, 1000, "Invalid API Token"))
    objects.create("R2Object", wanted(root))
    assert [call[1] for call in fake.calls] == ["/user/tokens/verify", f"/accounts/{ACCOUNT}/tokens/verify"]
