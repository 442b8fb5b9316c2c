"""Whether two stages would run the same release: one bundle, the same models, prompts and routing.

The release id of an answer covers a stage's own limits and policies as well, since its cache must; two stages differ
in those by design. What is moved from stage to stage is the part that is the same: this digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from sluiceway.domain.release import canonical
from sluiceway.errors import SluicewayError

MAIN: Final = "index.js"
CONFIG: Final = "config.json"
_OWN: Final = ("limits", "cache", "timeouts", "resilience", "guard", "conversations")
_MOST_SHOWN: Final = 200


@dataclass(frozen=True)
class Content:
    """What one stage serves, or would serve: the bundle's sha256, and its config.json."""

    stage: str
    release: str
    bundle: str
    config: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """``p-`` and 12 hex digits of bundle, models, prompts and routing."""
        same = canonical({"bundle": self.bundle, "models": self.config.get("models")})
        return f"p-{sha256(same.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Difference:
    """``path`` in config.json, or ``bundle``; values as JSON text, cut; None where there is nothing."""

    path: str
    left: str | None
    right: str | None

    def told(self, left: str, right: str) -> str:
        return f"{self.path}: {left} has {self.left or 'nothing'}, {right} has {self.right or 'nothing'}"


def content(stage: str, modules: Mapping[str, bytes]) -> Content:
    """The content of an uploaded version's files; SluicewayError when they aren't a gateway's."""
    main, config = modules.get(MAIN), modules.get(CONFIG)
    if main is None or config is None:
        raise SluicewayError(
            f"is no gateway of this tool: its files are {', '.join(sorted(modules)) or 'not told'}",
            path=f"the worker version that serves {stage}",
            hint=f"`sluiceway up {stage}` deploys one",
        )
    document = json.loads(config)
    return Content(stage, str(document.get("release")), sha256(main).hexdigest(), document)


def differences(left: Content, right: Content) -> tuple[Difference, ...]:
    """What keeps the two from being one release; empty when they are."""
    found = []
    if left.bundle != right.bundle:
        found.append(Difference("bundle", left.bundle[:12], right.bundle[:12]))
    found += _between("models", left.config.get("models"), right.config.get("models"))
    return tuple(found)


def own_settings(left: Content, right: Content) -> tuple[Difference, ...]:
    """Where the stages' own limits and policies differ, which no promotion moves."""
    return tuple(
        each for key in _OWN for each in _between(key, left.config.get(key), right.config.get(key))
    )  # fmt: skip


def _between(path: str, left: object, right: object) -> Iterator[Difference]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            yield from _between(f"{path}.{key}", left.get(key, _NONE), right.get(key, _NONE))
    elif left != right:
        yield Difference(path, _shown(left), _shown(right))


_NONE: Final = object()


def _shown(value: object) -> str | None:
    if value is _NONE:
        return None
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
