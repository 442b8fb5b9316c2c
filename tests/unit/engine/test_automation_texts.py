"""What the engine's texts and events are taken for."""

from __future__ import annotations

import pytest
from pulumi.automation.events import EngineEvent

from sluiceway.engine.automation_errors import LockedError, failure, holders, is_locked
from sluiceway.engine.automation_events import Collector, Message, Step, plain
from sluiceway.errors import SluicewayError, UserError

DIY = (
    "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the "
    "lock file with `pulumi cancel`.\n  file:///x/.pulumi/locks/organization/p/dev/7.json: created by ann@box "
    "(pid 4242) at 2026-11-30T13:00:00Z"
)
CLOUD = "error: [409] Conflict: Another update is currently in progress.\nTo learn more ..."


@pytest.mark.parametrize("text", [DIY, CLOUD])
def test_pu_03_both_lock_texts_are_recognised(text: str) -> None:
    assert is_locked(text)
    error = failure("dev", "up", text)
    assert isinstance(error, LockedError)
    assert error.exit_code == 4
    assert "pulumi cancel -s dev" in (error.hint or "")


def test_pu_03_the_holder_is_named() -> None:
    assert str(holders(DIY)[0]) == "ann@box (pid 4242) since 2026-11-30T13:00:00Z"
    assert "locked by ann@box (pid 4242)" in failure("dev", "up", DIY).message


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("error: getting stack configuration: get stack secrets manager: incorrect passphrase", "does not open it"),
        ("error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE", "is not set"),
    ],
)
def test_pu_05_a_passphrase_fault_is_the_persons_to_mend(text: str, fault: str) -> None:
    error = failure("staging", "up", text)
    assert isinstance(error, UserError)
    assert fault in error.message
    assert error.path == "stacks/Pulumi.staging.yaml: encryptionsalt"


def test_a_stage_without_a_place_for_its_state_is_the_persons_to_mend() -> None:
    text = "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions"
    error = failure("dev", "pulumi stack", text)
    assert isinstance(error, UserError)
    assert error.path == "PULUMI_BACKEND_URL"
    assert "PULUMI_ACCESS_TOKEN" in (error.hint or "")


@pytest.mark.parametrize(
    ("told", "apart"),
    [
        ("models: POST /r2/buckets failed: error 10004: The bucket you tried to create already exists.", True),
        ("version: POST /versions failed: error 10007: This Worker does not exist on your account.", True),
        ("events: POST /queues failed: error 10013: internal error", False),
    ],
)
def test_a_local_stage_that_its_state_no_longer_fits_is_told_how_to_begin_anew(told: str, apart: bool) -> None:
    assert ("sluiceway local reset --stop" in (failure("local", "up", "", [told]).hint or "")) is apart
    assert failure("dev", "up", "", [told]).hint is None


def test_other_failures_say_what_the_resources_said_once() -> None:
    error = failure(
        "dev", "up", "noise", ["bucket: PUT /r2/buckets: 10004 exists", "bucket: PUT /r2/buckets: 10004 exists"]
    )
    assert type(error) is SluicewayError
    assert error.message == "up of stage dev failed: bucket: PUT /r2/buckets: 10004 exists"
    assert "b: two" in failure("dev", "up", "", ["a: one", "b: two"]).message


def test_events_become_steps_messages_counts_and_errors() -> None:
    seen: list[Step | Message] = []
    collector = Collector(seen.append)
    urn = "urn:pulumi:dev::p::cloudflare:index/queue:Queue::events"
    metadata = {"op": "create", "urn": urn, "type": "cloudflare:index/queue:Queue", "provider": ""}
    text = {
        "message": "<{%fg 1%}>POST /queues: 11009 taken<{%reset%}>\n",
        "color": "raw",
        "severity": "error",
        "urn": urn,
    }
    for data in (
        {"resourcePreEvent": {"metadata": metadata}},
        {"resOpFailedEvent": {"metadata": metadata, "status": 1, "steps": 1}},
        {"diagnosticEvent": text},
        {
            "summaryEvent": {
                "maybeCorrupt": False,
                "durationSeconds": 1,
                "resourceChanges": {"same": 3},
                "policyPacks": {},
            }
        },
    ):
        collector(EngineEvent.from_json({"sequence": 1, "timestamp": 1, **data}))
    assert [(one.phase, one.op, one.name) for one in seen if isinstance(one, Step)] == [
        ("begun", "create", "events"),
        ("failed", "create", "events"),
    ]
    assert collector.errors == ["events: POST /queues: 11009 taken"]
    assert collector.changes == {"same": 3}


def test_colour_directives_are_removed_and_nothing_else() -> None:
    assert plain("<{%fg 1%}>red<{%reset%}> {%x%} <b>") == "red {%x%} <b>"
