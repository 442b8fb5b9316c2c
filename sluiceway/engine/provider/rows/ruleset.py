"""Rulesets. A zone has one entry point per phase, shared by whoever has rules in that phase.

So a Ruleset here owns rules, known by their ``ref``, in a ruleset that may hold those of others:
these are kept in front of ours on every write and left alone on delete.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.faults import ApiFault, InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row, none_if_gone
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value
from sluiceway.errors import UserError

ONE_PER_PHASE = 20217
_FROM_SERVER = frozenset({"version", "last_updated", "id"})


def _base(props: Props) -> str:
    scope = "/zones/{zoneId}/rulesets" if props.get("zoneId") else "/accounts/{accountId}/rulesets"
    return Call("GET", scope).fill(props)


def _refs(props: Props) -> set[str]:
    rules = props.get("rules")
    return {str(rule.get("ref")) for rule in rules or [] if isinstance(rule, dict)}


class _Ruleset(Quirks):
    def __init__(self) -> None:
        # Reading, merging and writing back is one step for all Rulesets of a phase.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def fill(self, row: Row, name: str, props: Props) -> Props:
        """Gives each rule a ``ref``, by which it is known to be ours."""
        rules = props.get("rules")
        if not isinstance(rules, list):
            return props
        named = [
            {**rule, "ref": rule.get("ref") or f"{name}-{index}"} if isinstance(rule, dict) else rule
            for index, rule in enumerate(rules)
        ]
        return {**props, "rules": named}

    def imported(self, parts: Props) -> Props:
        scope = {"zones": "zoneId", "accounts": "accountId"}.get(parts["scope"])
        if scope is None:
            hint = "write zones/<zone id>/<ruleset id>, or accounts/<account id>/<ruleset id>"
            raise UserError("an import id of Ruleset begins with zones/ or accounts/", got=parts["scope"], hint=hint)
        return {scope: parts["scopeId"]}

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        faults = []
        if (props.get("zoneId") is None) == (props.get("accountId") is None):
            faults.append(InputFault("zoneId", "give either zoneId or accountId"))
        refs: set[str] = set()
        for index, rule in enumerate(props["rules"] if isinstance(props.get("rules"), list) else []):
            if not isinstance(rule, dict):
                continue
            ref, ratelimit = rule.get("ref"), rule.get("ratelimit")
            if isinstance(ref, str) and ref in refs:
                faults.append(InputFault(f"rules[{index}].ref", f"{ref} names two rules"))
            refs.add(str(ref))
            counted = ratelimit.get("characteristics") if isinstance(ratelimit, dict) else None
            if isinstance(counted, list) and "cf.colo.id" not in counted:
                faults.append(InputFault(f"rules[{index}].ratelimit.characteristics", "must include cf.colo.id"))
        return faults

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        async with self._locks[f"{_base(props)} {props['phase']}"]:
            present = await self._entry_point(client, props)
            if present is None:
                return await self._first(client, row, props)
            return await self._write(client, row, present, props, _refs(props))

    async def _first(self, client: Client, row: Row, props: Props) -> Value:
        """Makes the ruleset, or joins the one of whoever was faster."""
        body = {"name": props["name"], "kind": props["kind"], "phase": props["phase"]}
        body |= {"description": props.get("description") or "", "rules": self._ours(row, props)}

        async def made(_: float) -> Value:
            found = await self._entry_point(client, props)
            return found if found and _refs(props) <= _refs(found) else None

        try:
            return await client.call(Request("POST", _base(props), json=body), made)
        except ApiFault as fault:
            present = await self._entry_point(client, props) if fault.code == ONE_PER_PHASE else None
            if present is None:
                raise
        return await self._write(client, row, present, props, _refs(props))

    async def update(self, client: Client, row: Row, rid: str, old: Props, props: Props) -> Value:
        async with self._locks[f"{_base(props)} {props['phase']}"]:
            present = await client.call(Request("GET", f"{_base(props)}/{rid}"))
            return await self._write(client, row, present, props, _refs(old) | _refs(props))

    async def read(self, client: Client, row: Row, rid: str, props: Props) -> Value:
        return await client.call(Request("GET", f"{_base(props)}/{rid}"))

    async def delete(self, client: Client, row: Row, rid: str, props: Props) -> None:
        async with self._locks[f"{_base(props)} {props['phase']}"]:
            path = f"{_base(props)}/{rid}"
            present = await none_if_gone(client, Request("GET", path))
            if present is None:
                return
            foreign = _foreign(present, _refs(props))
            if foreign:
                await client.call(Request("PUT", path, json=_whole(present, foreign)))
            else:
                await self.remove(client, row, Request("DELETE", path), rid, props)

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        """Our rules of the ruleset; on import all of them, since nothing says yet which are ours."""
        facts = super().facts(row, result, props)
        refs = _refs(props)
        if "kind" in props:
            facts["rules"] = [rule for rule in facts.get("rules") or [] if str(rule.get("ref")) in refs]
            if _foreign(result, refs):
                facts |= {name: props[name] for name in ("name", "description") if name in props}
        return facts

    def _ours(self, row: Row, props: Props) -> list[Value]:
        out: list[Value] = []
        for rule in row.spell_out(props.get("rules") or []):
            whole = {"action_parameters": {}, "description": "", "enabled": True, **_given(rule)}
            if whole.get("ratelimit"):
                whole["ratelimit"] = {"requests_to_origin": False, **_given(whole["ratelimit"])}
            out.append(whole)
        return out

    async def _entry_point(self, client: Client, props: Props) -> Value:
        if props["kind"] not in {"zone", "root"}:
            return None
        return await none_if_gone(client, Request("GET", f"{_base(props)}/phases/{props['phase']}/entrypoint"))

    async def _write(self, client: Client, row: Row, present: Value, props: Props, ours: set[str]) -> Value:
        foreign = _foreign(present, ours)
        whole = _whole(present, [*foreign, *self._ours(row, props)])
        if not foreign:
            whole |= {"name": props["name"], "description": props.get("description") or ""}
        return await client.call(Request("PUT", f"{_base(props)}/{present['id']}", json=whole))


def _given(value: Props) -> Props:
    return {key: item for key, item in value.items() if item is not None and key != "id"}


def _foreign(present: Value, ours: set[str]) -> list[Value]:
    """Rules of others, as they are written back: with their ids, without what only the server sets."""
    rules = [rule for rule in present.get("rules") or [] if str(rule.get("ref")) not in ours]
    return [{key: item for key, item in rule.items() if key not in _FROM_SERVER - {"id"}} for rule in rules]


def _whole(present: Value, rules: list[Value]) -> Props:
    kept = {key: item for key, item in present.items() if key in {"name", "kind", "phase", "description"}}
    return {**kept, "rules": rules}


RULESET = Row(
    "cloudflare:index/ruleset:Ruleset",
    create=Call("POST", "/zones/{zoneId}/rulesets"),
    read=Call("GET", "/zones/{zoneId}/rulesets/{id}"),
    required=("kind", "name", "phase"),
    optional=("accountId", "zoneId", "description", "rules"),
    computed=("lastUpdated", "version"),
    parts=("scope", "scopeId", "id"),
    replaces=frozenset({"kind", "phase"}),
    rules=Rules(
        sets=frozenset({"characteristics"}),
        given_once=frozenset({"description"}),
        defaults={"enabled": True, "requestsToOrigin": False},
        server=frozenset({"id", "version", "lastUpdated"}),
    ),
    quirks=_Ruleset(),
)
