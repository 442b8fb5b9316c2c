"""Client of a gateway's rollouts, over its admin endpoints."""

from __future__ import annotations

from typing import Final, Literal
from urllib.parse import quote, urlencode

from sluiceway.cloudflare.gateway_admin import GatewayAdmin
from sluiceway.rollouts.views import JournalEntry, JournalPage, RolloutView, StageView, read

Command = Literal["pause", "resume", "promote", "abort", "rollback"]
_PAGE: Final = 500
_LOOK: Final = "sluiceway rollout list"


class Rollouts:
    """The rollouts of the stage behind ``admin``. Methods raise what GatewayAdmin raises, and SluicewayError for an
    answer of another shape."""

    def __init__(self, admin: GatewayAdmin) -> None:
        self._admin = admin

    def stage(self) -> StageView:
        """All models as they are now."""
        return read(StageView, self._admin.send("GET", "/rollouts"), "rollouts")

    def model(self, name: str) -> RolloutView:
        return read(RolloutView, self._admin.send("GET", f"/rollouts/{quote(name, safe='')}"), f"rollouts.{name}")

    def command(
        self, name: str, command: Command, *, actor: str, reason: str | None = None, expect: int | None = None
    ) -> RolloutView:
        """Carries out one command and gives the model as it is then.

        ``expect`` is the revision that the person saw: if something moved since, the gateway refuses.
        """
        body: dict[str, object] = {"actor": actor}
        body |= {key: value for key, value in (("reason", reason), ("expect", expect)) if value is not None}
        path = f"/rollouts/{quote(name, safe='')}/{command}"
        return read(RolloutView, self._admin.send("POST", path, body, look=_LOOK), f"rollouts.{name}")

    def journal(self, model: str | None = None, after: int = 0) -> list[JournalEntry]:
        """The entries with a greater number than ``after``, oldest first."""
        found: list[JournalEntry] = []
        start: int | None = after
        while start is not None:
            asked = {"after": start, "limit": _PAGE} | ({} if model is None else {"model": model})
            page = read(JournalPage, self._admin.send("GET", f"/rollouts/journal?{urlencode(asked)}"), "journal")
            found += page.entries
            start = page.next
        return found
