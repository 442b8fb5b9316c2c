"""What the gateway does around a model: every field decided."""

from __future__ import annotations

from sluiceway.catalog import Catalog
from sluiceway.domain.model import parse_ref
from sluiceway.errors import UserError
from sluiceway.planning.pick import pick
from sluiceway.planning.policy_parts import (
    Access,
    Auth,
    Breaker,
    Budget,
    Budgets,
    Conversations,
    Guard,
    Injection,
    Issuer,
    Otlp,
    Policies,
    Resilience,
    Semantic,
    Telemetry,
    Timeouts,
)
from sluiceway.settings.model import AuthSettings, Settings
from sluiceway.settings.policies import (
    BudgetsSettings,
    ConversationsSettings,
    GuardSettings,
    InjectionSettings,
    IssuerSettings,
    ResilienceSettings,
    SemanticSettings,
    TelemetrySettings,
    TimeoutsSettings,
)


def policies(settings: Settings, catalog: Catalog, secrets: tuple[str, ...]) -> Policies:
    """UserError when a block names a model that isn't served, or a secret that isn't bound."""
    _check(settings, catalog, secrets)
    return Policies(
        timeouts=_timeouts(settings.timeouts),
        resilience=_resilience(settings.resilience),
        budgets=_budgets(settings.budgets),
        guard=_guard(settings.guard),
        telemetry=_telemetry(settings.telemetry),
        conversations=_conversations(settings.conversations),
    )


def auth(stated: AuthSettings) -> Auth:
    """Who gets in."""
    return Auth(
        required=pick(stated.required, True),
        keys=pick(stated.keys, True),
        issuers=tuple(_issuer(one) for one in stated.issuers),
        access=Access(stated.access.team_domain, stated.access.audience) if stated.access else None,
    )


def semantic(stated: SemanticSettings | None) -> Semantic | None:
    """None unless the stage names a model for it."""
    if stated is None:
        return None
    return Semantic(stated.model, pick(stated.threshold, 0.95), pick(stated.entries, 200))


def _timeouts(stated: TimeoutsSettings) -> Timeouts:
    return Timeouts(
        first_token_ms=pick(stated.first_token_ms, 60_000),
        idle_ms=pick(stated.idle_ms, 30_000),
        stream_ms=pick(stated.stream_ms, 600_000),
        client_ms=pick(stated.client_ms, 60_000),
        answer_ms=pick(stated.answer_ms, 180_000),
    )


def _resilience(stated: ResilienceSettings) -> Resilience:
    breaker = stated.breaker
    return Resilience(
        attempts=pick(stated.attempts, 3),
        retry_budget=pick(stated.retry_budget, 0.2),
        base_ms=pick(stated.base_ms, 100),
        cap_ms=pick(stated.cap_ms, 2_000),
        queue_ms=pick(stated.queue_ms, 2_000),
        breaker=Breaker(pick(breaker.failures, 5), pick(breaker.window_ms, 30_000), pick(breaker.open_ms, 15_000)),
        stale=pick(stated.stale, 0),
        default_answer=stated.default_answer,
    )


def _budgets(stated: BudgetsSettings) -> Budgets:
    limits = tuple(Budget(one.scope, one.period, one.usd, one.fall_to) for one in stated.limits)
    return Budgets(limits, stated.webhook)


def _guard(stated: GuardSettings) -> Guard:
    return Guard(
        mode=pick(stated.mode, "flag"),
        threshold=pick(stated.threshold, 0.5),
        injection=_injection(stated.injection),
        max_characters=pick(stated.max_characters, 1_000_000),
        mask_prompts=pick(stated.mask_prompts, False),
        mask_answers=pick(stated.mask_answers, False),
        blocklist=stated.blocklist,
    )


def _injection(stated: InjectionSettings | None) -> Injection | None:
    """The usual threshold is where, over folds of the training half, one benign text in a hundred is taken for one."""
    return Injection(stated.classifier, pick(stated.threshold, 0.8)) if stated else None


def _telemetry(stated: TelemetrySettings) -> Telemetry:
    otlp = stated.otlp
    return Telemetry(
        otlp=Otlp(otlp.endpoint, pick(otlp.share, 1.0), otlp.secret) if otlp else None,
        sentry=pick(stated.sentry, False),
    )


def _conversations(stated: ConversationsSettings) -> Conversations:
    return Conversations(
        enabled=pick(stated.enabled, False),
        window_tokens=pick(stated.window_tokens, 8_000),
        summary_model=stated.summary_model,
        ttl=pick(stated.ttl, 604_800),
    )


def _issuer(stated: IssuerSettings) -> Issuer:
    return Issuer(
        issuer=stated.issuer,
        jwks_uri=stated.jwks_uri,
        audience=stated.audience,
        algorithms=tuple(pick(stated.algorithms, ("RS256", "ES256"))),
        leeway=pick(stated.leeway, 60),
        subject_claim=pick(stated.subject_claim, "sub"),
        team_claim=stated.team_claim,
        models_claim=stated.models_claim,
    )


def _check(settings: Settings, catalog: Catalog, secrets: tuple[str, ...]) -> None:
    """Models that are named must be served by this stage, secrets bound to its Worker."""
    root = f"{settings.source}: config.sluiceway:"
    named = [(f"budgets.limits[{at}].fall_to", one.fall_to) for at, one in enumerate(settings.budgets.limits)]
    named.append(("conversations.summary_model", settings.conversations.summary_model))
    for path, target in named:
        if target is not None:
            served(settings, catalog, target, "chat", f"{root}{path}")
    if settings.cache.semantic is not None:
        served(settings, catalog, settings.cache.semantic.model, "embed", f"{root}cache.semantic.model")
    if settings.guard.injection is not None:
        scored(settings, catalog, settings.guard.injection.classifier, f"{root}guard.injection.classifier")
    needed = [("budgets.webhook", settings.budgets.webhook)]
    otlp = settings.telemetry.otlp
    needed.append(("telemetry.otlp.secret", otlp.secret if otlp else None))
    needed.append(("telemetry.sentry", "SENTRY_DSN" if settings.telemetry.sentry else None))
    for path, secret in needed:
        if secret is not None and secret not in secrets:
            hint = (
                f"add {secret} to sluiceway:secrets, and its value by: sluiceway secrets set {settings.stage} {secret}"
            )
            raise UserError("names a secret that the Worker isn't given", path=f"{root}{path}", got=secret, hint=hint)


def served(settings: Settings, catalog: Catalog, target: str, task: str, path: str) -> None:
    """UserError, at ``path``, for a model or version ``target`` of another task, or that isn't served here."""
    name = target.partition("@")[0]
    if name not in settings.models:
        hint = f"name one of: {', '.join(sorted(settings.models))}; or add {name} to sluiceway:models"
        raise UserError("names a model that this stage doesn't serve", path=path, got=target, hint=hint)
    model = catalog.model(name, path)
    if "@" in target:
        catalog.version(parse_ref(target), path)
    if model.task != task:
        raise UserError(
            f"needs a model of task {task}",
            path=path,
            got=f"{target}, of task {model.task}",
            hint=f"name a model of task {task}, or leave the key out",
        )


def scored(settings: Settings, catalog: Catalog, target: str, path: str) -> None:
    """UserError for a ``target`` that is no served model whose versions are all scored in the Worker."""
    served(settings, catalog, target, "classify", path)
    for version in catalog.model(target.partition("@")[0], path).versions:
        if version.backend != "onnx":
            raise UserError(
                "is scored in the Worker, from its artifact",
                path=path,
                got=f"{version.ref}, of backend {version.backend}",
                hint="name a linear classifier, like router or injection: requests wait for no other",
            )
