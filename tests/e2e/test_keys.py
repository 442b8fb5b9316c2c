"""Keys of callers on a stage that is up: made by the command, used by the official client, gone in two seconds."""

from __future__ import annotations

import json
import time

import httpx
import openai
import pytest

from tests.e2e.conftest import Served


def ask(served: Served, key: str) -> str:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=0) as client:
        answer = client.chat.completions.create(model="chat@1", messages=[{"role": "user", "content": "#count 2"}])
        return answer.choices[0].message.content or ""


def make(served: Served, name: str, *more: str) -> str:
    made = served.checkout.sluiceway("keys", "create", "local", name, *more)
    assert made.code == 0, made.err
    assert made.out.startswith("sk-slw-") and made.out.strip() not in made.err
    return made.out.strip()


def test_a_key_works_from_its_making_until_two_seconds_after_its_end(served: Served) -> None:
    key = make(served, "e2e-app", "--model", "chat")
    assert ask(served, key)
    listed = served.checkout.sluiceway("keys", "list", "local", "--json")
    (found,) = [one for one in json.loads(listed.out) if one["name"] == "e2e-app"]
    assert found["models"] == ["chat"]
    assert key[-43:] not in listed.out
    revoked = served.checkout.sluiceway("keys", "revoke", "local", "e2e-app")
    assert revoked.code == 0, revoked.err
    time.sleep(2)
    with pytest.raises(openai.AuthenticationError) as caught:
        ask(served, key)
    assert caught.value.code == "invalid_api_key"


def test_a_rotated_key_leaves_its_callers_time(served: Served) -> None:
    old = make(served, "e2e-rotated")
    rotated = served.checkout.sluiceway("keys", "rotate", "local", "e2e-rotated", "--grace", "1h")
    assert rotated.code == 0, rotated.err
    for key in (old, rotated.out.strip()):
        assert ask(served, key)


def test_a_key_keeps_to_its_models(served: Served) -> None:
    key = make(served, "e2e-limited", "--model", "intent")
    with pytest.raises(openai.PermissionDeniedError) as caught:
        ask(served, key)
    assert caught.value.code == "model_not_allowed"


def test_a_mistake_is_told_as_the_house_tells_it(served: Served) -> None:
    done = served.checkout.sluiceway("keys", "create", "local", "e2e-typo", "--model", "chatt")
    assert done.code == 2
    assert done.err.startswith("error: models[0]: ")
    assert "hint: " in done.err
    told = served.checkout.sluiceway("keys", "revoke", "local", "nobody", "--json")
    assert (told.code, json.loads(told.out)["error"]) == (2, "no such key")


def test_callers_credentials_open_no_admin_endpoint(served: Served) -> None:
    for key in (served.key, make(served, "e2e-caller"), "x"):
        answer = httpx.get(f"{served.url}/_sluiceway/keys", headers={"authorization": f"Bearer {key}"}, trust_env=False)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "invalid_admin_key"


def test_the_admin_key_is_its_owners_alone_and_in_no_output_or_log(served: Served) -> None:
    local = served.checkout.root / ".sluiceway/local"
    file = local / "admin-key"
    assert file.stat().st_mode & 0o077 == 0
    key = file.read_text().strip()
    assert key != served.key
    logs = "".join(path.read_text(errors="replace") for path in (local / "logs").glob("*"))
    assert key not in served.up.out + served.up.err + logs
