"""The version that answers with an adapter: its block, its number, its place in the file."""

from __future__ import annotations

import pytest

from sluiceway.domain.model import ModelRef
from sluiceway.errors import UserError
from sluiceway.pipeline.lora.version import added, block, choose
from sluiceway.pipeline.publish.stated import parse
from tests.unit.pipeline.lora.tiny import GEMMA

TEXT = """# what people talk to
task: chat
versions:
  - version: chat@1
    backend: workers-ai
    id: "@cf/zai-org/glm-4.7-flash"  # the first
  - version: chat@3
    backend: workers-ai
    id: "@cf/google/gemma-2b-it-lora"
    lora: tone-1
# the end
"""


def test_a_block_is_added_last_and_all_else_stays() -> None:
    written = added(TEXT, ModelRef("chat", 4), GEMMA.id, "tone-2")
    assert written.replace(block(ModelRef("chat", 4), GEMMA.id, "tone-2"), "") == TEXT
    last = parse(written, "chat")[-1]
    assert (last.ref, last.id, last.lora) == (ModelRef("chat", 4), GEMMA.id, "tone-2")
    first = added(None, ModelRef("tone", 1), GEMMA.id, "tone-1")
    assert [version.ref for version in parse(first, "tone")] == [ModelRef("tone", 1)]


def test_the_number_is_the_next_one_unless_a_version_answers_so_already() -> None:
    known = parse(TEXT, "chat")
    assert choose("chat", known, GEMMA.id, "tone-1", None) == (ModelRef("chat", 3), True)
    assert choose("chat", known, GEMMA.id, "tone-2", None) == (ModelRef("chat", 4), False)
    assert choose("chat", known, GEMMA.id, "tone-2", 9) == (ModelRef("chat", 9), False)
    assert choose("chat", known, GEMMA.id, "tone-1", 9) == (ModelRef("chat", 9), False)
    assert choose("new", (), GEMMA.id, "tone-1", None) == (ModelRef("new", 1), False)
    with pytest.raises(UserError, match="chat@3 is there, and a new version stands last") as caught:
        choose("chat", known, GEMMA.id, "tone-2", 2)
    assert caught.value.hint == "leave --version out, and it becomes chat@4"


def test_a_model_that_does_not_chat_gets_none() -> None:
    known = parse('task: embed\nversions: [{version: e@1, backend: workers-ai, id: "@cf/baai/bge-m3"}]\n', "e")
    with pytest.raises(UserError, match="the model's task is embed"):
        choose("e", known, GEMMA.id, "tone-1", None)
    with pytest.raises(UserError, match="chat@3 stands there already"):
        added(TEXT, ModelRef("chat", 3), GEMMA.id, "tone-2")
