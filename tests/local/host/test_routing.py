"""Who answers which host and path, and what the edge says about a request."""

from __future__ import annotations

import httpx
import pytest

from tests.local.host.driver import Host, Version, says

SHOW = "export default { fetch: (r) => Response.json({ url: r.url, cf: r.cf, headers: [...r.headers] }) }"


ROUTED = {name: says(name) for name in ("main", "api", "images", "wild", "chat")}


@pytest.fixture
def routed(host: Host) -> Host:
    routes = [
        {"pattern": "*.sluiceway.test/*", "script": "wild"},
        {"pattern": "api.sluiceway.test/*", "script": "api"},
        {"pattern": "api.sluiceway.test/images/*", "script": "images"},
        {"pattern": "api.sluiceway.test/images/off*", "script": None},
        {"pattern": "sluiceway.test/exact", "script": "api"},
        {"pattern": "chat.sluiceway.test/v2/*", "script": "api"},
    ]
    host.apply(
        *(host.worker(name, [(version, 100)]) for name, version in ROUTED.items()),
        routes=routes,
        domains=[{"hostname": "chat.sluiceway.test", "service": "chat"}],
    )
    return host


@pytest.mark.parametrize(
    ("hostname", "path", "text"),
    [
        ("127.0.0.1", "/", "main"),
        ("localhost:8787", "/", "main"),
        ("api.sluiceway.test", "/", "api"),
        ("API.sluiceway.test", "/", "api"),
        ("api.sluiceway.test", "/images/a.png", "images"),
        ("other.sluiceway.test", "/images/a.png", "wild"),
        ("sluiceway.test", "/exact", "api"),
        ("chat.sluiceway.test", "/v2/x", "api"),
        ("images.local.workers.dev", "/any", "images"),
    ],
)
def test_the_most_specific_owner_answers(routed: Host, hostname: str, path: str, text: str) -> None:
    assert routed.get(path, hostname).text == text


@pytest.mark.parametrize(
    ("hostname", "path", "status"),
    [
        ("sluiceway.test", "/", 522),
        ("sluiceway.test", "/exact?query=1", 522),
        ("api.sluiceway.test", "/images/off", 522),
        ("unknown.example", "/", 522),
        ("absent.local.workers.dev", "/", 404),
    ],
)
def test_what_nobody_owns_is_not_answered_by_the_main_worker(
    routed: Host, hostname: str, path: str, status: int
) -> None:
    assert routed.get(path, hostname).status_code == status


def test_a_custom_domain_answers_where_a_wildcard_route_is_switched_off(host: Host) -> None:
    host.apply(
        host.worker("main", [(says("main"), 100)]),
        host.worker("chat", [(says("chat"), 100)]),
        routes=[{"pattern": "chat.sluiceway.test/*", "script": None}],
        domains=[{"hostname": "chat.sluiceway.test", "service": "chat"}],
        main_worker="chat",
    )
    assert host.get("/", "chat.sluiceway.test").text == "chat"
    assert host.get("/").text == "chat"


def test_a_version_url_reaches_a_version_that_is_not_deployed(host: Host) -> None:
    live, spare = says("live"), says("spare", number=2)
    name = f"{spare.id[:8]}-my-worker.local.workers.dev"
    host.apply(host.worker("my-worker", [(live, 100)], spare=[spare]))
    assert host.get("/", name).text == "spare"
    closed = {"enabled": False, "previews_enabled": False}
    assert host.apply(host.worker("my-worker", [(live, 100)], spare=[spare], subdomain=closed))["reloaded"] is False
    assert host.get("/", name).status_code == 404
    assert host.get("/", "my-worker.local.workers.dev").status_code == 404
    assert host.get("/").text == "live"


def test_the_edge_says_who_the_client_is_and_a_client_cannot(host: Host) -> None:
    host.apply(host.worker("show", [(Version({"index.js": SHOW}), 100)]))
    forged = {
        "cf-connecting-ip": "6.6.6.6",
        "cf-ray": "forged",
        "cf-worker": "forged",
        "true-client-ip": "6.6.6.6",
        "x-sluiceway-local-client-ip": "6.6.6.6",
        "cf-access-jwt-assertion": "kept",
        "x-own": "kept",
    }
    shown = host.get("/p?q=1", headers=forged).json()
    headers = dict(shown["headers"])
    assert headers["cf-connecting-ip"] == headers["x-real-ip"] == "127.0.0.1"
    assert headers["cf-access-jwt-assertion"] == headers["x-own"] == "kept"
    assert "forged" not in str(headers) and "6.6.6.6" not in str(headers)
    assert shown["cf"]["colo"] == "LOC"
    assert shown["url"] == f"{host.front}/p?q=1"


def test_another_address_is_another_client(host: Host) -> None:
    host.apply(host.worker("show", [(Version({"index.js": SHOW}), 100)]))
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as client:
        assert dict(client.get(host.front).json()["headers"])["cf-connecting-ip"] == "127.0.0.2"


def test_service_bindings_follow_the_targets_deployment_for_fetch_and_rpc(host: Host) -> None:
    def target(text: str, number: int) -> Version:
        source = f"""
import {{ WorkerEntrypoint }} from "cloudflare:workers";
export default class extends WorkerEntrypoint {{
  fetch() {{ return new Response("{text}"); }}
  add(a, b) {{ return `${{a + b}} {text}`; }}
}}
export class Named extends WorkerEntrypoint {{ hello(name) {{ return `hello ${{name}} {text}`; }} }}
"""
        return Version({"index.js": source}, number=number)

    caller = Version(
        {
            "index.js": """
export default { fetch: async (r, env) => new Response([
  await (await env.TARGET.fetch(r)).text(), await env.TARGET.add(1, 2), await env.NAMED.hello("you")].join("; ")) };
"""
        },
        bindings=[
            {"name": "TARGET", "type": "service", "service": "target"},
            {"name": "NAMED", "type": "service", "service": "target", "entrypoint": "Named"},
        ],
    )
    one, two = target("one", 1), target("two", 2)
    host.apply(host.worker("caller", [(caller, 100)]), host.worker("target", [(one, 100), (two, 0)]))
    assert host.get().text == "one; 3 one; hello you one"
    moved = host.apply(host.worker("caller", [(caller, 100)]), host.worker("target", [(one, 0), (two, 100)]))
    assert moved["reloaded"] is False
    assert host.get().text == "two; 3 two; hello you two"


def test_an_exception_is_cloudflares_1101_and_not_the_end_of_the_runtime(host: Host) -> None:
    host.apply(
        host.worker("throws", [(Version({"index.js": "export default { fetch() { throw new Error('no') } }"}), 100)])
    )
    answer = host.get()
    assert (answer.status_code, answer.text) == (500, "error code: 1101")


def test_a_redirect_is_the_clients_to_follow(host: Host) -> None:
    source = "export default { fetch: () => Response.redirect('http://elsewhere.test/') }"
    host.apply(host.worker("redirects", [(Version({"index.js": source}), 100)]))
    assert host.get().headers["location"] == "http://elsewhere.test/"
