"""Documents are found in a log's lines and in what a program prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.observe.sources import local_documents, printed_documents, told_fault, wrangler_tail
from tests.unit.observe.made import document, line


def test_the_local_log_is_read_for_one_worker_and_over_a_line_that_was_cut() -> None:
    ours, other = document(line()), document(line(), script="other")
    metrics = {"kind": "analytics", "script": "gateway"}
    lines = [json.dumps(ours), json.dumps(other), json.dumps(metrics), json.dumps(ours)[:40], "", json.dumps(ours)]
    assert list(local_documents(lines, "gateway")) == [ours, ours]


@pytest.mark.parametrize("indent", [None, 2])
def test_documents_are_found_one_after_another_however_they_are_printed(indent: int | None) -> None:
    made = [document(line(id=f"req-{number}"), note="}\n{") for number in range(3)]
    text = "\n".join(["a warning", *(json.dumps(each, indent=indent) for each in made), "{ is no document", "}", ""])
    assert list(printed_documents(text.splitlines(keepends=True))) == made


def test_a_document_is_given_as_soon_as_it_is_whole() -> None:
    waiting = iter(json.dumps({"a": {"b": 1}}, indent=2).splitlines())
    assert next(printed_documents(waiting)) == {"a": {"b": 1}}


def tail_of(tmp_path: Path, program: str) -> list[object]:
    script = tmp_path / "wrangler.py"
    script.write_text(program)
    found = wrangler_tail("gateway", node=Path(sys.executable), script=script, cwd=tmp_path, env=dict(os.environ))
    return list(found)


def test_wrangler_is_asked_for_the_worker_and_its_documents_are_read(tmp_path: Path) -> None:
    program = "import json, sys\nprint(json.dumps({'asked': sys.argv[1:]}, indent=2))"
    assert tail_of(tmp_path, program) == [{"asked": ["tail", "gateway", "--format", "json"]}]


def test_wranglers_last_words_are_told_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(SluicewayError, match="Authentication error") as caught:
        tail_of(tmp_path, "import sys\nsys.exit('Authentication error [code: 10000]')")
    assert caught.value.hint


def test_the_first_error_is_told_and_not_what_wrangler_tries_after_it() -> None:
    said = [
        "a notice",
        "✘ [ERROR] A request failed.",
        "",
        "Authentication error",
        "",
        "✘ [ERROR] Another.",
        "at x.js:1",
    ]
    assert told_fault(said) == "A request failed. Authentication error"
    assert told_fault(["no such file"]) == "no such file"
    assert told_fault([]) == ""


def test_wrangler_is_ended_when_nobody_reads_any_more(tmp_path: Path) -> None:
    script = tmp_path / "wrangler.py"
    script.write_text("import time\nprint('{}', flush=True)\ntime.sleep(600)")
    started: list[subprocess.Popen[str]] = []
    found = wrangler_tail(
        "gateway", node=Path(sys.executable), script=script, cwd=tmp_path, env=dict(os.environ), started=started.append
    )
    assert next(found) == {}
    found.close()  # type: ignore[attr-defined]
    assert started[0].poll() is not None
