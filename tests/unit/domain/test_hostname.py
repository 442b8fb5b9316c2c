from __future__ import annotations

import pytest

from sluiceway.domain.fault import Fault
from sluiceway.domain.hostname import check_hostname, check_route, in_zone, route_host


@pytest.mark.parametrize("text", ["api.example.com", "a.io", "x-1.y--z.example.com", "xn--e1afmkfd.xn--p1ai"])
def test_a_plain_host_name_passes(text: str) -> None:
    assert check_hostname(text) == text


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "api.example.com/*",
            "a host name has no path",
            "write api.example.com; a pattern belongs in routes",
        ),
        ("https://api.example.com", "a host name has no scheme", "write api.example.com"),
        ("https://api.example.com:8443/v1?x", "a host name has no scheme", "write api.example.com"),
        ("api.example.com:443", "a host name has no port", "write api.example.com"),
        ("*.example.com", "a host name has no wildcard", "name each host, or put a pattern in routes"),
        ("API.example.com", "a host name is written in lower case", "write api.example.com"),
        (
            "münchen.example.com",
            "a host name outside ASCII is written in its xn-- form",
            "write xn--mnchen-3ya.example.com",
        ),
        ("模型.example.com", "a host name outside ASCII is written in its xn-- form", "write xn--xgs754b.example.com"),
        ("localhost", None, "write the whole name, like chat.example.com"),
        ("127.0.0.1", None, "write the name that leads to this address: an address can't be served"),
        ("example.com.", None, "write the host as example.com"),
        ("-a.example.com", None, "write the whole name, like chat.example.com"),
        ("a_b.example.com", None, "an underscore can't be in it: name the host with a hyphen"),
        ("a..example.com", None, "write the whole name, like chat.example.com"),
        ("", None, "write the whole name, like chat.example.com"),
        (" api.example.com", None, "write the host as api.example.com"),
        ("api.example.com\n", None, "write the host as api.example.com"),
        ("a" * 64 + ".com", None, "a label is at most 63 characters long: shorten this one by 1"),
        (".".join(["abc"] * 64), "a host name is at most 253 characters long", "shorten it by 2 characters"),
    ],
)
def test_tf_08_what_is_no_host_name_is_refused(text: str, message: str | None, hint: str | None) -> None:
    with pytest.raises(Fault) as caught:
        check_hostname(text)
    labels = "a host name is two or more labels of letters, digits and inner hyphens, joined by dots"
    assert (caught.value.message, caught.value.got, caught.value.hint) == (message or labels, text, hint)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("api.example.com/*", "api.example.com"),
        ("api.example.com/v1/*", "api.example.com"),
        ("api.example.com/v1/chat", "api.example.com"),
        ("*.example.com/*", "example.com"),
        ("*example.com/*", "example.com"),
        ("example.com/a%20b/*", "example.com"),
    ],
)
def test_a_route_pattern_passes(text: str, host: str) -> None:
    assert check_route(text) == text
    assert route_host(text) == host


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "api.example.com",
            "a route pattern needs a path",
            "write api.example.com/*, or put the host into custom_domains",
        ),
        ("https://api.example.com/*", "a route pattern is written without a scheme", "write api.example.com/*"),
        ("api.example.com/v1?x=*", "a route pattern has no query or fragment", "write api.example.com/v1"),
        ("api.example.com/*/chat", "the path of a route pattern takes a * only at its end", "write api.example.com/*"),
        (
            "api.*.com/*",
            "the host of a route pattern takes a * only at its beginning",
            "write a pattern for each host, or put the * first, as in *.example.com/*",
        ),
        ("api.example.com:8787/*", "a route pattern has no port", "write api.example.com/*"),
        ("Api.example.com/*", "a host name is written in lower case", "write api.example.com/*"),
        (
            "api.example.com/模型/*",
            "the path of a route pattern takes its text in printable ASCII, the rest percent-encoded",
            "write api.example.com/%E6%A8%A1%E5%9E%8B/*",
        ),
        (
            "*/*",
            "a host name is two or more labels of letters, digits and inner hyphens, joined by dots",
            "write the whole name, like chat.example.com",
        ),
    ],
)
def test_tf_08_what_is_no_route_pattern_is_refused(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(Fault) as caught:
        check_route(text)
    assert (caught.value.message, caught.value.got, caught.value.hint) == (message, text, hint)


def test_a_host_is_in_its_zone_and_not_in_one_that_only_ends_alike() -> None:
    assert in_zone("example.com", "example.com")
    assert in_zone("a.b.example.com", "example.com")
    assert not in_zone("notexample.com", "example.com")
