"""``cron.json``: what every reader of crons (domain, local API, local host) must take and refuse alike."""

from __future__ import annotations

import json
from pathlib import Path


def texts(verdict: str) -> list[str]:
    """``verdict``: ``taken`` or ``refused``."""
    found: list[str] = json.loads(Path(__file__).with_name("cron.json").read_text(encoding="utf-8"))[verdict]
    return found
