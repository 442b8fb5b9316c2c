"""Preview, update, refresh and destroy a stage through Pulumi's Automation API, on this checkout's program.

Plain ``pulumi`` in the same environment (`shell_env.stage_env`) does the same to the same state.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi.automation import CommandError, CommandResult, LocalWorkspace, Stack, UpResult
from pulumi.automation._stack import StackInitMode

from sluiceway.domain.stage import LOCAL
from sluiceway.engine.automation_command import EngineCommand, said_by
from sluiceway.engine.automation_errors import failure, holders, is_locked, locked
from sluiceway.engine.automation_events import Collector, Message, OnEvent
from sluiceway.engine.automation_passphrase import check_passphrase
from sluiceway.engine.resolve import Engine
from sluiceway.errors import SluicewayError
from sluiceway.workspace import Workspace


@dataclass(frozen=True)
class StackOutput:
    """One exported value; ``secret`` ones must not be printed unless asked for."""

    value: Any
    secret: bool


@dataclass(frozen=True)
class Result:
    """How an operation ended.

    ``changes`` counts resources by same, create, update, delete, replace...; ``outputs`` are those after an
    ``up`` and empty after anything else; ``seconds`` include waiting for a lock.
    """

    operation: str
    changes: dict[str, int]
    outputs: dict[str, StackOutput]
    seconds: float

    @property
    def changed(self) -> int:
        return sum(count for op, count in self.changes.items() if op not in ("same", "read"))


class _Checkout(LocalWorkspace):
    """Selecting a stack would change what the person's own shell works on, so it is never done."""

    def select_stack(self, stack_name: str) -> None:
        pass


@dataclass
class StageStack:
    """The stack of one stage. ``env`` comes from `stage_env`; ``lock_wait`` is in seconds.

    Every method raises LockedError (exit 4) when the stack stays locked, UserError for a passphrase that
    is missing or wrong, and SluicewayError, with what the resources said, for what fails.
    """

    workspace: Workspace
    stage: str
    engine: Engine
    env: Mapping[str, str]
    on_event: OnEvent | None = None
    lock_wait: float = 60.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    command: EngineCommand = field(init=False)
    _local: _Checkout = field(init=False)

    def __post_init__(self) -> None:
        self.command = EngineCommand(self.engine)
        self._local = _Checkout(work_dir=str(self.workspace.root), env_vars=dict(self.env), pulumi_command=self.command)

    def check_passphrase(self) -> None:
        """Raises UserError if the stage's secrets need a passphrase and none, or an empty one, is given."""
        check_passphrase(self.workspace.root, self.stage, self.env)

    def exists(self) -> bool:
        """Whether the backend has the stack; any doubt is an error, never a no."""
        text = self.run("stack", "ls", "--json").stdout
        names = [str(one["name"]) for one in json.loads(text)]
        return any(name == self.stage or name.endswith(f"/{self.stage}") for name in names)

    def ensure(self) -> bool:
        """Creates the stack if the backend surely has none; whether it did. A salt in the stack file stays as it is."""
        self.check_passphrase()
        if self.exists():
            return False
        try:
            self.run("stack", "init", self.stage, "--no-select")
        except SluicewayError:
            if not self.exists():  # else another `up` made it in between
                raise
            return False
        return True

    def preview(self) -> Result:
        return self._operate("preview", lambda stack, on: stack.preview(on_event=on, color="never"))

    def up(self) -> Result:
        return self._operate("up", lambda stack, on: stack.up(on_event=on, color="never", show_secrets=False))

    def refresh(self) -> Result:
        return self._operate("refresh", lambda stack, on: stack.refresh(on_event=on, color="never", show_secrets=False))

    def destroy(self) -> Result:
        return self._operate("destroy", lambda stack, on: stack.destroy(on_event=on, color="never", show_secrets=False))

    def outputs(self) -> dict[str, StackOutput]:
        """What the program exported last, with secrets in clear and marked."""
        clear = json.loads(self.run("stack", "output", "--json", "--show-secrets", "-s", self.stage).stdout or "{}")
        masked = json.loads(self.run("stack", "output", "--json", "-s", self.stage).stdout or "{}")
        return {name: StackOutput(value, masked.get(name) != value) for name, value in clear.items()}

    def run(self, *args: str, stdin: bytes | None = None) -> CommandResult:
        """One engine command in the checkout. ``args`` show in the process list: never a secret."""
        try:
            return self.command.run(list(args), str(self.workspace.root), self.env, stdin=stdin)
        except CommandError as error:
            raise failure(self.stage, f"pulumi {args[0]}", said_by(error)) from None

    def _operate(self, operation: str, call: Callable[[Stack, Collector], object]) -> Result:
        self.check_passphrase()
        started = self.clock()
        tries = 0
        while True:
            collector = Collector(self.on_event)
            try:
                done = call(Stack(self.stage, self._local, StackInitMode.SELECT), collector)
                return Result(operation, collector.changes, _outputs(done), self.clock() - started)
            except CommandError as error:
                text = said_by(error)
                if not is_locked(text):
                    raise failure(self.stage, operation, text, collector.errors) from None
                self._wait_for_lock(text, self.clock() - started, tell=tries == 0)
                tries += 1

    def _wait_for_lock(self, text: str, waited: float, *, tell: bool) -> None:
        """Returns when it is worth another try; raises LockedError when the limit has passed."""
        who = holders(text)
        if self.stage == LOCAL and who and all(one.host == socket.gethostname() and _dead(one.pid) for one in who):
            self._tell("warning", f"releasing the lock of {who[0]}, which is dead")
            self.run("cancel", "--yes", "-s", self.stage)
            return
        if waited >= self.lock_wait:
            raise locked(self.stage, text, waited)
        left = self.lock_wait - waited
        if tell:
            self._tell("warning", f"waiting up to {left:.0f} s: {locked(self.stage, text, 0).message}")
        self.sleep(min(2.0, left))

    def _tell(self, severity: str, text: str) -> None:
        if self.on_event:
            self.on_event(Message(severity, text, ""))


def _outputs(done: object) -> dict[str, StackOutput]:
    if not isinstance(done, UpResult):
        return {}
    return {name: StackOutput(one.value, one.secret) for name, one in done.outputs.items()}


def _dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, as somebody else's
        return False
    return False
