"""``pulumi-resource-cloudflare``: stands in for the official plugin on the local stage."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from sluiceway.engine.provider.configuration import CLOUDFLARE, need_token, setting
from sluiceway.engine.provider.consent import CONSENT
from sluiceway.engine.provider.generic import TableProvider
from sluiceway.engine.provider.rows import ROWS
from sluiceway.engine.provider.serve import serve
from sluiceway.engine.provider.transport import Client, loopback
from sluiceway.engine.provider.values import Props
from sluiceway.errors import UserError

VERSION = "6.23.1"
"""The SDK (pulumi_cloudflare) whose resources this plugin serves."""


def connect(config: Props, environ: Mapping[str, str]) -> Client | None:
    """A client from the provider's inputs, else the environment. UserError where it may not be used."""
    token = setting(config, "apiToken", environ, "CLOUDFLARE_API_TOKEN")
    base_url = setting(config, "baseUrl", environ, "CLOUDFLARE_BASE_URL", CLOUDFLARE)
    if token is None or base_url is None:
        return None
    if not loopback(base_url):
        if environ.get(CONSENT) != "1":
            raise UserError(
                f"the bundled stand-in for the Cloudflare provider is never used silently against {base_url}",
                hint="install the official plugin (`pulumi plugin install resource cloudflare`), point "
                f"CLOUDFLARE_BASE_URL at the local stage, or set {CONSENT}=1 to use the stand-in knowingly",
            )
        sys.stderr.write(f"warning: {base_url} is served by Sluiceway's stand-in for the Cloudflare provider\n")
    return Client(base_url, need_token(token))


def main() -> None:
    provider = TableProvider("cloudflare", VERSION, ROWS, lambda config: connect(config, os.environ))
    serve(provider, VERSION, sys.argv[1:])


if __name__ == "__main__":
    main()
