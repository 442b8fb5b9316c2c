"""Secrets of a stage that isn't local, through the command line: they come back as they went in, or nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.checkout import Checkout, make_checkout
from tests.e2e.test_bad_input import assert_refused

pytestmark = pytest.mark.long

# What is hard in one string each: tests/local/test_engine_secrets.py has every one alone.
VALUES = ["-----BEGIN-----\n-FMq~W naïve 模型 🦊\n", "  =a x: y  "]
OTHER_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PROGRAM = f"""\
import pathlib, pulumi
for name in ("a", "b", "c"):
    pulumi.ComponentResource("test:index:Thing", name)
for n in range({len(VALUES)}):
    keep = lambda text, n=n: pathlib.Path(f"got-{{n}}").write_bytes(text.encode())
    pulumi.Config("sluiceway").require_secret(f"value_{{n}}").apply(keep)
print("模型 🦊")
"""


class Remote(Checkout):
    """Stage dev with a backend in the checkout and no resource in any cloud."""

    def environ(self, **more: str) -> dict[str, str]:
        own = {"PULUMI_BACKEND_URL": f"file://{self.root}/backend", "PULUMI_HOME": f"{self.root}/home"}
        return super().environ(**own, **OTHER_LOCALE, **more)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    checkout = Remote(make_checkout(tmp_path_factory.mktemp("remote")).root)
    names = ", ".join(f"VALUE_{n}" for n in range(len(VALUES)))
    stack = checkout.root / "stacks/Pulumi.dev.yaml"
    text = stack.read_text("utf-8").replace("0" * 32, "0123456789abcdef" * 2)
    stack.write_text(f"{text}  sluiceway:secrets: [API_KEY, {names}]\n", "utf-8")
    (checkout.root / "infra/__main__.py").write_text(PROGRAM, "utf-8")
    (checkout.root / "backend").mkdir()
    script = f"eval \"$('{checkout.python}' -m sluiceway env dev)\"; pulumi stack init dev --no-select"
    made = checkout.run("sh", "-euc", script, env={"PULUMI_CONFIG_PASSPHRASE": "p1"})
    assert made.code == 0, made.err
    yield checkout


def test_pu_06_what_is_set_is_what_the_program_reads(remote: Remote) -> None:
    for n, value in enumerate(VALUES):
        done = remote.sluiceway("secrets", "set", "dev", f"VALUE_{n}", stdin=value, PULUMI_CONFIG_PASSPHRASE="p1")
        assert done.code == 0, done.err
        assert value.strip() not in done.out + done.err
    up = remote.sluiceway("up", "dev", PULUMI_CONFIG_PASSPHRASE="p1")
    assert up.code == 0, up.err
    assert [(remote.root / "infra" / f"got-{n}").read_bytes() for n in range(len(VALUES))] == [
        v.encode() for v in VALUES
    ]


@pytest.mark.parametrize(
    ("phrase", "told"),
    [
        ({"PULUMI_CONFIG_PASSPHRASE": "p2"}, "does not open it"),
        ({}, "is not set"),
        ({"PULUMI_CONFIG_PASSPHRASE": ""}, "is empty"),
    ],
    ids=["another", "none", "empty"],
)
def test_pu_05_an_update_with_a_passphrase_that_does_not_fit_changes_nothing(
    remote: Remote, phrase: dict[str, str], told: str
) -> None:
    before = remote.fingerprint("backend", "stacks")
    assert any(Path(file).name == "dev.json" for file in before)
    done = remote.sluiceway("up", "dev", **phrase)
    assert_refused(done, told, "stacks/Pulumi.dev.yaml", "PULUMI_CONFIG_PASSPHRASE")
    assert remote.fingerprint("backend", "stacks") == before
