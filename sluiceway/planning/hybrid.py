"""Which requests of a chat model go to a small one instead: the names that its ``route`` gives must be servable."""

from __future__ import annotations

from typing import Final

from sluiceway.catalog import Catalog
from sluiceway.errors import UserError
from sluiceway.planning.parts import HybridRoute
from sluiceway.planning.pick import pick
from sluiceway.planning.policies import scored, served
from sluiceway.settings.model import Settings

THRESHOLD: Final = 0.5
"""As likely simple as complex: where the router's accuracy was measured."""


def route(settings: Settings, catalog: Catalog, name: str, path: str) -> HybridRoute | None:
    """The route of the served model ``name``; ``path`` is that of its settings. UserError for names that don't fit."""
    stated = settings.models[name].route
    if stated is None:
        return None
    task = catalog.model(name, path).task
    if task != "chat":
        hint = "take route out: it tells the requests of a chat model apart"
        raise UserError("a model of another task has no route", path=f"{path}.route", got=task, hint=hint)
    scored(settings, catalog, stated.by, f"{path}.route.by")
    served(settings, catalog, stated.simple, "chat", f"{path}.route.simple")
    if stated.simple == name:
        hint = f"name a smaller model, or one version of it like {name}@1"
        raise UserError("a route leads to another model", path=f"{path}.route.simple", got=name, hint=hint)
    return HybridRoute(stated.by, stated.simple, pick(stated.threshold, THRESHOLD))
