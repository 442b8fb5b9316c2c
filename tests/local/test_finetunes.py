"""Adapters published to the local stage by the client that publishes them to Cloudflare: the API and the models of one
account on a real port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from sluiceway.cloudflare.finetunes import Finetunes
from sluiceway.cloudflare.worker_api import sdk
from sluiceway.errors import SluicewayError, UserError
from sluiceway.local.ai import app as ai
from sluiceway.local.ai.calls import CallLog
from sluiceway.local.ai.scripted import ScriptedEngine
from sluiceway.local.ai.sink import EventSink
from sluiceway.local.ai.stage import AiStage
from sluiceway.local.api import ai_finetunes
from sluiceway.local.api.app import ApiConfig, Control, routes
from sluiceway.local.api.host_client import HostClient
from sluiceway.local.runtime_file import ACCOUNT_ID
from sluiceway.local.store import Store
from sluiceway.pipeline.lora import CONFIG, WEIGHTS, Adapter, check_adapter
from sluiceway.pipeline.lora.publish import publish
from tests.local.api.conftest import TOKEN
from tests.local.api.fake_host import FakeHost
from tests.unit.pipeline.lora.tiny import GEMMA, write


@dataclass
class Account:
    """``url``: where its API is, without the account."""

    url: str
    finetunes: Finetunes
    store: Store

    def says(self, lora: str) -> httpx.Response:
        body = {"messages": [{"role": "user", "content": "hi"}], "lora": lora}
        headers = {"authorization": f"Bearer {TOKEN}"}
        return httpx.post(f"{self.url}/accounts/{ACCOUNT_ID}/ai/run/{GEMMA.id}", json=body, headers=headers)


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    store = Store.open(tmp_path / "state.sqlite")
    control = Control(store, HostClient("http://host", "t", transport=FakeHost()), ApiConfig(TOKEN, tmp_path / "m"))
    stage = AiStage(
        token=TOKEN, account_id=ACCOUNT_ID, secret="s", engine=ScriptedEngine(token_delay=0.0), calls=CallLog(),
        sink=EventSink(lambda _: None), base_url="", finetune=lambda named: ai_finetunes.find(store.committed, named),
    )  # fmt: skip
    app = Starlette(routes=[*ai.routes(stage), *routes(control)])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/client/v4"
    try:
        with sdk(TOKEN, url) as client:
            yield Account(url, Finetunes(client, ACCOUNT_ID), store)
    finally:
        server.should_exit = True
        thread.join()
        store.close()


@pytest.fixture
def adapter(tmp_path: Path) -> Adapter:
    return check_adapter(write(tmp_path / "adapter"), GEMMA)


def send(account: Account, adapter: Adapter, name: str = "tone-1") -> tuple[str, ...]:
    def never(_seconds: float) -> None:
        raise AssertionError("a stage on this machine knows at once what it has")

    return publish(account.finetunes, adapter, name, lambda _: None, never).sent


def test_an_adapter_is_published_once_and_the_model_answers_with_it(account: Account, adapter: Adapter) -> None:
    assert account.says("tone-1").json()["errors"][0]["code"] == 3037
    assert send(account, adapter) == (CONFIG, WEIGHTS)
    assert send(account, adapter) == ()
    (kept,) = account.finetunes.all()
    assert (kept.name, kept.model) == ("tone-1", GEMMA.id)
    stored = ai_finetunes.find(account.store.committed, "tone-1")
    assert stored is not None
    assert {name: each["sha256"] for name, each in stored["assets"].items()} == {
        file.name: file.sha256 for file in adapter.files
    }
    said = account.says("tone-1").json()["result"]["response"]
    assert said.startswith("[scripted gemma-2b-it-lora + tone-1] ")


@pytest.mark.parametrize("there", [(), (CONFIG,), (WEIGHTS,)])
def test_what_a_killed_upload_left_is_completed(there: tuple[str, ...], account: Account, adapter: Adapter) -> None:
    id = account.finetunes.create("tone-1", GEMMA.id, f"by sluiceway, sha256:{adapter.digest}")
    sent = {CONFIG: adapter.config, WEIGHTS: adapter.weights.read_bytes()}
    for name in there:
        path = f"{account.url}/accounts/{ACCOUNT_ID}/ai/finetunes/{id}/finetune-assets"
        headers = {"authorization": f"Bearer {TOKEN}"}
        httpx.post(path, data={"file_name": name}, files={"file": sent[name]}, headers=headers).raise_for_status()
    assert account.says("tone-1").json()["errors"][0]["code"] == 3039
    send(account, adapter)
    assert account.says("tone-1").status_code == 200
    assert len(account.finetunes.all()) == 1


def test_a_refusal_is_told_in_cloudflares_words(account: Account) -> None:
    with pytest.raises(UserError, match=r"Cloudflare refused: MODEL_NOT_SUPPORTED: @cf/zai-org/glm-5\.2 \(7020\)"):
        account.finetunes.create("tone-1", "@cf/zai-org/glm-5.2", "")
    with pytest.raises(UserError, match=r"Cloudflare refused: .* does not support LoRA inference .*\(5005\)"):
        account.finetunes.answers("@cf/zai-org/glm-4.7-flash", "tone-1")


def test_a_wrong_token_and_a_place_where_nobody_answers_are_told(account: Account) -> None:
    with sdk("another-token", account.url) as client, pytest.raises(UserError) as caught:
        Finetunes(client, ACCOUNT_ID).all()
    assert "`Workers AI: Edit`" in str(caught.value.hint)
    assert "another-token" not in str(caught.value)
    with sdk(TOKEN, "http://127.0.0.1:9/client/v4") as client, pytest.raises(SluicewayError) as silent:
        Finetunes(client, ACCOUNT_ID).all()
    assert "did not answer" in str(silent.value)
