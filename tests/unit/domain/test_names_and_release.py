from __future__ import annotations

from collections.abc import Callable

import pytest

from sluiceway.domain.fault import Fault
from sluiceway.domain.model import ModelRef, check_model_name, parse_ref
from sluiceway.domain.release import Json, canonical, digest, release_id
from sluiceway.domain.stage import Stage, in_order, nearest


@pytest.mark.parametrize("text", ["chat@1", "chat-eu@12", "a@999999"])
def test_a_model_version_is_read_and_written_alike(text: str) -> None:
    assert str(parse_ref(text)) == text


def test_model_versions_sort_by_number_not_by_letter() -> None:
    assert sorted([parse_ref("chat@10"), parse_ref("chat@9")]) == [ModelRef("chat", 9), ModelRef("chat", 10)]


@pytest.mark.parametrize(
    "text",
    ["chat", "chat@", "chat@0", "chat@01", "chat@-1", "@1", "Chat@1", "chat@1 ", "chat@1\n", "chat@１", "模型@1"],
)
def test_what_is_no_model_version_is_refused(text: str) -> None:
    with pytest.raises(Fault) as caught:
        parse_ref(text)
    assert (caught.value.message, caught.value.got) == ("a model version is written like chat@3", text)


@pytest.mark.parametrize("make", [Stage, check_model_name])
@pytest.mark.parametrize("name", ["", "Dev", "1st", "-a", "a-", "a_b", "a" * 49, "dev\n", "日"])
def test_names_that_could_not_be_part_of_a_resource_name_are_refused(make: Callable[[str], object], name: str) -> None:
    with pytest.raises(Fault):
        make(name)


def test_stages_are_listed_from_the_nearest_outwards() -> None:
    assert in_order(["production", "zoo", "local", "canary", "dev"]) == ("local", "dev", "production", "canary", "zoo")


def test_the_nearest_word_is_found_only_when_it_is_near() -> None:
    assert nearest("stagng", ("local", "staging")) == "staging"
    assert nearest("xyz", ("local", "staging")) is None


def test_the_canonical_text_is_the_same_for_the_same_meaning() -> None:
    assert canonical({"b": 1, "a": ["模型", None, 0.5]}) == '{"a":["模型",null,0.5],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": [1, 2]}) != digest({"a": [2, 1]})


def test_a_release_is_named_by_the_head_of_its_digest() -> None:
    document: dict[str, Json] = {"bundle": "0" * 64, "models": {}}
    assert release_id(document) == f"r-{digest(document)[:12]}"
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_a_number_that_json_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical({"a": float("nan")})
