"""``pulumi-resource-sluiceway``: resources that Cloudflare's provider doesn't have."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from sluiceway.engine.provider.configuration import CLOUDFLARE, need_token, setting
from sluiceway.engine.provider.generic import TableProvider
from sluiceway.engine.provider.rows.r2_object import R2_OBJECT
from sluiceway.engine.provider.serve import serve
from sluiceway.engine.provider.transport import Client
from sluiceway.engine.provider.values import Props

VERSION = "0.1.0"


def connect(config: Props, environ: Mapping[str, str]) -> Client | None:
    """A client for the API that also tells R2's keys; None while the configuration is unknown."""
    token = setting(config, "apiToken", environ, "CLOUDFLARE_API_TOKEN")
    base_url = setting(config, "baseUrl", environ, "CLOUDFLARE_BASE_URL", CLOUDFLARE)
    if token is None or base_url is None:
        return None
    return Client(base_url, need_token(token))


def main() -> None:
    rows = {R2_OBJECT.token: R2_OBJECT}
    serve(TableProvider("sluiceway", VERSION, rows, lambda config: connect(config, os.environ)), VERSION, sys.argv[1:])


if __name__ == "__main__":
    main()
