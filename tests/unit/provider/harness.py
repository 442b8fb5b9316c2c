"""Drives a TableProvider as the engine does: check, then create, read, diff, update, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from pulumi.provider.experimental import provider as api

from sluiceway.engine.provider import values
from sluiceway.engine.provider.generic import TableProvider
from sluiceway.engine.provider.row import Row
from sluiceway.engine.provider.rows import ROWS
from sluiceway.engine.provider.transport import Client
from tests.unit.provider.fake_cloudflare import FakeCloudflare

Props = dict[str, Any]

ACCOUNT = "10ca1000000000000000000000000000"
ZONE = "2e0f1a5c5f0c4d7e8a9b0c1d2e3f4a5b"
BASE_URL = "http://127.0.0.1/client/v4"


class Refused(Exception):
    """Check failed; ``faults`` are path -> reason."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__(str(faults))
        self.faults = faults


@dataclass
class Made:
    """One resource as the engine would keep it in state. ``inputs`` and ``state`` keep their secret marks."""

    kind: str
    name: str
    rid: str
    inputs: Props
    state: Props


@dataclass
class Driver:
    """``waits`` are the seconds that were slept between retries."""

    fake: FakeCloudflare
    rows: Mapping[str, Row] = field(default_factory=lambda: ROWS)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.provider = TableProvider("cloudflare", "0.0.0", self.rows, lambda config: self._client())
        asyncio.run(self.provider.configure(api.ConfigureRequest({}, {}, True, True)))

    def _client(self) -> Client:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.fake.app()))
        return Client(BASE_URL, "token", sleep=sleep, chance=lambda: 0.0, http=http)

    def urn(self, kind: str, name: str) -> str:
        row = next(row for row in self.rows.values() if row.kind == kind)
        return f"urn:pulumi:local::test::sluiceway:infra:Parent${row.token}::{name}"

    def check(self, kind: str, inputs: Props, name: str = "it", old: Props | None = None) -> Props:
        request = api.CheckRequest(self.urn(kind, name), values.encode_map(old or {}), values.encode_map(inputs), b"")
        answer = asyncio.run(self.provider.check(request))
        if answer.failures:
            raise Refused({fault.property: fault.reason for fault in answer.failures})
        return values.decode_map(answer.inputs or {})

    def create(self, kind: str, inputs: Props, name: str = "it") -> Made:
        checked = self.check(kind, inputs, name)
        request = api.CreateRequest(self.urn(kind, name), values.encode_map(checked), 0, False)
        answer = asyncio.run(self.provider.create(request))
        return Made(kind, name, str(answer.resource_id), checked, values.decode_map(answer.properties))

    def preview(self, kind: str, inputs: Props, name: str = "it") -> Props:
        checked = self.check(kind, inputs, name)
        request = api.CreateRequest(self.urn(kind, name), values.encode_map(checked), 0, True)
        return values.decode_map(asyncio.run(self.provider.create(request)).properties)

    def refresh(self, made: Made) -> Made | None:
        request = api.ReadRequest(
            self.urn(made.kind, made.name),
            made.rid,
            values.encode_map(made.state),
            values.encode_map(made.inputs),
        )
        answer = asyncio.run(self.provider.read(request))
        if not answer.resource_id:
            return None
        inputs, state = values.decode_map(answer.inputs), values.decode_map(answer.properties)
        return Made(made.kind, made.name, answer.resource_id, inputs, state)

    def imported(self, kind: str, rid: str, name: str = "it") -> Made | None:
        return self.refresh(Made(kind, name, rid, {}, {}))

    def diff(self, made: Made, inputs: Props) -> api.DiffResponse:
        checked = self.check(made.kind, inputs, made.name, made.inputs)
        request = api.DiffRequest(
            self.urn(made.kind, made.name),
            made.rid,
            values.encode_map(made.state),
            values.encode_map(checked),
            [],
        )
        return asyncio.run(self.provider.diff_inputs(request, made.inputs))

    def changed(self, made: Made, inputs: Props) -> list[str]:
        return self.diff(made, inputs).diffs

    def update(self, made: Made, inputs: Props) -> Made:
        checked = self.check(made.kind, inputs, made.name, made.inputs)
        request = api.UpdateRequest(
            self.urn(made.kind, made.name),
            made.rid,
            values.encode_map(made.state),
            values.encode_map(checked),
            0,
            [],
            False,
        )
        state = values.decode_map(asyncio.run(self.provider.update(request)).properties)
        return Made(made.kind, made.name, made.rid, checked, state)

    def delete(self, made: Made) -> None:
        request = api.DeleteRequest(self.urn(made.kind, made.name), made.rid, values.encode_map(made.state), 0)
        asyncio.run(self.provider.delete(request))


def body_of(fake: FakeCloudflare, call: str) -> Any:  # noqa: ANN401 - JSON
    """The JSON body of the first ``METHOD path``."""
    return next(body for method, path, body in fake.calls if f"{method} {path}" == call)
