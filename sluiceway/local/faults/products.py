"""Which product of Cloudflare's API a path belongs to: the names by which faults of the API are asked for."""

from __future__ import annotations

import re
from typing import Final

ALL: Final = "all"
S3: Final = "r2-s3"
# The first that fits decides, so what lies deeper stands first. Paths are below the account or the zone.
_PATHS: Final = (
    ("worker-versions", r"/workers/(workers|scripts)/[^/]+/versions(/.*)?"),
    ("deployments", r"/workers/scripts/[^/]+/deployments(/.*)?"),
    ("schedules", r"/workers/scripts/[^/]+/schedules"),
    ("subdomain", r"/workers(/scripts/[^/]+)?/subdomain"),
    ("secrets", r"/workers/scripts/[^/]+/secrets(-bulk|/.*)?"),
    ("routes", r"/workers/routes(/.*)?|/workers/scripts/[^/]+/routes"),
    ("domains", r"/workers/domains(/.*)?|/workers/scripts/[^/]+/domains/.*"),
    ("workers", r"/workers/.*"),
    ("kv-values", r"/storage/kv/namespaces/[^/]+/(values|metadata|keys|bulk)(/[\s\S]*)?"),
    ("kv", r"/storage/kv/.*"),
    ("r2-objects", r"/r2/buckets/[^/]+/objects(/[\s\S]*)?"),
    ("r2", r"/r2/.*"),
    ("rulesets", r"/rulesets(/.*)?"),
    ("ai-gateway", r"/ai-gateway/.*"),
    ("ai", r"/ai/.*"),
    ("queues", r"/queues(/.*)?"),
    ("dns", r"/dns_records(/.*)?"),
    ("tokens", r"/user(/.*)?|/tokens/.*|/memberships"),
    ("zones", r"/zones(/.*)?"),
    ("accounts", r"/accounts(/.*)?|"),
)
PRODUCTS: Final = (*(name for name, _ in _PATHS), S3)
_OWNER: Final = re.compile(r"^/(?:accounts|zones)/[^/]+(?=/|$)")


def below_owner(path: str) -> str:
    """``/queues/x`` of ``/accounts/{id}/queues/x``; an account or a zone itself is the empty text."""
    return _OWNER.sub("", path)


def product(path: str) -> str | None:
    """Of a path below the API's base; None where there is none."""
    if re.fullmatch(r"/zones/[^/]+", path):
        return "zones"
    below = below_owner(path)
    return next((name for name, form in _PATHS if re.fullmatch(form, below)), None)
