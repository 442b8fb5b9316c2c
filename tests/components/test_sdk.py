"""Cloudflare's SDK is loaded by use: what the program gets is the SDK's own, and little more is loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from infra.sdk import module_of

USED = ["Worker", "WorkersKvNamespace", "R2BucketLifecycle", "AiGateway", "WorkersCronTrigger", "Ruleset"]
PROGRAM = """
import json, sys
{first}
import pulumi_cloudflare as cloudflare
found = {{name: getattr(cloudflare, name).__module__ for name in {names}}}
loaded = sum(name.startswith("pulumi_cloudflare.") for name in sys.modules)
print(json.dumps([found, loaded]))
"""


def classes(first: str, names: list[str]) -> tuple[dict[str, str], int]:
    program = PROGRAM.format(first=first, names=names)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found, loaded = json.loads(done.stdout)
    return found, loaded


def test_each_class_is_the_one_of_the_whole_sdk_with_few_modules_loaded() -> None:
    by_use, few = classes("import infra", USED)
    whole, all_ = classes("", USED)
    assert by_use == whole
    assert few < all_ / 50


def test_a_name_without_a_module_of_its_own_loads_the_whole_sdk() -> None:
    found, loaded = classes("import infra", ["WorkerSubdomainArgs", "Worker"])
    assert found["WorkerSubdomainArgs"] == "pulumi_cloudflare._inputs"
    assert loaded > 500


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("R2Bucket", "r2_bucket"),
        ("AiGateway", "ai_gateway"),
        ("WorkersKv", "workers_kv"),
        ("D1Database", "d1_database"),
    ],
)
def test_a_class_is_looked_for_in_the_module_of_its_name(name: str, module: str) -> None:
    assert module_of(name) == f"pulumi_cloudflare.{module}"
