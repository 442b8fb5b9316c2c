"""Issuers and traces on this machine: for stage local alone. Everywhere else keys and spans cross a network."""

from __future__ import annotations

import pytest

from sluiceway import settings
from sluiceway.domain.stage import LOCAL_ACCOUNT
from sluiceway.errors import UserError
from sluiceway.settings import Settings

HINT = "http on this machine is for stage local alone"


def parsed(stage: str, **stated: object) -> Settings:
    account = LOCAL_ACCOUNT if stage == "local" else "0123456789abcdef0123456789abcdef"
    models = {"chat": {"split": [{"version": "chat@1", "weight": 100}]}}
    return settings.parse({"account_id": account, "models": models, **stated}, "here", stage=stage)


def issuer(issuer: str, jwks_uri: str) -> dict[str, object]:
    return {"issuers": [{"issuer": issuer, "jwks_uri": jwks_uri, "audience": ["gateway"]}]}


NEAR = ["http://localhost:9000/jwks", "http://127.0.0.1/jwks", "http://[::1]:9000/jwks", "http://localhost:9000"]


@pytest.mark.parametrize("address", NEAR)
def test_stage_local_takes_what_answers_on_this_machine(address: str) -> None:
    found = parsed("local", auth=issuer(address, address), telemetry={"otlp": {"endpoint": address}})
    assert found.auth.issuers[0].jwks_uri == address
    assert found.telemetry.otlp is not None
    assert found.telemetry.otlp.endpoint == address


@pytest.mark.parametrize("stage", ["dev", "staging", "production", "eu-local"])
@pytest.mark.parametrize(
    ("stated", "path"),
    [
        ({"auth": issuer(NEAR[0], "https://id.example.com/jwks")}, "auth.issuers[0].issuer"),
        ({"auth": issuer("https://id.example.com", NEAR[0])}, "auth.issuers[0].jwks_uri"),
        ({"telemetry": {"otlp": {"endpoint": NEAR[0]}}}, "telemetry.otlp.endpoint"),
    ],
)
def test_every_other_stage_demands_https(stage: str, stated: dict[str, object], path: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed(stage, **stated)
    assert str(caught.value) == f"here: config.sluiceway:{path}: is an https:// address, got '{NEAR[0]}'"
    assert caught.value.hint == f"write https://localhost:9000/jwks; {HINT}"


FAR = [
    "http://id.example.com/jwks",
    "http://localhost.example.com/jwks",
    "http://localhost:9000@example.com/jwks",
    "http://127.0.0.1.example.com",
    "http://127.0.0.2/jwks",
    "http://10.0.0.1/jwks",
    "http://[::1]x/jwks",
    "http://localhost:9000 /jwks",
    "http://localhost:123456/jwks",
    "http://localhost?x",
    "http://localhost",
    "http://",
    "ftp://localhost/jwks",
    "localhost:9000/jwks",
    "",
]


@pytest.mark.parametrize("address", FAR)
@pytest.mark.parametrize("stage", ["local", "dev"])
def test_what_only_looks_like_this_machine_is_refused_on_every_stage(stage: str, address: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed(stage, auth=issuer("https://id.example.com", address))
    assert "auth.issuers[0].jwks_uri: is an https:// address" in str(caught.value)
    assert caught.value.hint == "write it like https://login.example.com/.well-known/jwks.json"


@pytest.mark.parametrize(
    ("stated", "example"),
    [
        ({"auth": issuer("id", "https://id.example.com/jwks")}, "https://login.example.com"),
        ({"auth": {"access": {"team_domain": "acme", "audience": ["a"]}}}, "https://acme.cloudflareaccess.com"),
        ({"telemetry": {"otlp": {"endpoint": "otlp"}}}, "https://collector.example.com/v1/traces"),
    ],
)
def test_the_hint_shows_an_address_of_the_same_kind(stated: dict[str, object], example: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed("dev", **stated)
    assert caught.value.hint == f"write it like {example}"


def test_cloudflare_access_is_nowhere_on_this_machine() -> None:
    with pytest.raises(UserError) as caught:
        parsed("local", auth={"access": {"team_domain": NEAR[0], "audience": ["a"]}})
    assert "auth.access.team_domain: is an https:// address" in str(caught.value)
