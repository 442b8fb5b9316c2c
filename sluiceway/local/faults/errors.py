"""The errors of Cloudflare that faults answer with: each product's own numbers and words, and the edge's pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from xml.sax.saxutils import escape

from sluiceway.local.faults.call import CallFault
from sluiceway.local.faults.products import product

_WINDOW = 300  # seconds in which a token has its 1,200 calls
_UNKNOWN = (10002, "An unknown error has occurred.")
_WORKERS = (10013, "workers.api.error.unknown")
_INTERNAL = {
    **dict.fromkeys(("workers", "worker-versions", "deployments", "schedules", "subdomain", "secrets"), _WORKERS),
    **dict.fromkeys(("routes", "domains"), _WORKERS),
    **dict.fromkeys(("r2", "r2-objects"), (10001, "We encountered an internal error. Please try again.")),
}
_BUSY = dict.fromkeys(("r2", "r2-objects"), (10043, "Service Unavailable"))
# What the edge says by itself when nothing behind it answers: no JSON.
_PAGES = {502: "502 Bad Gateway", 504: "504 Gateway Time-out"}


@dataclass(frozen=True)
class Told:
    """An answer: its status, its headers and its body."""

    status: int
    headers: dict[str, str]
    body: bytes


def of_api(fault: CallFault, path: str) -> Told:
    """The answer of a call of the v4 API, whose fault has a status."""
    status = fault.status or 500
    if status in _PAGES or 520 <= status <= 530:
        return Told(status, {"content-type": "text/html"} | _headers(fault), _page(status))
    code, message = _usual(status, product(path))
    error = {"code": fault.code or code, "message": message}
    document = {"result": None, "success": False, "errors": [error], "messages": []}
    return Told(status, {"content-type": "application/json"} | _headers(fault), json.dumps(document).encode())


def of_s3(fault: CallFault) -> Told:
    """The same for R2's S3 API, in XML."""
    status = fault.status or 500
    code, message = {
        429: ("TooManyRequests", "Please slow down."),
        503: ("ServiceUnavailable", "Service Unavailable"),
    }.get(status, ("InternalError", "We encountered an internal error. Please try again."))
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>'
    )
    return Told(status, {"content-type": "application/xml"} | _headers(fault), text.encode())


def _usual(status: int, of: str | None) -> tuple[int, str]:
    if status == 429:
        return 971, "Please wait and consider throttling your request speed"
    if status == 503:
        return _BUSY.get(of or "", (7010, "Service unavailable"))
    if status >= 500:
        return _INTERNAL.get(of or "", _UNKNOWN)
    return 10000 if status in (401, 403) else 10001, "The local stage was asked to fail here"


def _headers(fault: CallFault) -> dict[str, str]:
    """``Ratelimit`` and its policy come with a 429, as does the wait if one was asked for."""
    found = {"server": "cloudflare"}
    if fault.retry_after is not None:
        found["retry-after"] = str(fault.retry_after)
    if fault.status == 429:
        found["ratelimit"] = f'"default";r=0;t={_WINDOW if fault.retry_after is None else fault.retry_after}'
        found["ratelimit-policy"] = f'"default";q=1200;w={_WINDOW}'
    return found


def _page(status: int) -> bytes:
    title = _PAGES.get(status)
    if title is None:
        return f"error code: {status}".encode()
    body = f"<center><h1>{title}</h1></center>\r\n<hr><center>cloudflare</center>"
    text = f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n{body}\r\n</body>\r\n</html>\r\n"
    return text.encode()
