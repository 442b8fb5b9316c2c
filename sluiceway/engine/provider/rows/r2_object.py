"""Objects in R2: the files of models. They travel by the S3 API, and their sha256 says what they are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.faults import ApiFault, InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

S3Maker = Callable[[str, str, str, str], "S3Client"]
"""(account id, jurisdiction, API token, its id) -> client."""


def make_s3(account: str, jurisdiction: str, token: str, token_id: str) -> S3Client:
    # boto3 takes half a second to import; a preview without changes never needs it.
    from sluiceway.cloudflare import r2

    keys = r2.credentials(token, token_id)
    return r2.client(r2.endpoint(account, jurisdiction), keys.access_key_id, keys.secret_access_key)


def source_path(source: str) -> Path:
    """Sources are relative to the repository's root (SLUICEWAY_ROOT), so that state fits every machine."""
    return Path(os.environ.get("SLUICEWAY_ROOT", ".")) / source


class R2ObjectQuirks(Quirks):
    """``maker`` makes the S3 client; one is kept per account and jurisdiction."""

    def __init__(self, maker: S3Maker = make_s3) -> None:
        self._maker = maker
        self._clients: dict[tuple[str, str], S3Client] = {}
        self._making = asyncio.Lock()

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        source, size = props.get("source"), props.get("bytes")
        if not isinstance(source, str):
            return []
        path = source_path(source)
        if not path.is_file():
            return [InputFault("source", f"there is no file {source!r} in the repository")]
        found = path.stat().st_size
        if isinstance(size, int) and size != found:
            return [InputFault("bytes", f"{source} has {found} bytes, not {size}: it changed since it was planned")]
        return []

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        from sluiceway.cloudflare import r2

        s3, bucket = await self._s3(client, props), _bucket(props)
        path = source_path(str(props["source"]))
        sent = await asyncio.to_thread(r2.upload, s3, bucket, props["key"], path, props["sha256"], props["contentType"])
        return {"id": f"{props['bucket']}/{props['key']}", "etag": sent.etag}

    async def update(self, client: Client, row: Row, rid: str, old: Props, props: Props) -> Value:
        return await self.create(client, row, props, frozenset())

    async def read(self, client: Client, row: Row, rid: str, props: Props) -> Value:
        from sluiceway.cloudflare import r2

        found = await asyncio.to_thread(r2.head, await self._s3(client, props), _bucket(props), props["key"])
        if found is None:
            return None
        return {
            "id": f"{props['bucket']}/{props['key']}",
            "etag": found.etag,
            "bytes": found.size,
            "sha256": found.sha256 or "",
        }

    async def delete(self, client: Client, row: Row, rid: str, props: Props) -> None:
        from sluiceway.cloudflare import r2

        await asyncio.to_thread(r2.delete, await self._s3(client, props), _bucket(props), props["key"])

    async def _s3(self, client: Client, props: Props) -> S3Client:
        account, jurisdiction = str(props["accountId"]), str(props.get("jurisdiction") or "default")
        async with self._making:
            if (account, jurisdiction) not in self._clients:
                token_id = await self._token_id(client, account)
                made = await asyncio.to_thread(self._maker, account, jurisdiction, client.token, token_id)
                self._clients[account, jurisdiction] = made
        return self._clients[account, jurisdiction]

    async def _token_id(self, client: Client, account: str) -> str:
        """R2's S3 API knows an API token by its id. A token is the user's, or else the account's."""
        try:
            found = await client.call(Request("GET", "/user/tokens/verify"))
        except ApiFault as fault:
            if fault.status not in {400, 401, 403, 404}:
                raise
            path = Call("GET", "/accounts/{accountId}/tokens/verify").fill({"accountId": account})
            found = await client.call(Request("GET", path))
        return str(found["id"])


def _bucket(props: Props) -> str:
    from sluiceway.cloudflare import r2

    return r2.bucket_at_endpoint(str(props["bucket"]), str(props.get("jurisdiction") or "default"))


R2_OBJECT = Row(
    "sluiceway:index:R2Object",
    create=Call("PUT", "/{accountId}/{bucket}/{key}"),
    read=Call("HEAD", "/{accountId}/{bucket}/{key}"),
    required=("accountId", "bucket", "key", "source", "sha256", "bytes", "contentType"),
    optional=("jurisdiction",),
    computed=("etag",),
    parts=("accountId", "jurisdiction", "bucket", "key"),
    replaces=frozenset({"bucket", "key", "jurisdiction"}),
    # The same bytes from another path are the same object.
    rules=Rules(
        silent=frozenset({"source"}),
        given_once=frozenset({"jurisdiction"}),
        written_only=frozenset({"contentType"}),
    ),
    quirks=R2ObjectQuirks(),
)
