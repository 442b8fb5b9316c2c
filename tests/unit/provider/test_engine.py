"""The stand-in under the real engine: one stack, taken through its life in order."""

from __future__ import annotations

import base64
import re
import subprocess
import sys

import pytest

from tests.unit.provider.engine_runs import Program
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.samples import CANARY

Served = tuple[FakeCloudflare, str]
RESOURCES = 15
"""Resources of the sample program, the stack's own among them."""


@pytest.mark.long
def test_life_of_a_stack(program: Program, served: Served) -> None:
    fake, _ = served
    _pu_02_preview_of_an_empty_stack_shows_what_is_unknown_and_writes_nothing(program, fake)
    assert program.up().steps == {"created": RESOURCES}
    _tf_01_nothing_changes_after_a_refresh_and_with_bindings_in_another_order(program, fake)
    _pu_07_no_secret_in_state(program)
    _deletion_and_drift_are_found(program, fake)
    _what_was_found_is_put_right_and_what_was_made_by_hand_imported(program, fake)
    _a_failing_up_names_the_call_and_hides_the_secret(program)
    program.destroy()
    left = {name: table for name, table in fake.tables.items() if table and name not in _KEPT}
    assert left == {}


_KEPT = {"versions", "deployments", "crons", "subdomains", "lifecycles"}
"""What the official provider deletes by no call, or by setting it back."""


def _pu_02_preview_of_an_empty_stack_shows_what_is_unknown_and_writes_nothing(
    program: Program, fake: FakeCloudflare
) -> None:
    preview = program.preview()
    assert preview.steps == {"to create": RESOURCES}
    assert re.search(r"link\s*: \[unknown\]", preview.text)
    assert fake.writes() == []


def _tf_01_nothing_changes_after_a_refresh_and_with_bindings_in_another_order(
    program: Program, fake: FakeCloudflare
) -> None:
    fake.calls.clear()
    assert program.refresh().steps == {"unchanged": RESOURCES}
    assert fake.writes() == []
    fake.calls.clear()
    assert program.preview({"SAMPLE": "reorder"}).steps == {"unchanged": RESOURCES}
    assert fake.calls == [], "a preview without changes makes no call"


def _pu_07_no_secret_in_state(program: Program) -> None:
    written = program.written()
    assert CANARY not in written
    assert base64.b64encode(CANARY.encode()).decode().rstrip("=") not in written
    assert program.env["CLOUDFLARE_API_TOKEN"] not in written
    (version,) = [item for item in program.state() if item["type"].endswith(":WorkerVersion")]
    names = [binding["name"] for binding in version["outputs"]["bindings"]]
    assert names[0] == "Z_KV", "only the text is secret, not the list"


def _deletion_and_drift_are_found(program: Program, fake: FakeCloudflare) -> None:
    fake.table("routes").clear()
    (queue,) = fake.table("queues").values()
    queue["settings"] = {"delivery_delay": 30}
    assert program.refresh().steps == {"deleted": 1, "updated": 1, "unchanged": RESOURCES - 2}


def _what_was_found_is_put_right_and_what_was_made_by_hand_imported(program: Program, fake: FakeCloudflare) -> None:
    (queue,) = fake.table("queues").values()
    fake.table("queues")["q-by-hand"] = {"queue_id": "q-by-hand", "queue_name": "by-hand", "settings": {}}
    outcome = program.up({"SAMPLE": "import", "SAMPLE_QUEUE": "q-by-hand"})
    assert outcome.steps == {"created": 1, "updated": 1, "imported": 1, "unchanged": RESOURCES - 2}
    assert fake.table("queues")[queue["queue_id"]]["settings"] == {"delivery_delay": 0}
    (adopted,) = [item for item in program.state() if item["urn"].endswith("::adopted")]
    assert (adopted["id"], adopted["outputs"]["queueName"]) == ("q-by-hand", "by-hand")


def _a_failing_up_names_the_call_and_hides_the_secret(program: Program) -> None:
    words = ("up", "-s", "local", "--yes", "--skip-preview", "--suppress-progress")
    outcome = program.run(*words, check=False, env={"SAMPLE": "boom"})
    assert outcome.code != 0
    assert re.search(r"WorkerVersion 'version': POST /accounts/\S+/workers/workers/\S+/versions failed", outcome.text)
    assert "error 10021" in outcome.text
    assert "hint: Cloudflare ran the Worker's code" in outcome.text
    assert "Traceback" not in outcome.text
    assert 'File "' not in outcome.text
    assert CANARY not in outcome.text + program.written()


@pytest.mark.parametrize("plugin", ["cloudflare_plugin", "sluiceway_plugin"])
def test_plugin_starts_without_the_heavy_libraries(plugin: str) -> None:
    """Each plugin starts at every pulumi command: what only some calls need is imported by these."""
    code = (
        f"import sys, sluiceway.engine.provider.{plugin}; "
        "print(*[name for name in ('boto3', 'botocore', 'httpx', 'pulumi_cloudflare') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
