"""Workers AI alone on a real server: the stage's routes in uvicorn on a port of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from sluiceway.local import daemon_stage
from sluiceway.local.ai import app
from sluiceway.local.ai.calls import CallLog
from sluiceway.local.ai.engine import Engine
from sluiceway.local.ai.scripted import ScriptedEngine
from sluiceway.local.ai.sink import EventSink
from sluiceway.local.ai.stage import AiStage
from sluiceway.local.connection import Connection
from sluiceway.local.runtime_file import ACCOUNT_ID

TOKEN = "token-of-the-test"
SECRET = "secret-of-the-test"
GLM = "@cf/zai-org/glm-4.7-flash"
KIMI = "@cf/moonshotai/kimi-k2.6"
LLAMA = "@cf/meta/llama-3.1-8b-instruct"


@dataclass
class Served:
    """``lines``: what the sink wrote. ``client`` carries the token."""

    stage: AiStage
    url: str
    client: httpx.Client
    lines: list[str]

    @property
    def ai(self) -> str:
        return f"{self.url}/client/v4/accounts/{ACCOUNT_ID}/ai"

    def run(self, model: str, body: dict[str, object]) -> httpx.Response:
        return self.client.post(f"{self.ai}/run/{model}", json=body)

    def completion(self, body: dict[str, object], model: str = GLM) -> httpx.Response:
        return self.client.post(f"{self.ai}/v1/chat/completions", json={"model": model, **body})


class QuietServer(uvicorn.Server):
    """Without signal handlers, which only a main thread may have."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def serving(engine: Engine, client: httpx.AsyncClient | None = None) -> Iterator[Served]:
    """``client`` is the engine's own and is closed in the loop that used it."""
    listener = daemon_stage.bind(0, "api")
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    lines: list[str] = []
    stage = AiStage(
        token=TOKEN,
        account_id=ACCOUNT_ID,
        secret=SECRET,
        engine=engine,
        calls=CallLog(),
        sink=EventSink(lines.append),
        base_url=url,
    )
    config = uvicorn.Config(
        Starlette(routes=app.routes(stage)),
        http=Connection,
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = QuietServer(config)

    async def serve() -> None:
        await server.serve(sockets=[listener])
        if client:
            await client.aclose()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        with httpx.Client(headers={"authorization": f"Bearer {TOKEN}"}, timeout=20) as caller:
            yield Served(stage, url, caller, lines)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(ScriptedEngine(token_delay=0.0)) as found:
        yield found
