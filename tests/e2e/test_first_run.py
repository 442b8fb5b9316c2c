"""From nothing to a URL, and again without a change: what a newcomer does first."""

from __future__ import annotations

import base64
import json
import re

import pytest

from tests.e2e.checkout import ROOT, Checkout
from tests.e2e.conftest import Served


def curl_line(text: str) -> str:
    (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith("curl ")]
    return line


def test_up_ends_with_a_url_and_a_curl_line_that_works_as_printed(served: Served) -> None:
    assert served.url in served.up.out
    answer = served.checkout.run("sh", "-euc", curl_line(served.up.out))
    assert answer.code == 0, answer.err
    message = json.loads(answer.out)["choices"][0]["message"]
    assert message["role"] == "assistant"
    assert "scripted" in message["content"], "a stand-in says that it is one"


def test_a_second_up_changes_nothing(served: Served) -> None:
    again = served.checkout.sluiceway("up", "local")
    assert again.code == 0, again.err
    counted = again.err.strip().splitlines()[-1]
    assert re.fullmatch(r"0 changes, \d{2} unchanged, in .+", counted), again.err
    assert not re.search(r"created|updated|replaced|deleted", again.err)


@pytest.mark.long
def test_plain_pulumi_sees_no_change_also_after_a_refresh(served: Served) -> None:
    preview = "pulumi preview -s local --expect-no-changes --non-interactive"
    for script in (preview, f"pulumi refresh -s local --yes --non-interactive && {preview}"):
        done = served.checkout.shell(script)
        assert done.code == 0, done.out + done.err


@pytest.mark.long
def test_tf_01_tf_02_bindings_in_another_order_and_templates_in_crlf_with_empty_lines_are_no_change(
    served: Served,
) -> None:
    program = served.checkout.root / "infra" / "__main__.py"
    text = program.read_text()
    templates = {file: file.read_bytes() for file in (served.checkout.root / "templates").iterdir()}
    for file, content in templates.items():
        file.write_bytes(content.replace(b"\n", b"\r\n") + b"\r\n\r\n")
    reordering = (
        "import dataclasses\n"
        "def plan(*known, _plan=plan):\n"
        "    made = _plan(*known)\n"
        "    assert len(made.bindings) > 5\n"
        "    return dataclasses.replace(made, bindings=tuple(reversed(made.bindings)))\n\n"
    )
    assert "def main()" in text
    program.write_text(text.replace("def main()", f"{reordering}def main()"))
    try:
        done = served.checkout.shell("pulumi preview -s local --expect-no-changes --non-interactive")
    finally:
        program.write_text(text)
        for file, content in templates.items():
            file.write_bytes(content)
    assert done.code == 0, done.out + done.err


def test_pu_07_no_secret_is_in_the_exported_state_nor_in_what_was_written(served: Served) -> None:
    token = (served.checkout.root / ".sluiceway/local/token").read_text().strip()
    exported = served.checkout.shell("pulumi stack export -s local")
    assert json.loads(exported.out)["deployment"]["resources"]
    written = [
        path for folder in ("build", "state") for path in (served.checkout.root / ".sluiceway" / folder).rglob("*")
    ]
    texts = [
        exported.out,
        served.up.out,
        served.up.err,
        *(path.read_text("utf-8") for path in written if path.is_file()),
    ]
    assert len(texts) > 8
    for secret in (served.key, token):
        shapes = (secret, base64.b64encode(secret.encode()).decode())
        assert [shape for text in texts for shape in shapes if shape in text] == []


def test_up_leaves_the_committed_files_as_they_are(served: Served) -> None:
    folders = ("stacks", "models", "infra", "templates")
    assert source_files(served.checkout, *folders) == source_files(Checkout(ROOT), *folders)


def source_files(checkout: Checkout, *folders: str) -> dict[str, str]:
    found = checkout.fingerprint(*folders)
    return {path: digest for path, digest in found.items() if "__pycache__" not in path}
