"""Things that are there already when they are to be made, since an earlier answer was lost or by another hand.

What nobody uses yet is taken over: an answer that was lost leaves just such a thing. What is in use may be somebody
else's, and is left to whoever knows: the refusal says how to adopt it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from sluiceway.engine.provider.faults import ApiFault
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

_PAGE, _PAGES = 100, 20


class Resource(Protocol):
    """What is asked of a row here. ``found`` is an answer of the API."""

    @property
    def kind(self) -> str: ...

    def differences(self, props: Props, found: Value) -> list[str]: ...

    def import_id(self, props: Props, found: Value) -> str: ...


@dataclass(frozen=True)
class Existing:
    """How a thing is known to be there already. ``code``: Cloudflare's refusal of a second one.

    ``find`` gives it as its making would have, or None; ``used`` what speaks against taking it over, or nothing.
    """

    code: int
    find: Callable[[Client, Props], Awaitable[Value]]
    used: Callable[[Client, Props, Value], Awaitable[str]]


async def make(client: Client, row: Resource, existing: Existing, request: Request, props: Props) -> Value:
    """Makes it by ``request``, or takes over what is there; raises ApiFault."""

    async def made(_: float) -> Value:
        found = await existing.find(client, props)
        return found if found and not await _against(client, row, existing, props, found) else None

    try:
        return await client.call(request, made)
    except ApiFault as fault:
        found = await existing.find(client, props) if _there(fault, existing) else None
        if not found:
            raise
        why = await _against(client, row, existing, props, found)
        ident = row.import_id(props, found)
        if why:
            hint = f"if it is this stack's own, adopt it by its import id {ident}; else choose another name"
            raise ApiFault(fault.call, fault.status, fault.code, f"{fault.text}; {why}", hint) from None
    sys.stderr.write(f"{row.kind} {ident} was there already, unused: it is taken over\n")
    return found


def _there(fault: ApiFault, existing: Existing) -> bool:
    return fault.code == existing.code or (fault.status == 409 and "already exists" in fault.text)


async def _against(client: Client, row: Resource, existing: Existing, props: Props, found: Value) -> str:
    wrong = row.differences(props, found)
    if wrong:
        return f"its {', '.join(wrong)} is another than asked for"
    return await existing.used(client, props, found)


async def listed(client: Client, request: Request) -> AsyncIterator[Value]:
    """The items of a list, page by page."""
    for page in range(1, _PAGES + 1):
        params = {**request.params, "page": str(page), "per_page": str(_PAGE)}
        items = await client.call(replace(request, params=params)) or []
        for item in items:
            yield item
        if len(items) < _PAGE:
            return


async def first(items: AsyncIterator[Value], fits: Callable[[Value], bool]) -> Value:
    async for item in items:
        if fits(item):
            return item
    return None
