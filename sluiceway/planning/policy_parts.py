"""The parts of `Policies`: what the gateway does around a model. Field for field what config.json has."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from sluiceway.domain.release import Json


@dataclass(frozen=True)
class Timeouts:
    """``stream_ms``: a streamed answer as a whole; ``client_ms``: a piece of it that its client leaves unread;
    ``answer_ms``: an answer that isn't streamed."""

    first_token_ms: int
    idle_ms: int
    stream_ms: int
    client_ms: int
    answer_ms: int


@dataclass(frozen=True)
class Breaker:
    failures: int
    window_ms: int
    open_ms: int


@dataclass(frozen=True)
class Resilience:
    """``stale`` in seconds; 0 means never."""

    attempts: int
    retry_budget: float
    base_ms: int
    cap_ms: int
    queue_ms: int
    breaker: Breaker
    stale: int
    default_answer: str | None


@dataclass(frozen=True)
class Budget:
    """US dollars in a period; ``fall_to`` is the model that answers instead of a refusal."""

    scope: str
    period: str
    usd: float
    fall_to: str | None


@dataclass(frozen=True)
class Budgets:
    """``webhook`` is the name of a secret."""

    limits: tuple[Budget, ...]
    webhook: str | None


@dataclass(frozen=True)
class Injection:
    """A linear classifier, joined to the guard's rules from ``threshold`` on."""

    classifier: str
    threshold: float


@dataclass(frozen=True)
class Guard:
    mode: str
    threshold: float
    injection: Injection | None
    max_characters: int
    mask_prompts: bool
    mask_answers: bool
    blocklist: tuple[str, ...]


@dataclass(frozen=True)
class Otlp:
    """``secret`` is the name of one."""

    endpoint: str
    share: float
    secret: str | None


@dataclass(frozen=True)
class Telemetry:
    otlp: Otlp | None
    sentry: bool


@dataclass(frozen=True)
class Conversations:
    """``ttl`` in seconds since the last request."""

    enabled: bool
    window_tokens: int
    summary_model: str | None
    ttl: int


@dataclass(frozen=True)
class Issuer:
    """``leeway`` in seconds."""

    issuer: str
    jwks_uri: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    leeway: int
    subject_claim: str
    team_claim: str | None
    models_claim: str | None


@dataclass(frozen=True)
class Access:
    team_domain: str
    audience: tuple[str, ...]


@dataclass(frozen=True)
class Auth:
    required: bool
    keys: bool
    issuers: tuple[Issuer, ...]
    access: Access | None


@dataclass(frozen=True)
class Semantic:
    model: str
    threshold: float
    entries: int


@dataclass(frozen=True)
class Rollouts:
    """Who is told of each transition: the name of the secret with the address, and the form, json or slack."""

    webhook_secret: str
    format: str


@dataclass(frozen=True)
class Policies:
    """The blocks of config.json that say what the gateway does around a model."""

    timeouts: Timeouts
    resilience: Resilience
    budgets: Budgets
    guard: Guard
    telemetry: Telemetry
    conversations: Conversations

    def document(self, *blocks: str) -> dict[str, Json]:
        """``blocks`` (none: all) as config.json has them."""
        whole = document(self)
        return {block: whole[block] for block in blocks or whole}


def document(part: Policies | Auth | Semantic | Rollouts) -> dict[str, Json]:
    """A part as plain JSON: lists for tuples."""
    return cast("dict[str, Json]", _plain(asdict(part)))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
