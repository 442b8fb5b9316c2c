"""What two stages may not share: a host or route has one owner, and the second stage would take it from the first."""

from __future__ import annotations

from typing import Any

from sluiceway.errors import UserError
from sluiceway.settings import yaml_file
from sluiceway.settings.model import Settings
from sluiceway.workspace import Workspace

_SHARED = ("custom_domains", "routes")


def check(workspace: Workspace, settings: Settings, others: tuple[str, ...]) -> None:
    """UserError when another stage's file names a host or route of ``settings`` as well."""
    for stage in others:
        source = f"stacks/Pulumi.{stage}.yaml"
        try:
            config = yaml_file.read(workspace.root / "stacks" / f"Pulumi.{stage}.yaml", source).get("config")
        except UserError:
            continue  # a fault in that file is told when that stage is used
        for key in _SHARED:
            theirs = _listed(config, key)
            for at, mine in enumerate(getattr(settings, key)):
                if mine in theirs:
                    raise UserError(
                        f"belongs to stage {stage} too",
                        path=f"{settings.source}: config.sluiceway:{key}[{at}]",
                        got=mine,
                        hint=f"give each stage its own host, or take it out of {source} first",
                    )


def _listed(config: Any, key: str) -> list[Any]:  # noqa: ANN401 - whatever stands in a file that isn't checked here
    found = config.get(f"sluiceway:{key}") if isinstance(config, dict) else None
    return found if isinstance(found, list) else []
