"""What the gateway does around a model, as a stack file may state it. Times in the unit that the name ends with."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from sluiceway.domain.fault import Fault
from sluiceway.domain.model import check_model_name, parse_ref
from sluiceway.settings.fields import Block, Listed, ModelName, Rows, SecretName, matching

Share = Annotated[float, Field(ge=0, le=1, strict=False)]
Dollars = Annotated[float, Field(ge=0, le=10_000_000, strict=False)]
Milliseconds = Annotated[int, Field(ge=1, le=600_000)]

_LOOPBACK: Final = re.compile(r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5}(?:/\S*)?|/\S*)")


def _target(text: str) -> str:
    if "@" in text:
        return str(parse_ref(text))
    return check_model_name(text)


def _https(example: str, *, near: bool = False) -> AfterValidator:
    """An https address like ``example``; ``near``: also http on this machine."""

    def check(text: str) -> str:
        host = text.removeprefix("https://").partition("/")[0]
        safe = text.startswith("https://") and host and "@" not in host and not any(mark.isspace() for mark in text)
        if safe or (near and is_loopback(text)):
            return text
        raise Fault("is an https:// address", got=text, hint=f"write it like {example}")

    return AfterValidator(check)


def is_loopback(text: str) -> bool:
    """Whether it is an http address on this machine, where nobody is on the way."""
    return _LOOPBACK.fullmatch(text) is not None


ModelTarget = Annotated[str, AfterValidator(_target)]
"""A model by name, which follows its split, or one version: ``chat-small``, ``chat@1``."""
Claim = Annotated[
    str,
    AfterValidator(matching(r"[A-Za-z0-9_:/.-]{1,200}", "is the name of a claim", "write it like sub or groups")),
]
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


class TimeoutsSettings(Block):
    """``stream_ms``: a streamed answer as a whole; ``client_ms``: a piece of it that its client leaves unread;
    ``answer_ms``: an answer that isn't streamed."""

    first_token_ms: Milliseconds | None = None
    idle_ms: Milliseconds | None = None
    stream_ms: Annotated[int, Field(ge=1, le=3_600_000)] | None = None
    client_ms: Milliseconds | None = None
    answer_ms: Milliseconds | None = None


class BreakerSettings(Block):
    """After ``failures`` within ``window_ms`` a backend is left alone for ``open_ms``."""

    failures: Annotated[int, Field(ge=1, le=1_000)] | None = None
    window_ms: Milliseconds | None = None
    open_ms: Milliseconds | None = None


class ResilienceSettings(Block):
    """``stale``: seconds for which an expired answer may stand in when no backend answers."""

    attempts: Annotated[int, Field(ge=1, le=10)] | None = None
    retry_budget: Share | None = None
    base_ms: Milliseconds | None = None
    cap_ms: Milliseconds | None = None
    queue_ms: Annotated[int, Field(ge=0, le=60_000)] | None = None
    breaker: BreakerSettings = BreakerSettings()
    stale: Annotated[int, Field(ge=0, le=2_592_000)] | None = None
    default_answer: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None


class BudgetSettings(Block):
    """US dollars in a period, for each key or team, or for the whole stage.

    ``fall_to``: a cheaper model that answers instead of a refusal.
    """

    scope: Literal["key", "team", "stage"]
    period: Literal["day", "month"]
    usd: Dollars
    fall_to: ModelTarget | None = None


class BudgetsSettings(Block):
    """``webhook``: name of the secret that holds the address which is told at 50, 80 and 100 %."""

    limits: Rows[BudgetSettings] = ()
    webhook: SecretName | None = None


class IssuerSettings(Block):
    """Whose tokens open the stage: an OAuth or OIDC issuer. ``leeway`` in seconds.

    On stage local its addresses may be http on this machine; ``sluiceway.settings.checks`` refuses that elsewhere.
    """

    issuer: Annotated[str, _https("https://login.example.com", near=True)]
    jwks_uri: Annotated[str, _https("https://login.example.com/.well-known/jwks.json", near=True)]
    audience: Annotated[Listed[str], Field(min_length=1)]
    algorithms: Listed[Algorithm] | None = None
    leeway: Annotated[int, Field(ge=0, le=300)] | None = None
    subject_claim: Claim | None = None
    team_claim: Claim | None = None
    models_claim: Claim | None = None


class AccessSettings(Block):
    """Cloudflare Access in front of the stage."""

    team_domain: Annotated[str, _https("https://acme.cloudflareaccess.com")]
    audience: Annotated[Listed[str], Field(min_length=1)]


class InjectionSettings(Block):
    """``classifier``: a linear model of task classify with the label attack; ``threshold``: from how likely one on."""

    classifier: ModelTarget
    threshold: Share | None = None


class GuardSettings(Block):
    """``mode``: what becomes of a prompt that looks like an injection. ``blocklist``: what no answer may hold."""

    mode: Literal["off", "flag", "block"] | None = None
    threshold: Share | None = None
    injection: InjectionSettings | None = None
    max_characters: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    mask_prompts: bool | None = None
    mask_answers: bool | None = None
    blocklist: Listed[Annotated[str, Field(min_length=1, max_length=200)]] = ()


class SemanticSettings(Block):
    """Answers to nearly the same question. ``model`` is one of task embed; ``entries`` for each tenant and version."""

    model: ModelName
    threshold: Share | None = None
    entries: Annotated[int, Field(ge=1, le=1_000)] | None = None


class OtlpSettings(Block):
    """Traces by OTLP over HTTP; ``share`` of the requests.

    ``secret``: name of the secret that holds its headers, ``name=value,name=value``.
    """

    endpoint: Annotated[str, _https("https://collector.example.com/v1/traces", near=True)]
    share: Share | None = None
    secret: SecretName | None = None


class TelemetrySettings(Block):
    """``sentry``: whether the secret SENTRY_DSN says where unhandled exceptions go."""

    otlp: OtlpSettings | None = None
    sentry: bool | None = None


class ConversationsSettings(Block):
    """``ttl`` in seconds since the last request."""

    enabled: bool | None = None
    window_tokens: Annotated[int, Field(ge=1, le=1_048_576)] | None = None
    summary_model: ModelTarget | None = None
    ttl: Annotated[int, Field(ge=60, le=31_536_000)] | None = None
