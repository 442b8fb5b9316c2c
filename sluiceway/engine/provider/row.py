"""One resource as a row: its properties, its calls, how it is compared. Oddities are in ``Quirks``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from sluiceway.engine.provider import spelling
from sluiceway.engine.provider.compare import Rules, covers
from sluiceway.engine.provider.existing import Existing, make
from sluiceway.engine.provider.faults import ApiFault, InputFault
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Call:
    """A method and a path below the base URL; ``{name}`` is a property, ``{id}`` the resource's id."""

    method: str
    path: str

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(_FIELD.findall(self.path))

    def fill(self, props: Props, rid: str = "") -> str:
        """The path with every value percent-encoded once."""
        values = {**props, "id": rid} if rid else props
        return _FIELD.sub(lambda hit: quote(str(values[hit.group(1)]), safe=""), self.path)


class Quirks:
    """What a resource does in its own way. The defaults are what most of them do.

    ``props`` are the program's inputs (or, for read and delete, the state) without secret marks.
    """

    def fill(self, row: Row, name: str, props: Props) -> Props:
        """Inputs with what can be derived from them, such as the digest of a file."""
        return props

    def imported(self, parts: Props) -> Props:
        """Properties from the pieces of an import id."""
        return parts

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        """Faults that can be seen without a call. ``old`` are the inputs before, if any."""
        return []

    async def foresee(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> None:
        """In a preview of a new resource: raises ApiFault for what would make the create fail."""

    def body(self, row: Row, props: Props) -> Value:
        """The JSON that is sent."""
        return row.spell_out({name: props[name] for name in row.in_body if props.get(name) is not None})

    def headers(self, row: Row, props: Props) -> dict[str, str]:
        return {}

    def params(self, row: Row, props: Props) -> dict[str, str]:
        return {}

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        """Properties of the resource as an answer tells them."""
        return row.spell_in(result) if isinstance(result, dict) else {}

    def secrets(self, state: Props) -> Props:
        """``state`` with secret marks on what is secret by its nature."""
        return state

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        """``own`` are the scripts that this program names."""
        if row.existing is None:
            return await self.send(client, row, row.create, props)
        return await make(client, row, row.existing, self.request(row, row.create, props), props)

    async def read(self, client: Client, row: Row, rid: str, props: Props) -> Value:
        return await self.send(client, row, row.read, props, rid)

    async def update(self, client: Client, row: Row, rid: str, old: Props, props: Props) -> Value:
        return await self.send(client, row, row.update, props, rid) if row.update else {}

    async def delete(self, client: Client, row: Row, rid: str, props: Props) -> None:
        if row.delete:
            await self.remove(client, row, self.request(row, row.delete, props, rid), rid, props)

    async def remove(self, client: Client, row: Row, request: Request, rid: str, props: Props) -> None:
        """A call that takes the resource away; one whose answer is lost is over if nothing is there any more."""

        async def gone(_: float) -> Value:
            try:
                return await self.read(client, row, rid, props) is None or None
            except ApiFault as fault:
                if fault.gone:
                    return True
                raise

        await client.call(request, gone)

    async def send(self, client: Client, row: Row, call: Call, props: Props, rid: str = "") -> Value:
        """One call of the row."""
        return await client.call(self.request(row, call, props, rid))

    def request(self, row: Row, call: Call, props: Props, rid: str = "") -> Request:
        """One call of the row, with a body when it writes."""
        return Request(
            call.method,
            call.fill(props, rid),
            json=self.body(row, props) if call.method in {"POST", "PUT", "PATCH"} else None,
            headers=self.headers(row, props),
            params=self.params(row, props) if call.method != "GET" else {},
        )


@dataclass(frozen=True)
class Row:
    """``token`` as the SDK registers it; properties in camelCase as they are on the wire to the engine."""

    token: str
    create: Call
    read: Call
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    update: Call | None = None
    delete: Call | None = None
    ident: str = "id"
    """The property that is the resource's id."""
    parts: tuple[str, ...] = ("accountId", "id")
    """What an import id is made of, between slashes."""
    replaces: frozenset[str] = frozenset()
    """Inputs that can't be changed in place, besides ``accountId`` and ``zoneId``."""
    immutable: bool = False
    """Every change makes a new one."""
    camel_body: bool = False
    """The API spells this resource's body in camelCase too."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """Properties, ours -> Cloudflare's, where the spelling alone doesn't give it."""
    deep_renames: Mapping[str, str] = field(default_factory=dict)
    """The same for keys inside properties."""
    rules: Rules = field(default_factory=Rules)
    quirks: Quirks = field(default_factory=Quirks)
    existing: Existing | None = None
    """For what Cloudflare refuses to make twice."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.required + self.optional

    @property
    def in_body(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if name not in self.create.fields)

    @property
    def kind(self) -> str:
        """``Worker`` of ``cloudflare:index/worker:Worker``."""
        return self.token.rsplit(":", 1)[-1]

    def replaced_by(self, name: str) -> bool:
        return self.immutable or name in self.replaces or name in {"accountId", "zoneId"}

    def differences(self, props: Props, found: Value) -> list[str]:
        """Inputs in which an answer of the API is not as ``props`` ask. What it doesn't tell is passed over."""
        facts = self.quirks.facts(self, found, props)
        told = [name for name in self.inputs if name in facts and name not in self.rules.written_only]
        return [name for name in told if not covers(facts[name], props.get(name), self.rules, name)]

    def import_id(self, props: Props, found: Value) -> str:
        """Of what an answer of the API tells."""
        ident = self.quirks.facts(self, found, props).get(self.ident) or found.get(self.ident)
        known = {**props, "id": ident, self.ident: ident}
        parts = [str(known.get(part.rstrip("?")) or "") for part in self.parts]
        return "/".join(part for part in parts if part)

    def spell_out(self, value: Value) -> Value:
        """Properties as a body spells them."""
        spell = _as_is if self.camel_body else spelling.snake
        return spelling.respell(value, spell, self.renames, self.deep_renames)

    def spell_in(self, result: Value) -> Props:
        """Known properties of an answer, in our spelling."""
        known = {*self.inputs, *self.computed}
        spelled: Props = spelling.respell(result, spelling.camel, _reversed(self.renames), _reversed(self.deep_renames))
        return {key: item for key, item in spelled.items() if key in known}


def _as_is(name: str) -> str:
    return name


def _reversed(names: Mapping[str, str]) -> dict[str, str]:
    return {theirs: ours for ours, theirs in names.items()}


async def none_if_gone(client: Client, request: Request) -> Value:
    """The result, or None where the thing isn't there."""
    try:
        return await client.call(request)
    except ApiFault as fault:
        if fault.gone:
            return None
        raise
