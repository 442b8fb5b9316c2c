"""Where a model's server is: a URL that prompts and a key may be sent to."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from sluiceway.domain.fault import Fault

_EXAMPLE: Final = "https://models.example.com/v1"
_PLAIN: Final = re.compile(r"[!-~]+")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9a-f:]*:[0-9a-f:.]*")
# Clients are often given the whole address of what they ask; ours adds these itself.
_ENDPOINTS: Final = ("/chat/completions", "/completions", "/embeddings", "/responses", "/models")


def check_base_url(text: str) -> str:
    """``text`` without slashes at its end, when it is an https URL, or http on loopback, to add a path to.

    A Fault otherwise, which doesn't show what may hold a credential.
    """
    url = _parsed(text)
    if url.username is not None or url.password is not None:
        raise Fault(
            "a base URL holds no user or password: it stands in git and in the Worker's files",
            hint="name a secret by secret: and write the URL without what stands before the @",
        )
    if url.query or url.fragment or text.endswith(("?", "#")):
        hint = "end it before the ? or #; a key goes into a secret, named by secret:"
        raise Fault("a base URL has no query or fragment, since paths are added to it", hint=hint)
    if url.scheme == "http" and not _is_loopback(url.hostname or ""):
        raise Fault(
            "over http, prompts and keys travel in clear; only loopback may be asked so",
            got=text,
            hint=f"write https:{text.partition(':')[2]}, and give the server a certificate if it has none",
        )
    base = text.rstrip("/")
    for endpoint in _ENDPOINTS:
        if base.endswith(endpoint):
            raise Fault("the endpoint's own path is added to a base URL", got=text, hint=f"write {_cut(base)}")
    return base


def _parsed(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        sound = _PLAIN.fullmatch(text) and _HOST.fullmatch(url.hostname or "") and url.port != 0
    except ValueError:  # a port that is none, brackets that don't close
        sound = None
    if not sound or url.scheme not in ("https", "http"):
        raise Fault(
            "a base URL is https://, a host, and the path that /chat/completions is added to",
            hint=f"write it like {_EXAMPLE}",
        )
    return url


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback


def _cut(base: str) -> str:
    for endpoint in _ENDPOINTS:
        base = base.removesuffix(endpoint)
    return base
