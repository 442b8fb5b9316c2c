"""An adapter goes into an account once: again, after a break, and beside others of its name."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from sluiceway.catalog.lora_bases import MAX_ADAPTERS
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.lora import CONFIG, WEIGHTS, Adapter, check_adapter
from sluiceway.pipeline.lora.publish import WAITS, Published, adapter_name, digest_of, publish
from tests.unit.pipeline.lora.account import FakeAccount
from tests.unit.pipeline.lora.tiny import GEMMA, MISTRAL, settings, weights, write


@pytest.fixture
def adapter(tmp_path: Path) -> Adapter:
    return check_adapter(write(tmp_path / "a", settings(layers_to_transform=0), weights(layers=[0])), GEMMA)


def other(folder: Path) -> Adapter:
    return check_adapter(write(folder, settings(layers_to_transform=1), weights(layers=[1])), GEMMA)


def send(account: FakeAccount, adapter: Adapter, slept: list[float] | None = None) -> Published:
    return publish(account, adapter, "tone-1", lambda _: None, (slept if slept is not None else []).append)


def test_what_was_checked_is_what_is_sent_and_a_run_shows_that_it_answers(adapter: Adapter) -> None:
    account, told = FakeAccount(), list[int]()
    done = publish(account, adapter, "tone-1", told.append, list[float]().append)
    assert done == Published("id-0", "tone-1", (CONFIG, WEIGHTS))
    assert account.log == ["create tone-1", f"upload {CONFIG}", f"upload {WEIGHTS}", "run"]
    assert json.loads(account.files["id-0"][CONFIG])["model_type"] == "gemma"
    for file in adapter.files:
        assert sha256(account.files["id-0"][file.name]).hexdigest() == file.sha256
    assert sum(told) == adapter.bytes
    assert digest_of(account.made[0]) == adapter.digest


def test_the_same_adapter_again_sends_nothing(adapter: Adapter) -> None:
    account = FakeAccount()
    send(account, adapter)
    account.log.clear()
    assert send(account, adapter) == Published("id-0", "tone-1", ())
    assert account.log == ["run"]


def test_other_files_under_the_name_are_refused_before_anything_is_sent(adapter: Adapter, tmp_path: Path) -> None:
    account = FakeAccount()
    send(account, adapter)
    account.log.clear()
    with pytest.raises(UserError, match="other files have this name") as caught:
        send(account, other(tmp_path / "b"))
    assert "another --name" in str(caught.value.hint)
    assert account.log == []


def test_a_name_that_another_base_or_other_means_took_is_refused(adapter: Adapter) -> None:
    account = FakeAccount()
    account.create("tone-1", MISTRAL.id, f"by sluiceway, sha256:{adapter.digest}")
    with pytest.raises(UserError, match=f"an adapter for {MISTRAL.id} has this name"):
        send(account, adapter)
    account = FakeAccount()
    account.create("tone-1", GEMMA.id, "")
    with pytest.raises(UserError, match="uploaded by other means"):
        send(account, adapter)
    assert account.log == ["create tone-1"]


@pytest.mark.parametrize("dies_at", [1, 2])
def test_an_upload_that_broke_off_is_completed_by_the_next_run(dies_at: int, adapter: Adapter) -> None:
    account = FakeAccount(dies_at=dies_at)
    with pytest.raises(SluicewayError, match="did not answer"):
        send(account, adapter)
    assert len(account.files["id-0"]) == dies_at - 1
    assert send(account, adapter).sent == (CONFIG, WEIGHTS)
    assert len(account.made) == 1
    assert {name: sha256(data).hexdigest() for name, data in account.files["id-0"].items()} == {
        file.name: file.sha256 for file in adapter.files
    }
    assert send(account, adapter).sent == ()


def test_a_refusal_of_the_files_is_told_and_not_the_silence_after_it(adapter: Adapter) -> None:
    account = FakeAccount(refuses="r must be from 1 to 8")
    with pytest.raises(UserError, match="r must be from 1 to 8"):
        send(account, adapter)
    slept: list[float] = []
    with pytest.raises(UserError, match="r must be from 1 to 8"):
        send(account, adapter, slept)
    assert slept == list(WAITS[:2])


def test_what_is_not_everywhere_at_once_is_waited_for_and_not_for_ever(adapter: Adapter) -> None:
    slept: list[float] = []
    assert send(FakeAccount(lag=3), adapter, slept).sent
    assert slept == list(WAITS[:3])
    with pytest.raises(SluicewayError, match=f"uploaded, but {GEMMA.id} doesn't answer with it: it isn't found"):
        send(FakeAccount(lag=10**6), adapter)


def test_a_full_account_is_told_before_anything_is_made(adapter: Adapter) -> None:
    account = FakeAccount()
    for number in range(MAX_ADAPTERS):
        account.create(f"other-{number}", GEMMA.id, "")
    with pytest.raises(UserError, match="an account has at most 100 adapters"):
        send(account, adapter)
    assert len(account.made) == MAX_ADAPTERS


@pytest.mark.parametrize("name", ["", "a b", "cf-public-mine", "ü", "a" * 101])
def test_a_name_that_can_not_be_given_is_refused(name: str) -> None:
    with pytest.raises(UserError) as caught:
        adapter_name(name)
    assert caught.value.path == "--name"
