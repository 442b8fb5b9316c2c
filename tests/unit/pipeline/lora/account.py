"""An account in memory that behaves as the API does, and can break off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from sluiceway.cloudflare.finetunes import Answer, Finetune
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.lora import CONFIG, WEIGHTS


@dataclass
class FakeAccount:
    """``files``: what each fine-tune has, by its id. ``dies_at``: number of the upload that never comes through;
    ``lag``: how many runs don't find a fine-tune that is whole; ``refuses``: what it says of every upload."""

    made: list[Finetune] = field(default_factory=list)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    dies_at: int = 0
    lag: int = 0
    refuses: str | None = None

    def all(self) -> list[Finetune]:
        return list(self.made)

    def create(self, name: str, model: str, description: str) -> str:
        found = Finetune(id=f"id-{len(self.made)}", name=name, model=model, description=description)
        self.made.append(found)
        self.files[found.id] = {}
        self.log.append(f"create {name}")
        return found.id

    def upload(self, id: str, name: str, data: BinaryIO, tell: Callable[[int], None]) -> None:
        self.log.append(f"upload {name}")
        if self.dies_at == sum(line.startswith("upload") for line in self.log):
            self.dies_at = 0
            raise SluicewayError("Cloudflare's API did not answer")
        if self.refuses or name in self.files[id]:
            raise UserError(self.refuses or "it is there already", hint="see there")
        self.files[id][name] = data.read()
        tell(len(self.files[id][name]))

    def answers(self, model: str, lora: str) -> Answer:
        self.log.append("run")
        found = next((each for each in self.made if lora == each.id and model == each.model), None)
        if found is None:
            return "absent"
        if set(self.files[found.id]) != {CONFIG, WEIGHTS}:
            return "incomplete"
        self.lag -= 1
        return "yes" if self.lag < 0 else "absent"
