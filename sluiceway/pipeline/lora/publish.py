"""An adapter becomes a fine-tune of the account, once and for good: the same files again change nothing.

The API can't change or delete one, nor tell which files it has. So its description holds the digest of the files it is
made for, and a run of the base with it shows whether they are all there: after an upload, and after one that broke off.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from sluiceway.catalog.lora_bases import MAX_ADAPTERS, RESERVED, check_adapter_name
from sluiceway.cloudflare.finetunes import Answer, Finetune
from sluiceway.domain.fault import Fault
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.lora.adapter import CONFIG, WEIGHTS, Adapter, reopen

WAITS: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between looks whether Workers AI answers with it: what was uploaded is not everywhere at once."""
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")


class Account(Protocol):
    """`Finetunes`, as far as it is needed."""

    def all(self) -> list[Finetune]: ...
    def create(self, name: str, model: str, description: str) -> str: ...
    def upload(self, id: str, name: str, data: BinaryIO, tell: Callable[[int], None]) -> None: ...
    def answers(self, model: str, lora: str) -> Answer: ...


@dataclass(frozen=True)
class Published:
    """``sent``: the files that went now; none when the adapter was there already."""

    id: str
    name: str
    sent: tuple[str, ...]


def adapter_name(text: str) -> str:
    """A name that may be given to one's own adapter. UserError."""
    try:
        name = check_adapter_name(text)
    except Fault as fault:
        raise UserError(fault.message, path="--name", got=text, hint=fault.hint) from None
    if name.startswith(RESERVED):
        hint = f"take a name that doesn't begin with {RESERVED}"
        raise UserError("Cloudflare keeps these names for its own adapters", path="--name", got=text, hint=hint)
    return name


def digest_of(finetune: Finetune) -> str | None:
    """The digest of the adapter that it was made for; None when something else made it."""
    found = _DIGEST.search(finetune.description or "")
    return found[1] if found else None


def publish(
    account: Account, adapter: Adapter, name: str, tell: Callable[[int], None], sleep: Callable[[float], None]
) -> Published:
    """``tell`` gets bytes as they are sent. UserError when other files have this name, or the account is full."""
    every = account.all()
    found = next((each for each in every if each.name == name), None)
    if found is None:
        if len(every) >= MAX_ADAPTERS:
            hint = "take another account, or ask Cloudflare for more: its API can't delete one"
            message = f"an account has at most {MAX_ADAPTERS} adapters"
            raise UserError(message, path="--name", got=name, hint=hint)
        id = account.create(name, adapter.base.id, f"by sluiceway, sha256:{adapter.digest}")
        refused = None
        _send(account, id, adapter, tell)
    else:
        id = found.id
        _same(found, adapter)
        if account.answers(adapter.base.id, id) == "yes":
            return Published(id, name, ())
        refused = _complete(account, id, adapter, tell)
    _await(account, adapter, id, name, refused, sleep)
    return Published(id, name, (CONFIG, WEIGHTS))


def _same(found: Finetune, adapter: Adapter) -> None:
    hint = "publish it under another --name: the files of one can't be changed"
    if found.model != adapter.base.id:
        raise UserError(f"an adapter for {found.model} has this name", path="--name", got=found.name, hint=hint)
    made_for = digest_of(found)
    if made_for is None:
        message = "this adapter was uploaded by other means, so nobody can tell what it holds"
        raise UserError(message, path="--name", got=found.name, hint=hint)
    if made_for != adapter.digest:
        message = f"other files have this name (sha256 {made_for[:12]}, and these {adapter.digest[:12]})"
        raise UserError(message, path="--name", got=found.name, hint=hint)


def _files(adapter: Adapter) -> tuple[tuple[str, Callable[[], BinaryIO]], ...]:
    """The two files in the order in which they are sent, each with what opens it."""
    return (CONFIG, lambda: io.BytesIO(adapter.config)), (WEIGHTS, lambda: reopen(adapter))


def _send(account: Account, id: str, adapter: Adapter, tell: Callable[[int], None]) -> None:
    for name, opened in _files(adapter):
        with opened() as data:
            account.upload(id, name, data, tell)


def _complete(account: Account, id: str, adapter: Adapter, tell: Callable[[int], None]) -> UserError | None:
    """Sends both files of one whose upload broke off. A file that is there is refused: that is told only if, after it,
    the base still doesn't answer."""
    refused: UserError | None = None
    for name, opened in _files(adapter):
        try:
            with opened() as data:
                account.upload(id, name, data, tell)
        except UserError as fault:
            refused = fault
    return refused


def _await(
    account: Account, adapter: Adapter, id: str, name: str, refused: UserError | None, sleep: Callable[[float], None]
) -> None:
    answer = account.answers(adapter.base.id, id)
    for wait in WAITS if refused is None else WAITS[:2]:
        if answer == "yes":
            return
        sleep(wait)
        answer = account.answers(adapter.base.id, id)
    if answer == "yes":
        return
    if refused is not None:
        raise refused
    why = "it lacks files" if answer == "incomplete" else "it isn't found"
    hint = "run the command again in some minutes; if that goes on, publish it under another --name"
    raise SluicewayError(f"uploaded, but {adapter.base.id} doesn't answer with it: {why}", path=name, hint=hint)
