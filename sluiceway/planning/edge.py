"""What stands before the Worker: the zone's rate limits."""

from __future__ import annotations

from typing import Final

from sluiceway.domain.hostname import route_host
from sluiceway.planning import names
from sluiceway.planning.parts import RateLimitRule
from sluiceway.settings.model import Settings, ZoneRateLimit

# Cloudflare counts in each data centre, and refuses a rule that doesn't say so.
CHARACTERISTICS: Final = ("cf.colo.id", "ip.src")


def rate_limit_rules(settings: Settings) -> tuple[RateLimitRule, ...]:
    """The stage's rules, each for the stage's own hosts only, since other stages may share the zone."""
    hosts = _hosts(settings)
    return tuple(_rule(settings.stage, rule, hosts) for rule in settings.zone_rate_limits)


def _rule(stage: str, rule: ZoneRateLimit, hosts: str) -> RateLimitRule:
    return RateLimitRule(
        ref=names.rule(stage, rule.name),
        description=f"{names.worker(stage)}: {rule.requests} requests in {rule.period} s below {rule.path}",
        expression=f'({hosts} and starts_with(http.request.uri.path, "{rule.path}"))',
        action=rule.action or "block",
        enabled=True,
        characteristics=CHARACTERISTICS,
        period=rule.period,
        requests_per_period=rule.requests,
        mitigation_timeout=rule.period if rule.timeout is None else rule.timeout,
    )


def _hosts(settings: Settings) -> str:
    plain = set(settings.custom_domains)
    suffixes = set()
    for pattern in settings.routes:
        host = route_host(pattern)
        if pattern.startswith("*."):
            suffixes.add(f".{host}")
        else:
            plain.add(host)
            if pattern.startswith("*"):
                suffixes.add(f".{host}")
    parts = []
    if plain:
        listed = " ".join(f'"{host}"' for host in sorted(plain))
        parts.append(f"http.host in {{{listed}}}")
    parts += [f'ends_with(http.host, "{suffix}")' for suffix in sorted(suffixes)]
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"
