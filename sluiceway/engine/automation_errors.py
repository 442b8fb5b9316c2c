"""What the engine's texts mean: locked, wrong passphrase, no such stack; and who holds a lock."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sluiceway.errors import SluicewayError, UserError

_LOCKED = ("the stack is currently locked by", "[409] Conflict: Another update is currently in progress")
_HOLDER = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<at>\S+)")
_PASSPHRASE = ("incorrect passphrase", "passphrase must be set with PULUMI_CONFIG_PASSPHRASE", "failed to decrypt")
_NO_BACKEND = ("PULUMI_ACCESS_TOKEN must be set for login",)
# The local stage and Pulumi's state tell different stories: one of them was lost.
_APART = re.compile(r"failed: error \d+: .*(already exists?|does not exist|not found)", re.IGNORECASE)
_SAYS_NOTHING = ("", "update failed")
_NOISE = re.compile(r"^(\s*$|Previewing |Updating |Destroying |Refreshing |@ |View Live|Resources:|Duration:)")


_RESET = (
    "if Pulumi's state and the local stage no longer belong together (one was deleted), "
    "`sluiceway local reset --stop` empties both; then `sluiceway up local` makes all anew"
)


class LockedError(SluicewayError):
    """Another update of the same stack is running; nothing was changed."""

    exit_code = 4


@dataclass(frozen=True)
class Holder:
    """Who holds a stack's lock; ``at`` is an RFC 3339 time."""

    user: str
    host: str
    pid: int
    at: str

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (pid {self.pid}) since {self.at}"


def is_locked(text: str) -> bool:
    return any(words in text for words in _LOCKED)


def holders(text: str) -> list[Holder]:
    """The holders that a lock text names; none for Pulumi Cloud's text."""
    return [Holder(m["user"], m["host"], int(m["pid"]), m["at"]) for m in _HOLDER.finditer(text)]


def locked(stage: str, text: str, waited: float) -> LockedError:
    who = ", ".join(map(str, holders(text))) or "another update"
    return LockedError(
        f"stack {stage} is locked by {who}" + (f", waited {waited:.0f} s" if waited else ""),
        hint=f"wait for it to end; if it is dead, `pulumi cancel -s {stage}` releases the lock",
    )


def failure(stage: str, operation: str, text: str, diagnostics: Iterable[str] = ()) -> SluicewayError:
    """The error for a command that failed with ``text`` (its output) and the engine's ``diagnostics``."""
    if is_locked(text):
        return locked(stage, text, 0)
    if any(words in text for words in _PASSPHRASE):
        return passphrase_error(stage, "does not open it" if "must be set" not in text else "is not set")
    if any(words in text for words in _NO_BACKEND):
        return UserError(
            "no place for Pulumi's state is set; nothing was changed",
            path="PULUMI_BACKEND_URL",
            hint="set PULUMI_BACKEND_URL to a bucket or folder (s3://..., file://...), "
            "or PULUMI_ACCESS_TOKEN for Pulumi Cloud",
        )
    told = [line for line in dict.fromkeys(line.strip() for line in diagnostics) if line not in _SAYS_NOTHING]
    if not told:
        told = [line.strip() for line in text.splitlines() if not _NOISE.match(line)][-8:]
    message = "\n  ".join(["", *told]) if len(told) > 1 else " " + "".join(told)
    hint = _RESET if stage == "local" and _APART.search(message) else None
    return SluicewayError(f"{operation} of stage {stage} failed:{message}", hint=hint)


def passphrase_error(stage: str, fault: str) -> UserError:
    """``fault``: is not set, is empty, does not open it."""
    return UserError(
        f"the passphrase {fault}; nothing was changed",
        path=f"stacks/Pulumi.{stage}.yaml: encryptionsalt",
        hint="set PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) to the one that the stage was made with",
    )
