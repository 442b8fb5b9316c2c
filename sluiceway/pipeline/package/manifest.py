"""model.json: what a package holds and how it was made. The file is checked against these shapes wherever it is read.

A reader takes the ``format`` numbers that it knows and refuses others, so a field is never given another meaning.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, ValidationError

from sluiceway.domain.fault import Fault
from sluiceway.domain.model import Task
from sluiceway.errors import UserError
from sluiceway.settings.faults import told
from sluiceway.settings.fields import Block, Listed, ModelName, Rows, matching

NAME: Final = "model.json"
SIGNATURE: Final = "model.sig"
"""Beside it, where the package is signed. Neither lists itself, and the second is of all others."""
FORMAT: Final = 1
MOST_BYTES: Final = 4 << 20
_AGAIN = "build the package again: it is written by `sluiceway models build`"


def _inside(name: str) -> str:
    parts = name.split("/")
    if not name or name.startswith(("/", "~")) or "\\" in name or ":" in name or {"", ".", ".."} & set(parts):
        raise Fault("a file's path leaves the package's folder", got=name, hint=_AGAIN)
    if not name.isprintable() or len(name) > 200:
        raise Fault("a file's path is up to 200 printable characters", got=name[:200], hint=_AGAIN)
    return name


Name = Annotated[str, AfterValidator(_inside)]
Sha256 = Annotated[str, AfterValidator(matching("[0-9a-f]{64}", "a sha256 is 64 lower-case hex digits", _AGAIN))]
Role = Literal["graph", "weights", "tokenizer", "chat-template", "config", "licence", "sbom", "other"]
Json = dict[str, Any]


class File(Block):
    """``name`` is relative to the package's folder; ``bytes`` is the length."""

    name: Name
    role: Role
    sha256: Sha256
    bytes: Annotated[int, Field(ge=0)]


class Port(Block):
    """An input or output. ``dims``: a number where it is fixed, a name where it is free, null where nothing is said;
    null in place of the list where the rank is unknown."""

    name: str
    type: str
    dims: Rows[int | str | None] | None


class Graph(Block):
    """``opsets`` by domain; the standard operators' domain is the empty text."""

    ir: Annotated[int, Field(ge=1)]
    opsets: dict[str, int]
    inputs: Rows[Port]
    outputs: Rows[Port]


class Tokenizer(Block):
    """``ids``: what the tokenizer makes of ``text``, so that a reader can tell whether it loads it alike."""

    layout: Literal["tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model"]
    text: str
    ids: Rows[int]


class Chat(Block):
    """``sha256`` of a chat of two turns as the template ``file`` renders it."""

    file: Name
    sha256: Sha256


class Lineage(Block):
    """``passes`` in their order, each with its report."""

    recipe: str
    recipe_sha256: Sha256
    passes: Rows[Json] = ()


class Manifest(Block):
    """The whole file. ``runtime``: the oldest version of each runtime that loads the graph."""

    format: Literal[1]
    model: ModelName
    task: Task
    precision: str
    files: Rows[File]
    graph: Graph
    tokenizer: Tokenizer | None
    chat: Chat | None
    source: Json
    licence: str | None
    lineage: Lineage
    metrics: Json
    runtime: dict[str, str]
    notes: Listed[str] = ()

    @property
    def figures(self) -> dict[str, int | float]:
        """The numbers among the metrics by name: those under ``figures`` where validation wrote them, else all."""
        stated = self.metrics.get("figures")
        found = stated if isinstance(stated, dict) else self.metrics
        return {
            name: value
            for name, value in sorted(found.items())
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def text(self) -> str:
        """The file's text: the same for the same content, whatever the machine."""
        document = self.model_dump(mode="json")
        return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read(path: Path) -> Manifest:
    """The manifest in ``path``. UserError for the first fault, with its path in the file."""
    shown = str(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"is larger than {MOST_BYTES} bytes", path=shown, hint=_AGAIN)
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError("no model.json: this is no package", path=shown, hint=_AGAIN) from None
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror}", path=shown, hint=_AGAIN) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"is no JSON: {error}", path=shown, hint=_AGAIN) from None
    if isinstance(document, dict) and document.get("format", FORMAT) != FORMAT:
        hint = "take a Sluiceway that knows it, or build the package again with this one"
        got = document["format"]
        raise UserError(f"this Sluiceway reads format {FORMAT}", path=f"{shown}: format", got=got, hint=hint)
    try:
        found = Manifest.model_validate(document)
    except ValidationError as error:
        raise told(error, Manifest, lambda dotted: f"{shown}: {dotted}" if dotted else shown) from None
    _check_names(found, shown)
    return found


def _check_names(manifest: Manifest, shown: str) -> None:
    names = [file.name for file in manifest.files]
    twice = next((name for at, name in enumerate(names) if name in names[:at] or name == NAME), None)
    if twice:
        raise UserError("a file stands twice", path=f"{shown}: files", got=twice, hint=_AGAIN)
    if SIGNATURE in names:
        raise UserError("lists its own signature", path=f"{shown}: files", got=SIGNATURE, hint=_AGAIN)
    if "model.onnx" not in names:
        raise UserError("lists no model.onnx", path=f"{shown}: files", hint=_AGAIN)
