"""What a plugin is configured with: provider inputs first, then the environment."""

from __future__ import annotations

from collections.abc import Mapping

from sluiceway.engine.provider.values import Props, Unknown
from sluiceway.errors import UserError

CLOUDFLARE = "https://api.cloudflare.com/client/v4"


def setting(config: Props, name: str, environ: Mapping[str, str], variable: str, default: str = "") -> str | None:
    """The value, or None while it is unknown (in a preview)."""
    given = config.get(name)
    if isinstance(given, Unknown):
        return None
    return str(given or environ.get(variable) or default)


def need_token(token: str) -> str:
    if not token:
        raise UserError(
            "no API token for Cloudflare", hint="set CLOUDFLARE_API_TOKEN; for stage local: `sluiceway env local`"
        )
    return token
