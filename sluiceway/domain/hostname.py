"""Host names and route patterns as Cloudflare takes them, told apart before anything is uploaded."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from sluiceway.domain.fault import Fault

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SCHEME: Final = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")
_SAFE: Final = "._~!$&'()+,;=:@%/-*"
_PATH: Final = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@%/-]*\*?")


def check_hostname(text: str) -> str:
    """``text`` when it is a plain host name such as ``chat.example.com``; a Fault for a URL, a pattern or a port."""
    if scheme := _SCHEME.match(text):
        raise Fault("a host name has no scheme", got=text, hint=f"write {_host(text[scheme.end() :])}")
    if "/" in text:
        raise Fault("a host name has no path", got=text, hint=f"write {_host(text)}; a pattern belongs in routes")
    if "*" in text:
        raise Fault("a host name has no wildcard", got=text, hint="name each host, or put a pattern in routes")
    if ":" in text:
        raise Fault("a host name has no port", got=text, hint=f"write {text.split(':')[0]}")
    _check_labels(text, text)
    return text


def check_route(text: str) -> str:
    """``text`` when it is a route pattern such as ``api.example.com/v1/*``; a Fault otherwise.

    Narrower than Cloudflare in two ways: no scheme, and a path must be there, since a bare host
    matches its front page alone.
    """
    if scheme := _SCHEME.match(text):
        raise Fault("a route pattern is written without a scheme", got=text, hint=f"write {text[scheme.end() :]}")
    if "?" in text or "#" in text:
        raise Fault("a route pattern has no query or fragment", got=text, hint=f"write {re.split('[?#]', text)[0]}")
    host, slash, rest = text.partition("/")
    if not slash:
        raise Fault(
            "a route pattern needs a path", got=text, hint=f"write {text}/*, or put the host into custom_domains"
        )
    if not _PATH.fullmatch(slash + rest):
        if "*" in rest[:-1]:
            hint = f"write {host}/{rest.partition('*')[0]}*"
            raise Fault("the path of a route pattern takes a * only at its end", got=text, hint=hint)
        hint = f"write {host}/{quote(rest, safe=_SAFE, errors='replace')}"
        rule = "the path of a route pattern takes its text in printable ASCII, the rest percent-encoded"
        raise Fault(rule, got=text, hint=hint)
    plain = host.removeprefix("*.") if host.startswith("*.") else host.removeprefix("*")
    if "*" in plain:
        hint = "write a pattern for each host, or put the * first, as in *.example.com/*"
        raise Fault("the host of a route pattern takes a * only at its beginning", got=text, hint=hint)
    if ":" in plain:
        raise Fault("a route pattern has no port", got=text, hint=f"write {host.partition(':')[0]}/{rest}")
    _check_labels(plain, text)
    return text


def route_host(pattern: str) -> str:
    """The host of a checked route pattern, without its wildcard."""
    return pattern.partition("/")[0].removeprefix("*").removeprefix(".")


def in_zone(host: str, zone: str) -> bool:
    """Whether ``host`` is the zone's own name or below it."""
    return host == zone or host.endswith(f".{zone}")


def _host(text: str) -> str:
    return re.split("[/:?#]", text)[0]


def _are_labels(host: str) -> bool:
    labels = host.split(".")
    return len(labels) > 1 and not labels[-1].isdigit() and all(_LABEL.fullmatch(label) for label in labels)


def _check_labels(host: str, got: str) -> None:
    if host != host.lower():
        raise Fault("a host name is written in lower case", got=got, hint=f"write {got.lower()}")
    if not host.isascii():
        try:
            plain = host.encode("idna").decode()
        except UnicodeError:
            hint = "write it in its xn-- form, as the registrar shows it"
            raise Fault("a host name is made of letters, digits and hyphens", got=got, hint=hint) from None
        raise Fault("a host name outside ASCII is written in its xn-- form", got=got, hint=f"write {plain}")
    if len(host) > 253:
        hint = f"shorten it by {len(host) - 253} characters"
        raise Fault("a host name is at most 253 characters long", got=got, hint=hint)
    if not _are_labels(host):
        raise Fault(
            "a host name is two or more labels of letters, digits and inner hyphens, joined by dots",
            got=got,
            hint=_label_hint(host),
        )


def _label_hint(host: str) -> str:
    labels, plain = host.split("."), host.strip().strip(".")
    if len(labels) > 1 and all(label.isdigit() for label in labels):
        return "write the name that leads to this address: an address can't be served"
    if plain != host and _are_labels(plain):
        return f"write the host as {plain}"
    if "_" in host:
        return "an underscore can't be in it: name the host with a hyphen"
    long = next((label for label in labels if len(label) > 63), None)
    if long:
        return f"a label is at most 63 characters long: shorten this one by {len(long) - 63}"
    return "write the whole name, like chat.example.com"
