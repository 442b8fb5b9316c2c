"""The S3 client for R2: built from what it is given, and from nothing that the user keeps for AWS."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES, ConfigValueStore, ConstantProvider
from botocore.session import Session

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ENDPOINT_VARIABLE: Final = "SLUICEWAY_R2_ENDPOINT"
_LONGEST_WAIT: Final = 20.0
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


def endpoint(account_id: str, jurisdiction: str = "default") -> str:
    """Where a bucket's S3 API is. A jurisdiction has a host of its own; SLUICEWAY_R2_ENDPOINT comes before all."""
    given = os.environ.get(ENDPOINT_VARIABLE)
    if given:
        return given
    place = "" if jurisdiction == "default" else f".{jurisdiction}"
    return f"https://{account_id}{place}.r2.cloudflarestorage.com"


def bucket_at_endpoint(bucket: str, jurisdiction: str = "default") -> str:
    """The bucket's name in S3 calls: one endpoint serves all jurisdictions of the local stage, by a prefix."""
    if jurisdiction != "default" and os.environ.get(ENDPOINT_VARIABLE):
        return f"{jurisdiction}_{bucket}"
    return bucket


def client(endpoint: str, access_key_id: str, secret: str, *, attempts: int = 5) -> S3Client:
    """A client for one endpoint, alike on every machine.

    R2 refuses the checksums that boto3 adds by default, and reads their trailers as a bad signature,
    so they are off whatever AWS_* variables or profiles say. SSL_CERT_FILE names the certificates to trust.
    """
    loopback = urlsplit(endpoint).hostname in _LOOPBACK
    made = boto3.session.Session(botocore_session=_session()).client(
        "s3",
        endpoint_url=endpoint,
        region_name="auto",
        aws_access_key_id=access_key_id,
        aws_secret_access_key=secret,
        verify=os.environ.get("SSL_CERT_FILE") or None,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            retries={"mode": "standard", "total_max_attempts": attempts},
            connect_timeout=10,
            read_timeout=60,
            # A proxy is for the world outside: it can't reach this machine's loopback.
            proxies={} if loopback else None,
        ),
    )
    made.meta.events.register("needs-retry.s3", _patience(attempts))
    return made


def _patience(most: int) -> Callable[..., Any]:
    """R2 puts a client off by 429, which boto3 takes for final: S3 itself says it by 503."""

    def wait(response: Any = None, attempts: int = 1, **_: object) -> float | None:  # noqa: ANN401 - botocore's pair
        if response is None or response[0].status_code != 429 or attempts >= most:
            return None
        asked = str(response[0].headers.get("retry-after", ""))
        return min(float(asked) if asked.isdigit() else 0.5 * 2**attempts, _LONGEST_WAIT)

    return wait


def _session() -> Session:
    """A session in which every setting has botocore's own default: no variable and no file is looked at."""
    session = Session()
    fixed = {name: ConstantProvider(entry[2]) for name, entry in BOTOCORE_DEFAUT_SESSION_VARIABLES.items()}
    fixed |= {name: ConstantProvider(os.devnull) for name in ("config_file", "credentials_file")}
    store = session.get_component("config_store")
    assert isinstance(store, ConfigValueStore)
    for name, provider in fixed.items():
        store.set_config_provider(name, provider)
    # Session variables that aren't in that table (s3, retries, proxies) come from the profile, which is now empty.
    return session
