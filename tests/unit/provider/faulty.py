"""The provider on the local stage's API in this process, with the faults of that stage on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import Any

import httpx
from starlette.applications import Starlette

from sluiceway.engine.provider.transport import Client
from sluiceway.local.api.app import routes
from sluiceway.local.faults.active import Faults
from sluiceway.local.faults.engine import DroppedError
from sluiceway.local.faults.read import read_fault
from tests.local.api.conftest import TOKEN, Api
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import Driver


class _Wire(httpx.AsyncBaseTransport):
    """A connection that ends when a fault says so, and answers that tell the server's time."""

    def __init__(self, api: Api, faults: Faults) -> None:
        self._inner = httpx.ASGITransport(Starlette(routes=routes(api.control, faults)))
        self._api = api

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            answer = await self._inner.handle_async_request(request)
        except DroppedError as error:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.") from error
        answer.headers["date"] = format_datetime(self._api.control.config.now(), usegmt=True)
        return answer


@dataclass
class FaultyDriver(Driver):
    """A provider process; another one on the same ``api`` knows nothing of what this one did."""

    api: Api = field(kw_only=True)
    faults: Faults = field(default_factory=Faults, kw_only=True)

    def _client(self) -> Client:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        http = httpx.AsyncClient(transport=_Wire(self.api, self.faults), headers={"authorization": f"Bearer {TOKEN}"})
        return Client(
            "http://127.0.0.1/client/v4", TOKEN, sleep=sleep, clock=lambda: 0.0, chance=lambda: 0.0, http=http
        )

    def fault(self, **fields: Any) -> None:  # noqa: ANN401
        self.faults.add(read_fault({"api": ["all"], **fields}))

    def another(self) -> FaultyDriver:
        return FaultyDriver(FakeCloudflare(), api=self.api)
