"""Workers AI's fine-tunes through Cloudflare's own SDK: LoRA adapters of an account, by name.

Works on Cloudflare and on the local stage. A fine-tune can't be changed or deleted, and the API doesn't tell which of
its files it has: only a run with it does.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, cast

from cloudflare import APIConnectionError, APIStatusError, Cloudflare
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from sluiceway.cloudflare.worker_api import said
from sluiceway.errors import SluicewayError, UserError

Answer = Literal["yes", "absent", "incomplete"]
_UPLOAD_SECONDS: Final = 600
_ABSENT: Final = 3037
_INCOMPLETE: Final = 3039


class Finetune(BaseModel):
    """``model``: the base it is for."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    name: str
    model: str
    description: str | None = None
    created_at: str = ""


_LIST: Final = TypeAdapter(list[Finetune])


@dataclass(frozen=True)
class Finetunes:
    """Those of an account. UserError for what Cloudflare refuses, SluicewayError for what fails."""

    client: Cloudflare
    account_id: str

    def all(self) -> list[Finetune]:
        with _told("the list of fine-tunes"):
            # Raw: the SDK's type has one fine-tune in the place of the list that the API sends.
            answer = self.client.ai.finetunes.with_raw_response.list(account_id=self.account_id)
            document = answer.http_response.json()
        try:
            return _LIST.validate_python((document or {}).get("result") or [])
        except (ValidationError, AttributeError) as error:
            raise SluicewayError("Cloudflare sent no list of fine-tunes", path="ai/finetunes") from error

    def create(self, name: str, model: str, description: str) -> str:
        """The id of a new one, which has no files yet."""
        with _told(f"fine-tune {name}"):
            made = self.client.ai.finetunes.create(
                account_id=self.account_id, model=model, name=name, description=description
            )
        return made.id

    def upload(self, id: str, name: str, data: BinaryIO, tell: Callable[[int], None]) -> None:
        """Sends one of its two files, ``name``; ``tell`` gets bytes as they are read."""
        # A retry seeks to the first byte, so the SDK may make one.
        watched = cast(BinaryIO, _Watched(data, tell))
        with _told(f"{name} of fine-tune {id}"):
            self.client.ai.finetunes.assets.create(
                id, account_id=self.account_id, file_name=name, file=(name, watched), timeout=_UPLOAD_SECONDS
            )

    def answers(self, model: str, lora: str) -> Answer:
        """Whether ``model`` answers with it, by asking for one token; that is the only thing that shows its files."""
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "lora": lora}
        path = f"/accounts/{self.account_id}/ai/run/{model}"
        with _told(f"a run of {model} with {lora}"):
            try:
                self.client.post(path, body=body, cast_to=object)
            except APIStatusError as fault:
                code, _ = said(fault)
                if code == _ABSENT:
                    return "absent"
                if code == _INCOMPLETE and fault.status_code == 400:
                    return "incomplete"
                raise
        return "yes"


class _Watched(io.RawIOBase):
    """A file that tells what was read of it; the SDK takes it for one, and sends it piece by piece."""

    def __init__(self, inner: BinaryIO, tell: Callable[[int], None]) -> None:
        self._inner = inner
        self._tell = tell

    def read(self, size: int | None = -1) -> bytes:
        data = self._inner.read(-1 if size is None else size)
        self._tell(len(data))
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        return self._inner.tell()


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except APIConnectionError as fault:
        message = f"Cloudflare's API did not answer: {type(fault).__name__}"
        raise SluicewayError(message, path=what, hint="run the command again: it goes on where it was") from None
    except APIStatusError as fault:
        code, words = said(fault)
        text = f"Cloudflare refused: {words} ({code or fault.status_code})"
        if fault.status_code in (401, 403):
            hint = "CLOUDFLARE_API_TOKEN needs `Workers AI: Edit` for this account"
            raise UserError(text, path=what, hint=hint) from None
        if fault.status_code >= 500 or fault.status_code == 429:
            hint = "run the command again in a moment: it goes on where it was"
            raise SluicewayError(text.replace("refused", "failed", 1), path=what, hint=hint) from None
        raise UserError(text, path=what, hint="`sluiceway models lora list` shows what the account has") from None
