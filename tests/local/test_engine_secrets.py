"""Passphrases and secrets on the real engine: nothing is lost, remade or shown."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.engine.automation_events import Message
from sluiceway.engine.automation_secrets import set_secret
from sluiceway.engine.resolve import Engine
from sluiceway.errors import SluicewayError, UserError
from tests.local.engine_project import THREE_THINGS, Project, make_project

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----\n"
STRINGS = ["-FMq~W", PEM, "naïve 模型 🦊", "=a", "x: y", "  pad  ", "true", "0123", "", "\n", "--help", 'a"b\\n']

WITH_SECRET = THREE_THINGS + "Thing('hidden', pulumi.Config().require_secret('token'))\n"


@pytest.fixture
def project(tmp_path: Path, engine: Engine) -> Project:
    return make_project(tmp_path / "checkout", engine)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Project:
    """A stage with passphrase p1, three resources and a secret in its state."""
    project = make_project(tmp_path_factory.mktemp("made") / "checkout", engine, WITH_SECRET)
    stack = project.stack(PULUMI_CONFIG_PASSPHRASE="p1")
    stack.ensure()
    set_secret(stack, "token", "s3cr3t")
    stack.up()
    return project


@pytest.fixture
def made(made_once: Project, project: Project) -> Project:
    """A copy of it for one test."""
    project.program(WITH_SECRET)
    for folder in (made_once.workspace.pulumi_state, made_once.workspace.root / "stacks"):
        to = project.workspace.root / folder.relative_to(made_once.workspace.root)
        shutil.copytree(folder, to, dirs_exist_ok=True)
    return project


@pytest.mark.parametrize(("phrase", "fault"), [("p2", "does not open it"), ("", "is empty"), (None, "is not set")])
def test_pu_05_a_passphrase_that_does_not_fit_changes_nothing(
    made: Project, phrase: str | None, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE_FILE", raising=False)
    made.env.pop("PULUMI_CONFIG_PASSPHRASE")
    stack = made.stack(**({} if phrase is None else {"PULUMI_CONFIG_PASSPHRASE": phrase}))
    before = made.bytes_of_state()
    calls: list[Callable[[], object]] = [
        stack.up,
        stack.preview,
        stack.refresh,
        stack.destroy,
        lambda: set_secret(stack, "token", "other"),
    ]
    for call in calls:
        with pytest.raises(UserError, match=fault):
            call()
    if phrase != "p2":
        with pytest.raises(UserError, match=fault):
            stack.ensure()
    else:
        assert not stack.ensure()  # it is there, so it is not made again
    assert made.bytes_of_state() == before


def test_pu_05_a_stack_is_not_created_under_a_salt_that_the_passphrase_does_not_open(made: Project) -> None:
    made.file("next").write_bytes(made.file().read_bytes())
    before = made.bytes_of_state()
    with pytest.raises(UserError, match="does not open it"):
        made.stack("next", PULUMI_CONFIG_PASSPHRASE="p2").ensure()
    assert made.bytes_of_state() == before


def test_pu_05_a_backend_that_can_not_be_read_is_not_taken_for_an_empty_one(made: Project) -> None:
    stack = made.stack(PULUMI_CONFIG_PASSPHRASE="p1", PULUMI_BACKEND_URL="file:///nowhere/at/all")
    before = made.bytes_of_state()
    with pytest.raises(SluicewayError):
        stack.ensure()
    assert made.bytes_of_state() == before


def test_pu_05_a_stack_file_without_its_salt_does_not_get_a_new_one(made: Project) -> None:
    salt = made.file().read_text().splitlines()[0]
    made.file().write_text("config: {}\n")
    made.program(THREE_THINGS)
    with pytest.raises(UserError, match="does not open it"):
        made.stack(PULUMI_CONFIG_PASSPHRASE="p2").up()
    made.stack(PULUMI_CONFIG_PASSPHRASE="p1").up()
    assert "encryptionsalt" not in made.file().read_text() or salt in made.file().read_text()


READER = (
    "import pathlib, pulumi\n"
    f"for n in range({len(STRINGS)}):\n"
    "    keep = lambda v, n=n: pathlib.Path(f'got-{n}').write_bytes(v.encode())\n"
    "    pulumi.Config().require_secret(f'value-{n}').apply(keep)\n"
)


def assert_read(project: Project) -> None:
    got = [(project.workspace.root / "infra" / f"got-{n}").read_bytes() for n in range(len(STRINGS))]
    assert got == [value.encode() for value in STRINGS]


@pytest.mark.long
def test_pu_06_any_string_comes_back_byte_for_byte(project: Project) -> None:
    project.program(READER)
    stack = project.stack()
    stack.ensure()
    for n, value in enumerate(STRINGS):
        set_secret(stack, f"value-{n}", value)  # reads it back and compares
    stack.preview()
    assert_read(project)


@pytest.mark.long
def test_pu_06_and_so_it_does_in_a_locale_without_utf_8(project: Project) -> None:
    project.program(READER + "print('模型 🦊')\n")
    code = (
        "import sys, pathlib\n"
        "from sluiceway.engine.resolve import resolve\n"
        "from sluiceway.progress import Progress\n"
        "from sluiceway.workspace import Workspace\n"
        "from sluiceway.engine.automation import StageStack\n"
        "from sluiceway.engine.automation_secrets import set_secret\n"
        "import os\n"
        "w = Workspace(pathlib.Path(sys.argv[1])); said = []\n"
        "s = StageStack(w, 'local', resolve(w, Progress()), dict(os.environ), said.append)\n"
        f"s.ensure(); values = {STRINGS!a}\n"
        "for n, value in enumerate(values):\n"
        "    set_secret(s, f'value-{n}', value)  # reads it back and compares\n"
        "s.preview(); assert any('\\u6a21\\u578b \\U0001f98a' in getattr(m, 'text', '') for m in said), said\n"
    )
    env = {**os.environ, **project.env, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, str(project.workspace.root)]
    done = subprocess.run(command, env=env, cwd=project.workspace.root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert_read(project)


def test_pu_06_a_secret_is_never_in_an_error_or_a_process_list(project: Project) -> None:
    stack = project.stack()
    stack.ensure()
    seen: list[str] = []
    stop = threading.Event()
    watcher = threading.Thread(target=watch_processes, args=(seen, stop))
    watcher.start()
    try:
        set_secret(stack, "value", "-S3CR-7f2a-canary")
        with pytest.raises(SluicewayError) as caught:
            set_secret(stack, "bad:key:name", "-S3CR-7f2a-canary")
    finally:
        stop.set()
        watcher.join()
    assert any("config" in line for line in seen)
    assert not any("S3CR-7f2a" in line for line in seen)
    assert "S3CR-7f2a" not in caught.value.render()


def test_pu_07_a_secret_is_nowhere_in_clear_after_an_update_and_after_a_failed_one(project: Project) -> None:
    canary = "S3CR-7f2a-canary"
    project.program(
        "import base64, pulumi\n"
        "secret = pulumi.Config().require_secret('token')\n"
        "header = secret.apply(lambda v: f'Bearer {v}')\n"
        "coded = secret.apply(lambda v: base64.b64encode(v.encode()).decode())\n"
        "pulumi.ComponentResource('test:index:Thing', 'a', {'header': header, 'coded': coded})\n"
        "pulumi.export('header', header)\n"
        "pulumi.export('coded', coded)\n"
    )
    stack = project.stack()
    stack.ensure()
    set_secret(stack, "token", canary)
    up = stack.up()
    assert up.outputs["header"].secret
    assert up.outputs["header"].value == f"Bearer {canary}"
    program = project.workspace.root / "infra" / "__main__.py"
    project.program(program.read_text() + "raise RuntimeError('no')\n")
    with pytest.raises(SluicewayError) as caught:
        stack.up()
    words = [canary, base64.b64encode(canary.encode()).decode().rstrip("=")]
    texts = [caught.value.render(), stack.run("stack", "export", "-s", "local").stdout]
    texts += [one.text for one in project.events if isinstance(one, Message)]
    texts += [f.read_text("utf-8", "replace") for f in project.workspace.root.rglob("*") if owned(f)]
    assert len(texts) > 10
    assert not [text for text in texts for word in words if word in text]


def owned(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and ".venv" not in file.parts and "plugins" not in file.parts


def watch_processes(seen: list[str], stop: threading.Event) -> None:
    while not stop.is_set():
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if "pulumi" in line and line not in seen:
                seen.append(line)
