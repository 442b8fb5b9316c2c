"""Settings of one stage, as its stack file may state them.

Nothing here decides a default: what is left out is None or empty, and ``sluiceway.planning`` decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from sluiceway.domain.fault import Fault
from sluiceway.domain.model import parse_ref
from sluiceway.domain.split import Split
from sluiceway.domain.stage import PLACEHOLDER_ACCOUNT
from sluiceway.errors import UserError
from sluiceway.settings.fields import (
    AccountId,
    Block,
    CronText,
    Hostname,
    Jurisdiction,
    Listed,
    Location,
    ModelName,
    Origin,
    Percent,
    Route,
    Rows,
    RuleName,
    RulePath,
    SecretName,
    VersionRef,
    WorkerName,
    ZoneId,
    frozen_mapping,
)
from sluiceway.settings.policies import (
    AccessSettings,
    BudgetsSettings,
    ConversationsSettings,
    GuardSettings,
    IssuerSettings,
    ModelTarget,
    ResilienceSettings,
    SemanticSettings,
    Share,
    TelemetrySettings,
    TimeoutsSettings,
)
from sluiceway.settings.release import ReleaseSettings
from sluiceway.settings.rollouts import RolloutSettings, RolloutsSettings

DAY = 86_400


class ZoneSettings(Block):
    name: Hostname
    id: ZoneId


class Weight(Block):
    """One version's share of traffic, in whole percent."""

    version: VersionRef
    weight: Percent


def _sums(weights: tuple[Weight, ...]) -> tuple[Weight, ...]:
    versions = [weight.version for weight in weights]
    for version in versions:
        if versions.count(version) > 1:
            raise Fault("a version stands once in a split", got=version, hint="add its weights up in one entry")
    Split(tuple((parse_ref(weight.version).number, weight.weight) for weight in weights))
    return weights


class RouteSettings(Block):
    """A classifier ``by`` whose label ``simple``, at ``threshold`` or more, sends a request to the model ``simple``."""

    by: ModelName
    simple: ModelTarget
    threshold: Share | None = None


class ModelSettings(Block):
    """``split``: the stable version first. A list, since the engine sorts the keys of a mapping.

    ``rollout`` in its place: the way from one version to another. ``route``: who has its simple requests instead.
    """

    split: Annotated[Rows[Weight], AfterValidator(_sums)] | None = None
    rollout: RolloutSettings | None = None
    route: RouteSettings | None = None

    @model_validator(mode="after")
    def _one(self) -> ModelSettings:
        if self.split is not None and self.rollout is not None:
            hint = "take split out: while a rollout is declared, its controller moves the weights"
            raise Fault("a model has a split or a rollout, not both", hint=hint)
        if self.split is None and self.rollout is None:
            hint = "add split: with a version and its weight in each entry, or rollout: with its strategy and versions"
            raise Fault("a model has a split or a rollout", hint=hint)
        return self

    def named(self) -> tuple[tuple[str, str], ...]:
        """The versions that it names, each with its place: ``("split[0].version", "chat@1")``; stable first."""
        if self.rollout is not None:
            return tuple((f"rollout.{place}", version) for place, version in self.rollout.named())
        return tuple((f"split[{at}].version", weight.version) for at, weight in enumerate(self.split or ()))


class BucketSettings(Block):
    """``abort_multipart_days``: when Cloudflare throws away the parts of an upload that nobody finished."""

    location: Location | None = None
    jurisdiction: Jurisdiction | None = None
    retain: bool | None = None
    abort_multipart_days: Annotated[int, Field(ge=1, le=365)] | None = None


def _gateway_ttl(seconds: int) -> int:
    if seconds != 0 and not 60 <= seconds <= 30 * DAY:
        hint = f"the nearest is {60 if seconds < 60 else 30 * DAY}"
        raise Fault("must be 0 (no cache) or 60 to 2592000 seconds", got=seconds, hint=hint)
    return seconds


class GatewaySettings(Block):
    """AI Gateway. ``requests`` per ``period`` seconds; 0 requests means no limit."""

    enabled: bool | None = None
    cache_ttl: Annotated[int, AfterValidator(_gateway_ttl)] | None = None
    collect_logs: bool | None = None
    requests: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    period: Annotated[int, Field(ge=1, le=86_400)] | None = None
    technique: Literal["fixed", "sliding"] | None = None
    authentication: bool | None = None
    billing: Literal["postpaid", "unified"] | None = None


class QueueSettings(Block):
    """Times in seconds."""

    retention: Annotated[int, Field(ge=60, le=14 * DAY)] | None = None
    delivery_delay: Annotated[int, Field(ge=0, le=43_200)] | None = None


class RateLimitSettings(Block):
    """The limit inside the Worker, per key and Cloudflare location: ``requests`` per ``period`` seconds."""

    requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    period: Literal[10, 60] | None = None


class ZoneRateLimit(Block):
    """One rule of the zone's rate limiting, before the Worker runs. Times in seconds."""

    name: RuleName
    path: RulePath
    requests: Annotated[int, Field(ge=1, le=1_000_000)]
    period: Literal[10, 60, 120, 300, 600, 3600]
    timeout: Annotated[int, Field(ge=0, le=86_400)] | None = None
    action: Literal["block", "log", "managed_challenge"] | None = None


class CorsSettings(Block):
    origins: Listed[Origin] | None = None
    max_age: Annotated[int, Field(ge=0, le=86_400)] | None = None


class LimitsSettings(Block):
    """``max_tokens``: the most that one request may ask for. ``tokens_per_minute``: both ways, for each caller."""

    body_bytes: Annotated[int, Field(ge=1_024, le=100_000_000)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_048_576)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    cpu_ms: Annotated[int, Field(ge=10, le=300_000)] | None = None


class CacheSettings(Block):
    """``ttl`` in seconds; KV keeps nothing for less than 60. ``sampled``: also answers that chance had a part in.

    ``coalesce_ms``: longest that a request waits for an equal one on its way; 0: each asks for itself.
    """

    enabled: bool | None = None
    sampled: bool | None = None
    ttl: Annotated[int, Field(ge=60, le=30 * DAY)] | None = None
    coalesce_ms: Annotated[int, Field(ge=0, le=600_000)] | None = None
    semantic: SemanticSettings | None = None


class AuthSettings(Block):
    """``keys``: whether those of ``sluiceway keys`` open the stage. ``access``: Cloudflare Access in front of it."""

    required: bool | None = None
    keys: bool | None = None
    issuers: Rows[IssuerSettings] = ()
    access: AccessSettings | None = None


class LogSettings(Block):
    prompts: bool | None = None


class ObservabilitySettings(Block):
    enabled: bool | None = None
    head_sampling_rate: Annotated[float, Field(ge=0, le=1, strict=False)] | None = None
    traces: bool | None = None


class Settings(Block):
    """What one stage's stack file says. ``stage`` and ``source`` are added by the reader."""

    stage: str
    source: str
    account_id: AccountId
    zone: ZoneSettings | None = None
    worker_name: WorkerName | None = None
    workers_dev: bool | None = None
    previews: bool | None = None
    routes: Listed[Route] = ()
    custom_domains: Listed[Hostname] = ()
    crons: Listed[CronText] = ()
    models: Annotated[Mapping[ModelName, ModelSettings], AfterValidator(frozen_mapping)] = Field(default_factory=dict)
    rollouts: RolloutsSettings | None = None
    bucket: BucketSettings = BucketSettings()
    gateway: GatewaySettings = GatewaySettings()
    queue: QueueSettings = QueueSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    zone_rate_limits: Rows[ZoneRateLimit] = ()
    cors: CorsSettings = CorsSettings()
    limits: LimitsSettings = LimitsSettings()
    cache: CacheSettings = CacheSettings()
    auth: AuthSettings = AuthSettings()
    log: LogSettings = LogSettings()
    timeouts: TimeoutsSettings = TimeoutsSettings()
    resilience: ResilienceSettings = ResilienceSettings()
    budgets: BudgetsSettings = BudgetsSettings()
    guard: GuardSettings = GuardSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    conversations: ConversationsSettings = ConversationsSettings()
    secrets: Listed[SecretName] = ()
    observability: ObservabilitySettings = ObservabilitySettings()
    release: ReleaseSettings = ReleaseSettings()

    def ready(self) -> None:
        """Refuses to change anything for real while the account's id is still the placeholder."""
        if self.account_id == PLACEHOLDER_ACCOUNT:
            raise UserError(
                "the account's id is still the placeholder",
                path=f"{self.source}: config.sluiceway:account_id",
                hint=f"write your Cloudflare account's id there: "
                f"pulumi config set sluiceway:account_id ID -s {self.stage}",
            )
