"""The provider: what every resource does alike, for any table of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NoReturn

from pulumi.provider.experimental import provider as api

from sluiceway.engine.provider import values
from sluiceway.engine.provider.compare import arranged, askable, covers, drifted, lost, settle
from sluiceway.engine.provider.detail import detailed
from sluiceway.engine.provider.faults import ApiFault, InputFault, redact
from sluiceway.engine.provider.row import Row
from sluiceway.engine.provider.transport import Client
from sluiceway.engine.provider.values import UNKNOWN, Props, Value
from sluiceway.errors import SluicewayError, UserError

Connect = Callable[[Props], Client | None]
"""From the provider's configuration; None while that is unknown (previews)."""


class TableProvider(api.Provider):
    """Serves the resources of ``rows``. ``connect`` is called once, when the engine configures it."""

    def __init__(self, package: str, version: str, rows: Mapping[str, Row], connect: Connect) -> None:
        self._package = package
        self._version = version
        self._rows = rows
        self._connect = connect
        self._client: Client | None = None
        self._own_scripts: set[str] = set()

    async def configure(self, request: api.ConfigureRequest) -> api.ConfigureResponse:
        self._client = self._connect(values.reveal(values.decode_map(request.args)))
        return api.ConfigureResponse(accept_secrets=True, supports_preview=True)

    async def diff_config(self, request: api.DiffRequest) -> api.DiffResponse:
        return api.DiffResponse(changes=False)

    async def get_schema(self, request: api.GetSchemaRequest) -> api.GetSchemaResponse:
        """Names only: enough for ``pulumi import`` to know what is an input."""
        anything = {"$ref": "pulumi.json#/Any"}
        resources = {
            row.token: {
                "properties": {name: anything for name in (*row.inputs, *row.computed)},
                "inputProperties": {name: anything for name in row.inputs},
                "requiredInputs": list(row.required),
            }
            for row in self._rows.values()
        }
        document = {"name": self._package, "version": self._version, "resources": resources}
        return api.GetSchemaResponse(json.dumps(document))

    async def check(self, request: api.CheckRequest) -> api.CheckResponse:
        row = self._row(request.type)
        old = values.reveal(values.decode_map(request.old_inputs))
        given = values.decode_map(request.new_inputs)
        if not row.immutable:
            # A replacement is checked once more without its old inputs, so its order is the program's.
            given = {name: arranged(item, old.get(name), row.rules, name) for name, item in given.items()}
        plain = values.reveal(given)
        faults = [InputFault(name, "is required and was not given") for name in row.required if plain.get(name) is None]
        try:
            plain = row.quirks.fill(row, request.name, plain)
            faults += row.quirks.check(row, plain, old)
        except UserError as error:
            faults.append(InputFault(error.path or row.required[0], error.message))
        self._remember_scripts(row, plain, old)
        filled = values.mark_like(row.quirks.secrets(plain), given)
        return api.CheckResponse(
            inputs=values.encode_map(filled),
            failures=[api.CheckFailure(fault.path, fault.reason) for fault in faults],
        )

    async def diff_inputs(self, request: api.DiffRequest, old_inputs: Props) -> api.DiffResponse:
        """``old_inputs`` tell what the program asked for before; the state alone can't."""
        row = self._row(request.type)
        state = values.reveal(values.decode_map(request.old_state))
        wanted = values.reveal(values.decode_map(request.new_inputs))
        before = values.reveal(old_inputs)
        changed = [
            name
            for name in row.inputs
            if name not in request.ignore_changes and _differs(row, name, state, wanted, before)
        ]
        details: dict[str, api.PropertyDiff] = {}
        for name in changed:
            details |= detailed(name, before.get(name), wanted.get(name), row.rules, row.replaced_by(name))
        return api.DiffResponse(
            changes=bool(changed),
            diffs=changed,
            replaces=[name for name in changed if row.replaced_by(name)],
            detailed_diff=details,
        )

    async def diff(self, request: api.DiffRequest) -> api.DiffResponse:
        return await self.diff_inputs(request, values.decode_map(request.old_state))

    async def create(self, request: api.CreateRequest) -> api.CreateResponse:
        row = self._row(request.type)
        given = values.decode_map(request.properties)
        plain = values.reveal(given)
        own = frozenset(self._own_scripts)
        try:
            if request.preview:
                if self._client and not values.has_unknown(plain):
                    await row.quirks.foresee(self._client, row, plain, own)
                return api.CreateResponse(properties=values.encode_map(self._foreseen(row, given)))
            result = await row.quirks.create(self._need_client(), row, plain, own)
        except SluicewayError as fault:
            self._fail(row, request.name, fault, given)
        state = self._state(row, given, row.quirks.facts(row, result, plain))
        return api.CreateResponse(self._ident(row, state, result), values.encode_map(state))

    async def read(self, request: api.ReadRequest) -> api.ReadResponse:
        row = self._row(request.type)
        state = values.decode_map(request.properties)
        inputs = values.decode_map(request.inputs)
        importing = not inputs
        rid, parts = _parse(row, request.resource_id, values.reveal(state))
        known = {**values.reveal(inputs), **values.reveal(state), **parts}
        try:
            result = await row.quirks.read(self._need_client(), row, rid, known)
        except SluicewayError as fault:
            if not _gone(fault):
                self._fail(row, request.name, fault, {"state": state, "inputs": inputs})
            result = None
        if result is None:
            return api.ReadResponse()
        facts = {**parts, **row.quirks.facts(row, result, known)}
        fresh = self._state(row, {**state, **parts}, facts)
        if importing:
            seen = {name: askable(fresh[name], row.rules) for name in row.inputs if fresh.get(name) is not None}
        else:
            seen = row.quirks.secrets(_inputs_now(row, inputs, values.reveal(fresh)))
        return api.ReadResponse(self._ident(row, fresh, result), values.encode_map(fresh), values.encode_map(seen))

    async def update(self, request: api.UpdateRequest) -> api.UpdateResponse:
        row = self._row(request.type)
        old = values.decode_map(request.olds)
        given = values.decode_map(request.news)
        kept = {name: old[name] for name in row.computed if name in old}
        if request.preview:
            return api.UpdateResponse(values.encode_map({**kept, **given}))
        try:
            plain = values.reveal(given)
            result = await row.quirks.update(
                self._need_client(), row, request.resource_id, values.reveal(old), {**values.reveal(kept), **plain}
            )
        except SluicewayError as fault:
            self._fail(row, request.name, fault, {"old": old, "new": given})
        state = self._state(row, given, {**kept, **row.quirks.facts(row, result, plain)})
        return api.UpdateResponse(values.encode_map(state))

    async def delete(self, request: api.DeleteRequest) -> None:
        row = self._row(request.type)
        state = values.decode_map(request.properties)
        try:
            await row.quirks.delete(self._need_client(), row, request.resource_id, values.reveal(state))
        except SluicewayError as fault:
            if not _gone(fault):
                self._fail(row, request.name, fault, state)

    async def cancel(self) -> None:
        if self._client:
            await self._client.aclose()

    def _row(self, token: str) -> Row:
        # The type of a component's child carries its parents: ``sluiceway:infra:Events$cloudflare:...``.
        row = self._rows.get(token.rpartition("$")[2])
        if row is None:
            raise UserError(
                f"the bundled {self._package} plugin has no resource {token}",
                hint=f"it serves {', '.join(sorted(row.kind for row in self._rows.values()))}; "
                "for others the official provider plugin is needed",
            )
        return row

    def _need_client(self) -> Client:
        if self._client is None:
            raise SluicewayError(f"the {self._package} provider's configuration is not known yet")
        return self._client

    def _remember_scripts(self, row: Row, *inputs: Props) -> None:
        """Which Workers this program names: a route of theirs is ours to move."""
        name = {"Worker": "name", "WorkersRoute": "script", "WorkersDeployment": "scriptName"}.get(row.kind)
        if name:
            self._own_scripts.update(props[name] for props in inputs if isinstance(props.get(name), str))

    def _foreseen(self, row: Row, given: Props) -> Props:
        return {**{name: UNKNOWN for name in row.computed}, **given}

    def _state(self, row: Row, given: Props, facts: Props) -> Props:
        plain = values.reveal(given)
        told = {name: fact for name, fact in facts.items() if fact is not None or name not in row.rules.written_only}
        state = {name: plain.get(name) for name in plain if name not in told}
        state |= {name: settle(plain.get(name), fact, row.rules, name) for name, fact in told.items()}
        state = {name: item for name, item in state.items() if item is not None}
        marked: Props = values.mark_like(row.quirks.secrets(state), given)
        return marked

    def _ident(self, row: Row, state: Props, result: Value) -> str:
        if row.ident in state:
            return str(values.reveal(state[row.ident]))
        found = result.get(row.ident) if isinstance(result, dict) else None
        if not found:
            raise SluicewayError(f"Cloudflare's answer to the making of a {row.kind} has no id", path=row.token)
        return str(found)

    def _fail(self, row: Row, name: str, fault: SluicewayError, given: Value) -> NoReturn:
        """The failure again, with the resource's name and without the text of any secret."""
        text = redact(fault.message, values.secret_texts(given))
        where = f"{row.kind} {name!r}" + (f": {fault.path}" if fault.path else "")
        raise SluicewayError(text, path=where, hint=fault.hint) from None


def _gone(fault: SluicewayError) -> bool:
    return isinstance(fault, ApiFault) and fault.gone


def _differs(row: Row, name: str, state: Props, wanted: Props, before: Props) -> bool:
    if not covers(state.get(name), wanted.get(name), row.rules, name):
        # What the API doesn't give back can't be compared with anything until it was sent once.
        return not (name in row.rules.written_only and name not in state and name not in before)
    return lost(before.get(name), wanted.get(name), row.rules, name)


def _parse(row: Row, rid: str, state: Props) -> tuple[str, Props]:
    """The id and the properties that an import id carries; a plain id when the state has them already."""
    if any(state.get(name) is not None for name in row.required):
        return rid, {}
    pieces = rid.split("/", len(row.parts) - 1)
    needed = sum(1 for part in row.parts if not part.endswith("?"))
    if len(pieces) < needed or not all(pieces):
        form = "/".join(f"<{part.rstrip('?')}>" for part in row.parts)
        hint = f"pulumi import {row.token} NAME {form}"
        raise UserError(f"an import id of {row.kind} has the form {form}", got=rid, hint=hint)
    found: Props = {part.rstrip("?"): piece for part, piece in zip(row.parts, pieces, strict=False)}
    return str(found.pop("id", pieces[-1])), row.quirks.imported(found)


def _inputs_now(row: Row, inputs: Props, fresh: Props) -> Props:
    """The program's inputs, changed only where reality is different: then a diff shows the drift."""
    now: Props = {}
    for name, item in inputs.items():
        plain = values.reveal(item)
        if name not in row.inputs or covers(fresh.get(name), plain, row.rules, name):
            now[name] = item
        elif fresh.get(name) is not None:
            now[name] = values.mark_like(drifted(fresh[name], plain, row.rules, name), item)
    return now
