"""One Starlette app out of the Cloudflare API and Workers AI, and what both need from the host."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from sluiceway.errors import UserError
from sluiceway.local.ai import app as ai
from sluiceway.local.ai.calls import CallLog
from sluiceway.local.ai.engine import Engine
from sluiceway.local.ai.limits import RateLimiter
from sluiceway.local.ai.remote import RemoteEngine
from sluiceway.local.ai.scripted import ScriptedEngine
from sluiceway.local.ai.sink import EventSink
from sluiceway.local.ai.stage import AiStage
from sluiceway.local.api import ai_finetunes
from sluiceway.local.api.app import ApiConfig, Control
from sluiceway.local.api.app import routes as api_routes
from sluiceway.local.api.errors import HostError, HostRejected
from sluiceway.local.api.host_client import HostClient
from sluiceway.local.daemon_access import AccessLog
from sluiceway.local.daemon_logs import RotatingLines
from sluiceway.local.faults import routes as fault_routes
from sluiceway.local.runtime_file import ACCOUNT_ID
from sluiceway.local.store import Store

log = logging.getLogger("sluiceway.local")


class StageApp:
    """``asgi`` is served; ``secret`` guards the paths that only workerd calls."""

    def __init__(
        self, *, data: Path, token: str, api_url: str, front_url: str, secret: str, ai_url: str | None
    ) -> None:
        self._data = data.resolve()
        self._token = token
        self._api_url = api_url
        self._secret = secret
        self._store = Store.open(self._data / "state.sqlite")
        self._host = HostClient("http://127.0.0.1:9", "")  # nothing listens there: retargeted once the host is ready
        self._worker_lines = RotatingLines(self._data / "logs" / "workers.log")
        self._http = httpx.AsyncClient(timeout=httpx.Timeout(600.0, connect=10.0), trust_env=False)
        sink = EventSink(self._worker_lines.write)
        self._ai = AiStage(
            account_id=ACCOUNT_ID,
            secret=secret,
            token=token,
            engine=_engine(ai_url, self._http),
            calls=CallLog(),
            sink=sink,
            base_url=api_url,
            limiter=_limiter(),
            gateway_exists=self._gateway_exists,
            finetune=lambda named: ai_finetunes.find(self._store.committed, named),
        )
        self._config = ApiConfig(
            token=token,
            modules=self._data / "data" / "modules",
            front_url=front_url,
        )
        self._control = Control(self._store, self._host, self._config)
        health = Route("/_local/health", _health, methods=["GET"])
        faults = self._ai.faults
        faults.changed = self._tell_faults
        asked = fault_routes.of_s3(faults, secret)
        routes = [health, asked, *ai.routes(self._ai), *api_routes(self._control, faults)]
        self.asgi: ASGIApp = AccessLog(Starlette(routes=routes))

    def host_config(self, front_port: int, admin_token: str, s3: Mapping[str, str]) -> dict[str, object]:
        """The line that the host reads on stdin."""
        data = self._data / "data"
        data.mkdir(parents=True, exist_ok=True)
        return {
            "data": str(data),
            "front_port": front_port,
            "admin_token": admin_token,
            "ai_url": f"{self._api_url}/_local/ai/{self._secret}",
            "sink_url": f"{self._api_url}/_local/sink/{self._secret}",
            "fault_url": f"{self._api_url}/_local/fault/{self._secret}",
            "s3": dict(s3),
            "default_host_suffix": "workers.dev",
        }

    async def host_ready(self, admin_url: str, admin_token: str) -> None:
        """Points the API at a host that has just started, and gives it the whole world."""
        self._host.retarget(admin_url, admin_token)
        await self._tell_faults()
        try:
            await self._control.sync()
        except HostRejected as error:
            # What was accepted once can't run any more (a file is gone, the runtime is another). Without the API
            # there would be no way to put it right, so the stage comes up with the Workers missing.
            log.error("the Workers of this stage can't run and have to be deployed again: %s", error.message)

    async def _tell_faults(self) -> None:
        try:
            await self._host.put_faults(s3=self._ai.faults.any_s3)
        except HostError as error:
            log.warning("the Workers host was not told of faults and will be when it is ready: %s", error)

    def _gateway_exists(self, name: str) -> bool:
        # Cloudflare makes the one called "default" by itself when it is first used.
        return name == "default" or self._store.committed.get("gateway", name) is not None

    async def close(self) -> None:
        await self._host.aclose()
        await self._http.aclose()
        self._store.close()
        self._worker_lines.close()


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"ok": True})


def _engine(url: str | None, client: httpx.AsyncClient) -> Engine:
    if url:
        key = os.environ.get("SLUICEWAY_LOCAL_AI_KEY")
        return RemoteEngine(url, client, key=key, model=os.environ.get("SLUICEWAY_LOCAL_AI_MODEL"))
    return ScriptedEngine(token_delay=_delay())


def _delay() -> float:
    """Seconds between the tokens of a stream."""
    setting = os.environ.get("SLUICEWAY_LOCAL_AI_DELAY_MS", "4")
    if not (setting.isascii() and setting.isdigit()):
        raise UserError(
            "must be a whole number of milliseconds",
            path="SLUICEWAY_LOCAL_AI_DELAY_MS",
            got=setting,
            hint="unset it for the usual 4, or write 0 for no delay",
        )
    return int(setting) / 1000


def _limiter() -> RateLimiter | None:
    setting = os.environ.get("SLUICEWAY_LOCAL_AI_RATE_LIMIT", "off")
    return None if setting in ("", "off") else RateLimiter.parse(setting)
