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
for names in {asked}:
    found = {{name: getattr(cloudflare, name).__module__ for name in names}}
    loaded = sum(name.startswith("pulumi_cloudflare.") for name in sys.modules)
    print(json.dumps([found, loaded]))
"""


def classes(first: str, *asked: list[str]) -> list[tuple[dict[str, str], int]]:
    """For each list of names: their modules, and how many are loaded by then."""
    program = PROGRAM.format(first=first, asked=asked)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [(found, loaded) for found, loaded in map(json.loads, done.stdout.splitlines())]


def test_each_class_is_the_whole_sdks_with_few_modules_loaded_until_a_name_has_no_module_of_its_own() -> None:
    (by_use, few), (named, many) = classes("import infra", USED, ["WorkerSubdomainArgs", "Worker"])
    ((whole, all_),) = classes("", USED)
    assert by_use == whole
    assert few < all_ / 50
    assert named == {"WorkerSubdomainArgs": "pulumi_cloudflare._inputs", "Worker": whole["Worker"]}
    assert many > 500


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
