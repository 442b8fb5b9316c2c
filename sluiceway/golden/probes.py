"""What probes ask of a model: some of its golden prompts, as the gateway's config carries them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sluiceway.catalog import Catalog
from sluiceway.golden.load import FOLDER, load
from sluiceway.golden.model import Prompt
from sluiceway.settings.model import Settings
from sluiceway.workspace import Workspace

MOST: Final = 20
"""Of one model; the config goes with every upload of the Worker."""
_CHARACTERS: Final = 2_000
_TOKENS: Final = 256

Body = dict[str, Any]


def probe_bodies(workspace: Workspace, settings: Settings, catalog: Catalog) -> dict[str, tuple[Body, ...]]:
    """By model whose rollout sends probes: bodies of chat completions, without model. UserError for a faulty file."""
    found: dict[str, tuple[Body, ...]] = {}
    for name, stated in settings.models.items():
        path = workspace.root / FOLDER / f"{name}.jsonl"
        if stated.rollout is not None and stated.rollout.probes is not None and path.is_file():
            found[name] = chosen(load(path, f"{FOLDER}/{path.name}", name, catalog).prompts)
    return found


def chosen(prompts: Sequence[Prompt]) -> tuple[Body, ...]:
    """At most ``MOST`` of the prompts that are not long, from all over the set: languages stand together in it."""
    short = [prompt for prompt in prompts if sum(len(each["content"]) for each in prompt.messages) <= _CHARACTERS]
    step = max(1.0, len(short) / MOST)
    picked = [short[int(place * step)] for place in range(min(MOST, len(short)))]
    return tuple(
        {"messages": [dict(each) for each in prompt.messages], "max_tokens": _TOKENS, **prompt.request}
        for prompt in picked
    )
