"""The model file that `up` uploads with boto3 is what the Worker reads through its R2 binding."""

from __future__ import annotations

import hashlib
import json
import os
import secrets

import boto3
import httpx
from botocore.config import Config

from tests.e2e.checkout import ROOT
from tests.e2e.conftest import Served

ARTIFACT = ROOT / "models" / "artifacts" / "intent" / "1" / "model.onnx"


def test_the_worker_reads_the_uploaded_artifact_byte_for_byte(served: Served) -> None:
    answer = httpx.get(
        f"{served.url}/v1/models/intent/artifacts/1/model.onnx", headers={"authorization": f"Bearer {served.key}"}
    )
    assert answer.status_code == 200, answer.text
    assert answer.content == ARTIFACT.read_bytes()
    assert hashlib.sha256(answer.content).hexdigest() in answer.headers["etag"]


def test_boto3_and_the_worker_share_one_bucket(served: Served) -> None:
    variables = served.checkout.sluiceway("env", "local", "--json")
    env = json.loads(variables.out)
    token = env["CLOUDFLARE_API_TOKEN"]
    verify = httpx.get(
        f"{env['CLOUDFLARE_BASE_URL']}/user/tokens/verify", headers={"authorization": f"Bearer {token}"}
    ).json()
    s3 = boto3.client(
        "s3", endpoint_url=env["SLUICEWAY_R2_ENDPOINT"], region_name="auto",
        aws_access_key_id=verify["result"]["id"], aws_secret_access_key=hashlib.sha256(token.encode()).hexdigest(),
        config=Config(request_checksum_calculation="when_required", response_checksum_validation="when_required"),
    )  # fmt: skip
    keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket="sluiceway-local-models")["Contents"]]
    (model,) = [key for key in keys if key.endswith("/model.onnx")]
    assert hashlib.sha256(ARTIFACT.read_bytes()).hexdigest() in model
    noise = os.urandom(300_000)
    name = f"test/{secrets.token_hex(4)}"
    s3.put_object(Bucket="sluiceway-local-models", Key=name, Body=noise)
    assert s3.get_object(Bucket="sluiceway-local-models", Key=name)["Body"].read() == noise
    s3.delete_object(Bucket="sluiceway-local-models", Key=name)
