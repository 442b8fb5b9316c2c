"""Models and their versions: a named capability, and what answered under that name at one time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from sluiceway.domain.fault import Fault

Backend = Literal["workers-ai", "openai", "onnx"]
Task = Literal["chat", "classify", "embed"]
Parameter = bool | int | float | str

_MODEL_NAME: Final = re.compile(r"[a-z](?:[a-z0-9-]{0,46}[a-z0-9])?")
_TAKEN: Final = frozenset({"dashboard", "journal"})
"""``/_sluiceway/rollouts/journal`` is no model's."""
_REF: Final = re.compile(r"([a-z](?:[a-z0-9-]{0,46}[a-z0-9])?)@([1-9][0-9]{0,5})")


def check_model_name(name: str) -> str:
    if not _MODEL_NAME.fullmatch(name):
        raise Fault(
            "a model's name is 1 to 48 lower-case letters, digits and inner hyphens, first a letter",
            got=name,
            hint="write it like chat or chat-eu",
        )
    if name in _TAKEN:
        raise Fault(
            "no model can have this name: it stands in a path of the gateway's rollouts",
            got=name,
            hint=f"call it another, like {name}-1",
        )
    return name


@dataclass(frozen=True, order=True)
class ModelRef:
    """The name of one model version, written ``chat@3``."""

    model: str
    number: int

    def __str__(self) -> str:
        return f"{self.model}@{self.number}"


def parse_ref(text: str) -> ModelRef:
    """``chat@3`` -> ModelRef("chat", 3); a Fault for anything else."""
    found = _REF.fullmatch(text)
    if found is None:
        hint = "write the model's name, an @ and the version's number, which begins at 1 and has no leading zero"
        raise Fault("a model version is written like chat@3", got=text, hint=hint)
    return ModelRef(found[1], int(found[2]))


@dataclass(frozen=True)
class ArtifactFile:
    """One file of an ONNX version. ``path`` is relative to the repository, with forward slashes."""

    name: str
    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens. ``cached``: of prompt tokens that a prefix cache spared; None: as others."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True)
class ModelVersion:
    """What answers as ``model@number``; never changed once it was released.

    ``id`` is the backend's own name of the model and is None for ``onnx``, which has ``files`` instead.
    ``lora``: the adapter that a ``workers-ai`` model answers with, by its name in the account.
    An ``openai`` version is asked at ``base_url`` with the secret named ``secret``, or as ``provider`` of the
    stage's AI Gateway; ``guided``: clients may send it vLLM's ``guided_json`` and its like. Price, window (tokens
    of prompt and answer) and ``vision`` say what is known of the model, and may be corrected; None means unknown.
    """

    model: str
    number: int
    backend: Backend
    id: str | None = None
    lora: str | None = None
    prompt: str | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: MappingProxyType({}))
    files: tuple[ArtifactFile, ...] = ()
    base_url: str | None = None
    secret: str | None = None
    provider: str | None = None
    context_window: int | None = None
    price: Price | None = None
    vision: bool = False
    guided: bool = False

    @property
    def ref(self) -> ModelRef:
        return ModelRef(self.model, self.number)


@dataclass(frozen=True)
class Model:
    """A named capability; ``versions`` by rising number. ``default`` answers where no model is named.

    ``fallback``: who answers, in this order, when this model can't; a model's name or a version.
    """

    name: str
    task: Task
    default: bool
    versions: tuple[ModelVersion, ...]
    fallback: tuple[str, ...] = ()

    def version(self, number: int) -> ModelVersion | None:
        return next((version for version in self.versions if version.number == number), None)
