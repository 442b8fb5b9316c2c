"""Changes of state, and their push to the data plane before they are answered.

Changes that arrive while a push is under way wait and are then applied together: one transaction,
one push for all. If the data plane refuses the result, the transaction is undone and the changes are
tried one by one, so that only the guilty one fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from sluiceway.local import world
from sluiceway.local.api.config import ApiConfig, zone_id
from sluiceway.local.api.errors import ApiError, HostError, HostRejected
from sluiceway.local.api.host_client import HostClient
from sluiceway.local.store import Doc, Json, Records, Store

T = TypeVar("T")
Change = Callable[[Records], Json]


@dataclass(frozen=True)
class _Waiting:
    apply: Change
    done: asyncio.Future[Json]


class Control:
    """The one writer of the control plane's state."""

    def __init__(self, store: Store, host: HostClient, config: ApiConfig) -> None:
        self.store = store
        self.host = host
        self.config = config
        self._queue: list[_Waiting] = []
        self._working: asyncio.Task[None] | None = None
        self._pushed = ""
        _seed(store, config)

    async def change(self, apply: Callable[[Records], T]) -> T:
        """Runs ``apply`` in a transaction, pushes the world if it changed, then gives what ``apply`` gave.

        ``apply`` may run twice and must only touch the records. Raises what it raises, and
        HostRejected or HostError when the push fails; then nothing has changed.
        """
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(apply, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await done

    async def sync(self) -> None:
        """Pushes the whole world, whatever was pushed before: after a start of the data plane."""
        self._pushed = ""
        await self.change(lambda _: None)

    async def host_ready(self, admin_url: str, admin_token: str) -> None:
        self.host.retarget(admin_url, admin_token)
        await self.sync()

    async def _work(self) -> None:
        while self._queue:
            batch, self._queue = self._queue, []
            await self._commit(batch)

    async def _commit(self, batch: list[_Waiting]) -> None:
        try:
            results = await self._attempt(batch)
        except HostRejected as error:
            if len(batch) > 1:
                for one in batch:
                    await self._commit([one])
            else:
                _settle(batch[0], error)
        except Exception as error:
            for one in batch:
                _settle(one, error)
        else:
            for one, result in zip(batch, results, strict=True):
                _settle(one, result)

    async def _attempt(self, batch: list[_Waiting]) -> list[Json]:
        """What each change gave or raised; raises itself when the push fails, with everything undone."""
        with self.store.transaction() as records:
            results = [_apply(one.apply, records) for one in batch]
            picture = world.build(records, self.config.modules, self.config.subdomain)
            digest = world.digest(picture)
            if digest != self._pushed:
                picture["generation"] = _next_generation(records)
                await self._push(picture)
        # Only here is the transaction committed: a failed commit must not leave a digest that hides the next push.
        self._pushed = digest
        return results

    async def _push(self, picture: Doc) -> None:
        try:
            await self.host.put_world(picture)
        except HostError:
            self._pushed = ""
            raise


def _apply(apply: Change, records: Records) -> Json:
    try:
        with records.savepoint():
            return apply(records)
    except ApiError as error:
        return error


def _settle(one: _Waiting, outcome: Json) -> None:
    if one.done.done():  # the caller went away
        return
    if isinstance(outcome, Exception):
        one.done.set_exception(outcome)
    else:
        one.done.set_result(outcome)


def _next_generation(records: Records) -> int:
    number = cast(int, (records.get("setting", "generation") or {"value": 0})["value"]) + 1
    records.put("setting", "generation", {"value": number})
    return number


def _seed(store: Store, config: ApiConfig) -> None:
    with store.transaction() as records:
        for name in config.zones:
            if not records.get("zone", zone_id(name)):
                records.put("zone", zone_id(name), {"id": zone_id(name), "name": name, "created_on": config.stamp()})
