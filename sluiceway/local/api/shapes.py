"""Shapes of request bodies: what must hold before a product's rules look at the values.

Only containers and the types that code relies on are here; names, limits and references are judged by
the rules of each product, in its own words. Fields that are not named pass through.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from sluiceway.local.api import errors
from sluiceway.local.store import Doc, Json


class Body(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


def checked(shape: type[Body], body: Json) -> Doc:
    """The body itself, or an ApiError that names the first wrong field and not its value."""
    try:
        shape.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "The request body"
        raise errors.malformed(f"{where}: {first['msg']}") from None
    result: Doc = body
    return result


def _as_object(value: Json) -> Json:
    return {"name": value} if isinstance(value, str) else value


class Observability(Body):
    enabled: bool | None = None
    head_sampling_rate: float | None = None
    logs: Doc | None = None
    traces: Doc | None = None


class Subdomain(Body):
    enabled: bool | None = None
    previews_enabled: bool | None = None


class Named(Body):
    name: str


class Settings(Body):
    """Settings of a Worker that have no versions."""

    logpush: bool | None = None
    observability: Observability | None = None
    subdomain: Subdomain | None = None
    tags: list[str] | None = None
    # wrangler and the provider send objects, older clients names.
    tail_consumers: list[Annotated[Named, BeforeValidator(_as_object)]] | None = None


class Move(Body):
    from_: str | None = None
    to: str


class MigrationStep(Body):
    new_classes: list[str] | None = None
    new_sqlite_classes: list[str] | None = None
    deleted_classes: list[str] | None = None
    renamed_classes: list[Move] | None = None


class Migrations(MigrationStep):
    old_tag: str | None = None
    new_tag: str | None = None
    steps: list[MigrationStep] | None = None


class Export(Body):
    type: str
    state: str | None = None


class RateLimit(Body):
    limit: int | None = None
    period: int | None = None


class Binding(Body):
    simple: RateLimit | None = None
    jurisdiction: str | None = None


class Module(Body):
    name: str
    content_type: str


class Version(Settings):
    """Metadata of an upload, or the body of the beta API."""

    main_module: str | None = None
    modules: list[Module] | None = None
    bindings: list[Binding] | None = None
    annotations: dict[str, str | None] | None = None
    compatibility_date: str | None = None
    compatibility_flags: list[str] | None = None
    keep_bindings: list[str] | None = None
    exports: dict[str, Export] | None = None
    migrations: Migrations | None = None
    limits: Doc | None = None
    placement: Doc | None = None


class Deployment(Body):
    annotations: dict[str, str | None] | None = None


class Secret(Body):
    text: str


class Secrets(Body):
    secrets: dict[str, Secret | None]


class Origins(Body):
    origins: list[Doc] | None = None


class Rule(Body):
    ratelimit: Doc | None = None


class Ruleset(Body):
    name: str | None = None
    description: str | None = None
    rules: list[Rule] | None = None


class Record(Body):
    type: str
    name: str
    content: str | None = None


class Queue(Body):
    settings: Doc | None = None


class Finetune(Body):
    model: str
    name: str
    description: str | None = None
    public: bool | None = None


class Rules(Body):
    rules: list[Doc] = []
