"""The table against the SDK, and every row against the API: made, read, unchanged, imported, deleted."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from sluiceway.engine.provider.rows import ROWS
from sluiceway.engine.provider.spelling import camel, snake
from sluiceway.engine.provider.values import Secret, reveal
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import ACCOUNT, ZONE, Driver, Made
from tests.unit.provider.samples import SAMPLES

KINDS = sorted(SAMPLES)
NOT_SERVED = {"WorkerVersion": {"mainScriptBase64"}}
"""Outputs that state doesn't keep: the code is there already, by its digest."""


def sdk_class(kind: str) -> tuple[set[str], set[str], set[str], str]:
    """Required inputs, optional inputs, outputs and token of a class of pulumi_cloudflare, read from its source."""
    spec = importlib.util.find_spec("pulumi_cloudflare")
    assert spec and spec.origin
    source = (Path(spec.origin).parent / f"{snake(kind[0].lower() + kind[1:])}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    init = next(
        node for node in classes[f"{kind}Args"].body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    names = [arg.arg for arg in init.args.args[1:] + init.args.kwonlyargs]
    given = len(init.args.defaults) + sum(default is not None for default in init.args.kw_defaults)
    required = {camel(name) for name in names[: len(names) - given]}
    outputs = {
        camel(node.slice.value)
        for node in ast.walk(classes[kind])
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and "__props__" in ast.unparse(node.value)
    }
    token = next(
        node.value
        for node in ast.walk(classes[kind])
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("cloudflare:index/")
    )
    return required, {camel(name) for name in names} - required, outputs, token


@pytest.mark.parametrize("kind", KINDS)
def test_row_has_the_properties_of_the_sdk(kind: str) -> None:
    required, optional, properties, token = sdk_class(kind)
    row = ROWS[token]
    assert set(row.required) == required
    assert set(row.optional) == optional
    assert set(row.computed) == properties - required - optional - NOT_SERVED.get(kind, set())


def test_every_row_has_a_sample() -> None:
    assert {row.kind for row in ROWS.values()} == set(SAMPLES)


@pytest.fixture
def made(kind: str, driver: Driver, fake: FakeCloudflare) -> Made:
    prepare(kind, driver)
    return driver.create(kind, SAMPLES[kind])


def prepare(kind: str, driver: Driver) -> None:
    """What must be there before a resource of ``kind``."""
    if kind == "R2BucketLifecycle":
        driver.create("R2Bucket", SAMPLES["R2Bucket"])


@pytest.mark.parametrize("kind", KINDS)
def test_made_and_read_back_is_no_change(kind: str, made: Made, driver: Driver) -> None:
    assert driver.changed(made, SAMPLES[kind]) == []
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, SAMPLES[kind]) == []
    assert fresh.rid == made.rid
    assert fresh.inputs == made.inputs, "a refresh without drift leaves the inputs alone"


@pytest.mark.parametrize("kind", KINDS)
def test_state_answers_every_input(kind: str, made: Made, driver: Driver) -> None:
    for name, value in SAMPLES[kind].items():
        if not isinstance(value, (list, dict)):
            assert reveal(made.state[name]) == reveal(value)


IMPORT_IDS = {
    "Worker": "{a}/{id}",
    "WorkerVersion": "{a}/w1/{id}",
    "WorkersDeployment": "{a}/gateway/{id}",
    "WorkersScriptSubdomain": "{a}/gateway",
    "WorkersRoute": "{z}/{id}",
    "WorkersCustomDomain": "{a}/{id}",
    "WorkersCronTrigger": "{a}/gateway",
    "WorkersKvNamespace": "{a}/{id}",
    "WorkersKv": "{a}/n1/rollouts/chat",
    "R2Bucket": "{a}/models/eu",
    "R2BucketLifecycle": "{a}/models/eu",
    "Ruleset": "zones/{z}/{id}",
    "AiGateway": "{a}/gateway",
    "Queue": "{a}/{id}",
}


@pytest.mark.parametrize("kind", KINDS)
def test_imported_by_the_official_id_is_no_change(kind: str, made: Made, driver: Driver) -> None:
    rid = IMPORT_IDS[kind].format(a=ACCOUNT, z=ZONE, id=made.rid)
    imported = driver.imported(kind, rid)
    assert imported is not None
    assert imported.rid == made.rid
    assert driver.changed(imported, SAMPLES[kind]) == []


UNDELETABLE = {"WorkerVersion", "WorkersDeployment", "WorkersCronTrigger", "R2BucketLifecycle"}
"""Deleted by no call, as with the official provider."""


@pytest.mark.parametrize("kind", KINDS)
def test_deleted_is_gone(kind: str, made: Made, driver: Driver, fake: FakeCloudflare) -> None:
    fake.calls.clear()
    driver.delete(made)
    if kind in UNDELETABLE:
        assert fake.calls == []
    elif kind == "WorkersScriptSubdomain":
        assert fake.table("subdomains")["gateway"]["enabled"] is False
    else:
        assert driver.refresh(made) is None
        driver.delete(made)


@pytest.mark.parametrize("kind", KINDS)
def test_preview_of_a_new_one_writes_nothing_and_leaves_outputs_unknown(
    kind: str, driver: Driver, fake: FakeCloudflare
) -> None:
    foreseen = driver.preview(kind, SAMPLES[kind])
    assert fake.writes() == []
    row = next(row for row in ROWS.values() if row.kind == kind)
    assert {name for name, value in foreseen.items() if repr(value) == "unknown"} == set(row.computed)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_input_is_refused_with_its_name(kind: str, driver: Driver) -> None:
    from tests.unit.provider.harness import Refused

    row = next(row for row in ROWS.values() if row.kind == kind)
    with pytest.raises(Refused) as refused:
        driver.check(kind, {})
    assert set(row.required) <= set(refused.value.faults)


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_input_stays_secret_in_state(kind: str, driver: Driver) -> None:
    prepare(kind, driver)
    row = next(row for row in ROWS.values() if row.kind == kind)
    name = next(name for name in reversed(row.required) if isinstance(SAMPLES[kind][name], str))
    made = driver.create(kind, {**SAMPLES[kind], name: Secret(SAMPLES[kind][name])})
    assert isinstance(made.state[name], Secret)
    fresh = driver.refresh(made)
    assert fresh is not None
    assert isinstance(fresh.state[name], Secret)
    assert isinstance(fresh.inputs[name], Secret)
