"""What the language host makes of the engine's requests, of options, and of failed programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import pulumi
import pytest
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from sluiceway.engine.language_env import UnknownToolchain, resolve_env
from sluiceway.engine.language_exec import describe, engine_ended
from sluiceway.engine.language_host import run_request
from sluiceway.engine.release import VERSION
from sluiceway.errors import UserError


@pytest.fixture
def slow_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program's interpreter takes a second to start, and first writes its process id to the file that this gives."""
    told = tmp_path / "started"
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow/sitecustomize.py").write_text(
        "import os, pathlib, sys, time\n"
        "if any('language_exec' in word for word in sys.orig_argv):\n"
        f"    pathlib.Path({str(told)!r}).write_text(str(os.getpid()) + '.')\n"
        "    time.sleep(1)\n",
        "utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "slow"))
    return told


@pytest.fixture
def host() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-P", "-m", "sluiceway.engine.language_host", "127.0.0.1:1"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield child
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        assert stream
        stream.close()


def stub(host: subprocess.Popen[str]) -> language_pb2_grpc.LanguageRuntimeStub:
    assert host.stdout
    return language_pb2_grpc.LanguageRuntimeStub(grpc.insecure_channel(f"127.0.0.1:{int(host.stdout.readline())}"))


def info(root: Path, **options: str) -> language_pb2.ProgramInfo:
    made = language_pb2.ProgramInfo(root_directory=str(root), program_directory=str(root), entry_point=".")
    made.options.update(options)
    return made


def test_an_import_that_worked_ends_with_what_to_do_next(host: subprocess.Popen[str]) -> None:
    made = stub(host).GenerateProgram(language_pb2.GenerateProgramRequest())
    assert b"declare it in infra/" in made.source["__main__.py"]
    assert not made.diagnostics


def test_it_answers_about_itself_and_the_programs_packages(host: subprocess.Popen[str], tmp_path: Path) -> None:
    calls = stub(host)
    calls.Handshake(language_pb2.LanguageHandshakeRequest(engine_address="127.0.0.1:1"))
    (tmp_path / ".venv").symlink_to(sys.prefix)
    program = info(tmp_path, virtualenv=".venv")
    about = calls.About(language_pb2.AboutRequest(info=program))
    assert (about.executable, about.version.split(".")[0]) == (str(tmp_path / ".venv/bin/python"), "3")
    direct = calls.GetProgramDependencies(language_pb2.GetProgramDependenciesRequest(info=program)).dependencies
    request = language_pb2.GetProgramDependenciesRequest(info=program, transitiveDependencies=True)
    every = calls.GetProgramDependencies(request).dependencies
    assert "sluiceway" in {one.name for one in direct}
    assert {one.name for one in direct} < {one.name for one in every}
    assert "pulumi" in {one.name for one in every}


def test_it_names_the_provider_plugins_that_the_program_needs(host: subprocess.Popen[str], tmp_path: Path) -> None:
    answer = stub(host).GetRequiredPackages(language_pb2.GetRequiredPackagesRequest(info=info(tmp_path)))
    assert [(one.kind, one.name, one.version[:2]) for one in answer.packages] == [("resource", "cloudflare", "v6")]


def test_a_program_that_is_interrupted_while_its_interpreter_starts_ends_quietly(
    slow_start: Path, host: subprocess.Popen[str], tmp_path: Path
) -> None:
    calls = stub(host)
    request = language_pb2.RunRequest(info=info(tmp_path), program=".", pwd=str(tmp_path))
    run = calls.Run.future(request)
    deadline = time.monotonic() + 60
    while not (slow_start.exists() and slow_start.read_text("utf-8").endswith(".")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(int(slow_start.read_text("utf-8").removesuffix(".")), signal.SIGINT)
    answer = run.result()
    assert (answer.bail, answer.error) == (True, "")
    host.send_signal(signal.SIGINT)
    out, err = host.communicate(timeout=30)
    assert (out, err) == ("", "")


def test_it_stops_quietly_when_it_is_interrupted(host: subprocess.Popen[str]) -> None:
    stub(host)
    host.send_signal(signal.SIGINT)
    out, err = host.communicate(timeout=10)
    assert (host.returncode, out, err) == (0, "", "")


def test_it_stops_when_the_engine_is_gone(host: subprocess.Popen[str]) -> None:
    stub(host)
    assert host.stdin
    host.stdin.close()
    assert host.wait(timeout=10) == 0


def test_a_run_request_carries_secrets_config_and_places() -> None:
    request = language_pb2.RunRequest(
        project="p", stack="s", config={"p:a": "1", "p:b": "2"}, configSecretKeys=["p:b"], dryRun=True, parallel=7,
        info=language_pb2.ProgramInfo(root_directory="/r", program_directory="/r/infra", entry_point="."),
        monitor_address="m",
    )  # fmt: skip
    made = run_request(request, "/elsewhere", "e")
    assert json.loads(json.dumps(made)) == {
        "project": "p", "stack": "s", "root": "/r", "pwd": "/r/infra", "program": ".", "args": [], "monitor": "m",
        "engine": "e", "organization": "organization", "parallel": 7, "dry_run": True,
        "config": {"p:a": "1", "p:b": "2"}, "secret_keys": ["p:b"],
    }  # fmt: skip


def test_the_virtualenv_option_is_relative_to_the_root_and_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownToolchain, match=r"no Python in .*; run `make setup`"):
        resolve_env({"virtualenv": "venv"}, tmp_path)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    assert resolve_env({"virtualenv": "venv"}, tmp_path).python == tmp_path / "venv" / "bin" / "python"
    assert resolve_env({}, tmp_path).python == Path(os.environ.get("PULUMI_PYTHON_CMD") or sys.executable)
    with pytest.raises(UnknownToolchain, match="poetry is not supported"):
        resolve_env({"toolchain": "poetry"}, tmp_path)


def test_a_missing_virtualenv_is_an_error_of_the_call_not_a_crash(host: subprocess.Popen[str], tmp_path: Path) -> None:
    calls = stub(host)
    with pytest.raises(grpc.RpcError) as caught:
        calls.About(language_pb2.AboutRequest(info=info(tmp_path, virtualenv="none")))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "run `make setup`" in caught.value.details()


def test_errors_for_people_are_told_as_they_are() -> None:
    assert describe(pulumi.RunError("plain"), "/p") == "plain"
    assert describe(UserError("bad", path="x", hint="mend"), "/p") == "error: x: bad\nhint: mend"


def test_other_errors_are_told_with_a_traceback_that_begins_in_the_program(tmp_path: Path) -> None:
    program = tmp_path / "__main__.py"
    program.write_text("def f():\n    raise ValueError('模型')\nf()\n", encoding="utf-8")
    try:
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), {})
    except ValueError as error:
        told = describe(error, str(tmp_path))
    assert told.startswith("Program failed with an unhandled exception:\nTraceback")
    assert "ValueError: 模型" in told
    assert __file__ not in told


class Ended(grpc.RpcError):  # type: ignore[misc]
    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code


@pytest.mark.parametrize(
    ("code", "quiet"),
    [(grpc.StatusCode.CANCELLED, True), (grpc.StatusCode.UNAVAILABLE, True), (grpc.StatusCode.INVALID_ARGUMENT, False)],
)
def test_a_program_that_fails_since_the_engine_ended_is_not_told_as_a_fault(code: grpc.StatusCode, quiet: bool) -> None:
    assert engine_ended(Ended(code)) is quiet
    try:
        try:
            raise Ended(code)
        except grpc.RpcError:
            raise Exception("context canceled")  # noqa: B904  # as the SDK does
    except Exception as error:
        assert engine_ended(error) is quiet
    assert not engine_ended(ValueError("x"))


def test_a_folder_without_a_program_is_named(tmp_path: Path) -> None:
    error = ImportError(f"can't find '__main__' module in {str(tmp_path)!r}")
    assert describe(error, str(tmp_path)) == f"no program: there is no __main__.py in {tmp_path}"


def test_the_release_is_the_one_that_the_recipe_builds() -> None:
    recipe = Path(__file__).parents[3] / "engine-build" / "go.mod"
    assert f"github.com/pulumi/pulumi/pkg/v3 v{VERSION}" in recipe.read_text(encoding="utf-8")
