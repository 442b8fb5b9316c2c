"""One object in an R2 bucket: a resource of our own, since the Cloudflare provider has none.

The plugin ``pulumi-resource-sluiceway`` uploads the file through the S3 API and keeps the sha256
in the object's metadata, so that an unchanged file is never sent again.
"""

from __future__ import annotations

from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class R2ObjectArgs:
    """``source`` is relative to the checkout, so that state says nothing about a machine.

    ``bytes`` is the file's size; ``sha256`` is in hex.
    """

    account_id: str
    bucket: pulumi.Input[str]
    jurisdiction: str
    key: str
    source: str
    sha256: str
    bytes: int
    content_type: str


class R2Object(pulumi.CustomResource):
    """``etag`` is what R2 answers for the object."""

    etag: pulumi.Output[str]

    def __init__(self, name: str, args: R2ObjectArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        properties = {
            "accountId": args.account_id,
            "bucket": args.bucket,
            "jurisdiction": args.jurisdiction,
            "key": args.key,
            "source": args.source,
            "sha256": args.sha256,
            "bytes": args.bytes,
            "contentType": args.content_type,
            "etag": None,
        }
        super().__init__("sluiceway:index:R2Object", name, properties, opts)
