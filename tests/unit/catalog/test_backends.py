"""What a version may say of the server that answers for it, and what is known of the models that Workers AI serves."""

from __future__ import annotations

import re

import pytest

from sluiceway import catalog
from sluiceway.catalog.workers_ai import MODELS
from sluiceway.domain.base_url import check_base_url
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import ModelVersion, Price
from sluiceway.errors import UserError
from sluiceway.local.ai import models as local_models
from tests.unit.catalog.conftest import Models

FAR = "version: chat@1, backend: openai, id: kimi"
GLM = 'version: chat@1, backend: workers-ai, id: "@cf/zai-org/glm-4.7-flash"'


def version(models: Models, fields: str, *, task: str = "chat") -> ModelVersion:
    text = f"task: {task}\nversions: [{{{fields}}}]\n"
    return catalog.load(models({"chat.yaml": text})).models[0].versions[0]


def fault(models: Models, text: str, **others: str) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        catalog.load(models({"chat.yaml": text, **{f"{name}.yaml": other for name, other in others.items()}}))
    return str(caught.value).removeprefix("models/chat.yaml: "), caught.value.hint


def test_an_openai_version_says_where_its_server_is_and_what_opens_it(models: Models) -> None:
    stated = 'base_url: "https://Up.test:8443/v1/", secret: UP_KEY, provider: custom-up/v1, vision: true, guided: true'
    found = version(models, f"{FAR}, {stated}, context_window: 32768, price: {{input: 1, cached: 0.5, output: 2}}")
    assert (found.base_url, found.secret, found.provider) == ("https://Up.test:8443/v1", "UP_KEY", "custom-up/v1")
    assert (found.context_window, found.price, found.vision) == (32_768, Price(1, 2, 0.5), True)
    assert found.guided


def test_what_nobody_states_is_unknown(models: Models) -> None:
    found = version(models, f"{FAR}, provider: openai")
    assert (found.base_url, found.secret, found.context_window, found.price, found.vision) == (None,) * 4 + (False,)
    assert not found.guided


def test_only_a_server_of_ones_own_may_be_sent_grammars(models: Models) -> None:
    workers_ai = 'version: chat@1, backend: workers-ai, id: "@cf/zai-org/glm-4.7-flash", guided: true'
    told, hint = fault(models, f"task: chat\nversions: [{{{workers_ai}}}]\n")
    assert told.startswith("versions[0].guided: ")
    assert told.endswith("has no guided")
    assert hint == "take guided out, or write backend: openai"


@pytest.mark.parametrize(
    "url",
    ["https://up.test", "https://10.0.0.7:8000/v1", "https://[fd00::1]/v1", "http://localhost:11434/v1",
     "http://127.0.0.1:8788/client/v4/accounts/a/ai/v1", "http://127.1.2.3", "http://[::1]:8000/v1"],
)  # fmt: skip
def test_a_server_is_asked_over_https_or_on_loopback(url: str) -> None:
    assert check_base_url(f"{url}//") == check_base_url(url) == url


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("http://up.test/v1", "over http, prompts and keys travel in clear", "write https://up.test/v1, and give"),
        ("http://10.0.0.7/v1", "over http, prompts and keys travel in clear", "write https://10.0.0.7/v1, and give"),
        ("http://localhost.evil.test", "over http, ", "write https://localhost.evil.test"),
        ("http://127.0.0.1.evil.test", "over http, ", "write https://127.0.0.1.evil.test"),
        ("https://up.test/v1/chat/completions", "the endpoint's own path is added", "write https://up.test/v1"),
        ("https://up.test/v1/embeddings/", "the endpoint's own path is added", "write https://up.test/v1"),
        *[
            (url, "a base URL is https://, a host, and the path", "write it like https://")
            for url in ("up.test/v1", "ftp://up.test", "https://", "https:///v1", "https://up.test:0", "https://a:b",
                        "https://up.test:99999", "https://[::1", "https://up .test", "https://up.test/\n", "",
                        "https:x", "https://模型.test", "file:///etc/passwd", "https://-up.test")
        ],
    ],
)  # fmt: skip
def test_another_base_url_is_refused(url: str, message: str, hint: str) -> None:
    with pytest.raises(Fault, match=f"^{re.escape(message)}") as caught:
        check_base_url(url)
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    "url", ["https://k:S3CR-7f2a@up.test/v1", "https://S3CR-7f2a@up.test", "https://up.test/v1?key=S3CR-7f2a",
            "https://up.test/#S3CR-7f2a", "http://:S3CR-7f2a@10.0.0.7/?", "https://u:S3CR-7f2a@up .test"],
)  # fmt: skip
def test_pu_07_a_base_url_with_a_credential_is_refused_without_showing_it(models: Models, url: str) -> None:
    message, hint = fault(models, f"task: chat\nversions: [{{{FAR}, base_url: '{url}'}}]\n")
    assert message.startswith("versions[0].base_url: a base URL ")
    assert "S3CR" not in message + str(hint)


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        (FAR, "base_url: an openai version says where its server is", "add base_url: with what"),
        (f"{FAR.partition(', id')[0]}, provider: a", "id: an openai version needs the id of its model", "add id: with"),
        (f"{FAR}, provider: Openai", "provider: a provider is its name in AI Gateway", "write it like openai"),
        (f"{FAR}, provider: a/../b", "provider: a provider is its name in AI Gateway", "write it like openai"),
        (f"{FAR}, provider: a, secret: API_KEY", "secret: this secret opens the stage itself", "name a secret of the"),
        (f"{FAR}, provider: a, secret: ADMIN_KEY", "secret: this secret opens the stage itself", "name a secret of"),
        (f"{FAR}, provider: a, secret: up-key", "secret: a secret's name is capitals", "write it as the Worker reads"),
        (f"{GLM}, secret: UP_KEY", "secret: a workers-ai version has no secret", "take secret out, or write backend:"),
        (f"{GLM}, base_url: 'https://a.test'", "base_url: a workers-ai version has no base_url", "take base_url out"),
        (f"{GLM}, provider: a", "provider: a workers-ai version has no provider", "take provider out"),
        (f"{GLM}, price: {{input: 1}}", "price.output: a chat model's answers have a price too", "add output: the"),
        (f"{GLM}, price: {{input: -1, output: 1}}", "price.input: must be at least 0, got -1", "write a number from 0"),
        (f"{GLM}, context_window: 0", "context_window: must be at least 1, got 0", "write a whole number from 1"),
    ],
)
def test_a_version_states_what_its_backend_has(models: Models, fields: str, message: str, hint: str) -> None:
    told, advice = fault(models, f"task: chat\nversions: [{{{fields}}}]\n")
    assert told.startswith(f"versions[0].{message}")
    assert str(advice).startswith(hint)


def test_an_embedding_model_has_no_price_of_answers_and_sees_nothing(models: Models) -> None:
    bge = 'version: chat@1, backend: workers-ai, id: "@cf/baai/bge-m3"'
    assert version(models, f"{bge}, price: {{input: 3}}", task="embed").price == Price(3, 0)
    assert fault(models, f"task: embed\nversions: [{{{bge}, vision: true}}]\n")[0] == (
        "versions[0].vision: only a chat model sees pictures"
    )


def test_what_is_published_of_a_model_needs_no_statement_and_yields_to_one(models: Models) -> None:
    kimi = 'version: chat@1, backend: workers-ai, id: "@cf/moonshotai/kimi-k2.6"'
    found = version(models, kimi)
    assert (found.price, found.context_window, found.vision) == (Price(0.95, 4.0, 0.16), 262_144, True)
    stated = version(models, f"{kimi}, price: {{input: 0, output: 0}}, context_window: 1000, vision: false")
    assert (stated.price, stated.context_window, stated.vision) == (Price(0, 0), 1_000, False)


def test_the_table_agrees_with_what_the_local_stage_answers_as() -> None:
    for name, known in MODELS.items():
        local = local_models.MODELS[name]
        assert known.context_window in (None, local.context), name
        assert known.vision == (local.parts == "vision"), name
        if known.price is not None:
            price = (known.price.input, known.price.output, known.price.cached)
            assert price == (local.price_in, local.price_out, local.price_cached), name


SMALL = f"task: chat\nversions: [{{{GLM.replace('chat@', 'small@')}}}]\n"
CHAT = f"task: chat\nfallback: [%s]\nversions: [{{{GLM}}}, {{{GLM.replace('chat@1', 'chat@2')}}}]\n"


def test_who_stands_in_for_a_model_is_a_model_or_a_version(models: Models) -> None:
    found = catalog.load(models({"chat.yaml": CHAT % "small, small@1, chat@1", "small.yaml": SMALL})).models
    assert found[0].fallback == ("small", "small@1", "chat@1")


@pytest.mark.parametrize(
    ("names", "message", "hint"),
    [
        ("smal", "there is no model 'smal'", "did you mean small? known models: chat, small, vectors"),
        ("small@2", "there is no model version small@2", "known versions: small@1; new ones are added in"),
        ("chat", "a model can't stand in for itself, got 'chat'", "name another model, or one version of this one"),
        ("vectors", "this model's task is embed, not chat, got 'vectors'", "name a model of the task chat"),
        ("Small", "a model's name is 1 to 48 lower-case letters", "write it like chat"),
        ("small@0", "a model version is written like chat@3, got 'small@0'", "write the model's name, an @"),
    ],
)
def test_nobody_else_stands_in(models: Models, names: str, message: str, hint: str) -> None:
    vectors = 'task: embed\nversions: [{version: vectors@1, backend: workers-ai, id: "@cf/baai/bge-m3"}]\n'
    told, advice = fault(models, CHAT % names, small=SMALL, vectors=vectors)
    assert told.startswith(f"fallback[0]: {message}")
    assert str(advice).startswith(hint)
