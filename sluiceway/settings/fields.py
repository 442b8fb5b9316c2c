"""The kinds of value that settings are made of: each refuses in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from sluiceway.domain.cron import check as check_cron
from sluiceway.domain.fault import Fault
from sluiceway.domain.hostname import check_hostname, check_route
from sluiceway.domain.model import check_model_name, parse_ref
from sluiceway.domain.stage import nearest

T = TypeVar("T")


class Block(BaseModel):
    """Base of all settings: strict types, no unknown keys, frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _no_repeats(values: tuple[T, ...]) -> tuple[T, ...]:
    seen: list[T] = []
    for value in values:
        if value in seen:
            raise Fault("a value stands twice", got=value, hint="take one of them out")
        seen.append(value)
    return values


def _frozen(value: Mapping[str, T]) -> Mapping[str, T]:
    return MappingProxyType(dict(value))


def matching(pattern: str, rule: str, hint: str) -> Callable[[str], str]:
    """A check that the whole text matches ``pattern``; ``rule`` and ``hint`` are what is said when it doesn't."""
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise Fault(rule, got=text, hint=hint)
        return text

    return check


def one_of(*known: str) -> Callable[[str], str]:
    """A check for one of ``known`` words in any letter case, for Cloudflare answers in another than it takes."""

    def check(text: str) -> str:
        if text.lower() not in known:
            near = nearest(text.lower(), known)
            hint = f"did you mean {near}?" if near else "leave it out, and Cloudflare chooses"
            raise Fault(f"must be one of {', '.join(known)}", got=text, hint=hint)
        return text.lower()

    return check


def _origin(text: str) -> str:
    if text == "*":
        return text
    if not re.fullmatch(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?", text):
        raise Fault(
            "an origin is scheme and host in lower case, without a path",
            got=text,
            hint="write it like https://app.example.com, or * for any",
        )
    return text


def _ref(text: str) -> str:
    return str(parse_ref(text))


Listed = Annotated[tuple[T, ...], BeforeValidator(_tuple), AfterValidator(_no_repeats)]
"""A YAML list as a tuple; no value may stand twice."""

Rows = Annotated[tuple[T, ...], BeforeValidator(_tuple)]
"""A YAML list of mappings as a tuple."""

_ACCOUNT = "the account's id, which stands in the dashboard's address: dash.cloudflare.com/<account id>"
_ZONE = "the zone's id, which the dashboard shows on the zone's overview"
AccountId = Annotated[
    str,
    AfterValidator(matching("[0-9a-f]{32}", "an account id is 32 lower-case hex digits", f"write {_ACCOUNT}")),
    Field(description=_ACCOUNT),
]
ZoneId = Annotated[
    str,
    AfterValidator(matching("[0-9a-f]{32}", "a zone id is 32 lower-case hex digits", f"write {_ZONE}")),
    Field(description=_ZONE),
]
Hostname = Annotated[str, AfterValidator(check_hostname)]
Route = Annotated[str, AfterValidator(check_route)]
CronText = Annotated[str, AfterValidator(check_cron)]
ModelName = Annotated[str, AfterValidator(check_model_name)]
VersionRef = Annotated[str, AfterValidator(_ref)]
Origin = Annotated[str, AfterValidator(_origin)]
Location = Annotated[str, AfterValidator(one_of("apac", "eeur", "enam", "weur", "wnam", "oc"))]
Jurisdiction = Annotated[str, AfterValidator(one_of("default", "eu", "fedramp", "us"))]
SecretName = Annotated[
    str,
    AfterValidator(
        matching(
            "[A-Z][A-Z0-9_]{0,63}",
            "a secret's name is capitals, digits and underscores",
            "write it as the Worker reads it in env, like UPSTREAM_KEY",
        )
    ),
]
RuleName = Annotated[
    str,
    AfterValidator(
        matching(
            "[a-z][a-z0-9-]{0,39}",
            "a rule's name is 1 to 40 lower-case letters, digits and hyphens, first a letter",
            "write it like chat-completions",
        )
    ),
]
RulePath = Annotated[
    str,
    AfterValidator(
        matching(
            r'/[^\s"\\]*',
            "a rule's path begins with / and holds no space, quote or backslash",
            "write the beginning of the paths that it limits, like /v1/chat; no * is needed",
        )
    ),
]
WorkerName = Annotated[
    str,
    AfterValidator(
        # The name is also a DNS label: <worker>.<subdomain>.workers.dev, and previews put 9 characters before it.
        matching(
            "[a-z0-9](?:[a-z0-9-]{0,52}[a-z0-9])?",
            "a Worker's name is 1 to 54 lower-case letters, digits and inner hyphens",
            "write it like gateway-dev, with the stage's own name in it",
        )
    ),
]
Percent = Annotated[int, Field(ge=0, le=100)]


def frozen_mapping(value: Any) -> Any:  # noqa: ANN401 - pydantic hands over whatever it validated
    return _frozen(value)
