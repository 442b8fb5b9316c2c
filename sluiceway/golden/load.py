"""Reads ``models/golden/<model>.jsonl``. The first fault is told with its file and line, and its path in the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import ValidationError

from sluiceway.catalog import Catalog
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import parse_ref
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError
from sluiceway.golden.model import KINDS, Check, Judge, Line, Prompt
from sluiceway.settings.faults import told
from sluiceway.workspace import Workspace

FOLDER: Final = "models/golden"
_MOST_BYTES: Final = 16 * 1024 * 1024
_MOST_PROMPTS: Final = 10_000
_SHAPE: Final = 'one JSON object a line: {"id": "fact-en-01", "language": "en", "topic": "facts", "prompt": "...", ...}'


@dataclass(frozen=True)
class Golden:
    """The golden prompts of one model; ``source`` is their file as it is told to people."""

    model: str
    source: str
    prompts: tuple[Prompt, ...]


def load_all(workspace: Workspace, catalog: Catalog) -> tuple[Golden, ...]:
    """All files of ``models/golden``. UserError for the first fault, also for a file of no chat model."""
    folder = workspace.root / FOLDER
    stray = [path.name for path in sorted(folder.glob("*")) if path.suffix != ".jsonl"] if folder.is_dir() else []
    if stray:
        raise UserError("is no .jsonl file", path=f"{FOLDER}/{stray[0]}", hint=f"call it {Path(stray[0]).stem}.jsonl")
    return tuple(load(path, f"{FOLDER}/{path.name}", path.stem, catalog) for path in sorted(folder.glob("*.jsonl")))


def load(path: Path, shown: str, model: str, catalog: Catalog) -> Golden:
    """The golden prompts in ``path``, called ``shown`` in errors, for the model of that name."""
    found = catalog.model(model, shown)
    if found.task != "chat":
        hint = "golden prompts are for models of task chat"
        raise UserError(f"{model} answers no prompts: its task is {found.task}", path=shown, hint=hint)
    prompts: list[Prompt] = []
    seen: dict[str, str] = {}
    for number, text in enumerate(_text(path, shown).split("\n"), start=1):
        if not text.strip():
            continue
        prompt = _prompt(text, f"{shown}:{number}")
        if prompt.id in seen:
            hint = "give this one an id of its own"
            raise UserError(f"this id stands at {seen[prompt.id]} already", path=prompt.where, got=prompt.id, hint=hint)
        seen[prompt.id] = prompt.where
        for judge in prompt.judges:
            _check_judge(judge, model, catalog, f"{prompt.where}: checks[{prompt.checks.index(judge)}].model")
        prompts.append(prompt)
    if not 0 < len(prompts) <= _MOST_PROMPTS:
        message = "there is no prompt in it" if not prompts else f"there are more than {_MOST_PROMPTS} prompts in it"
        raise UserError(message, path=shown, hint=f"write {_SHAPE}" if not prompts else "keep those that tell most")
    return Golden(model, shown, tuple(prompts))


def _text(path: Path, shown: str) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        hint = "it must be a file that this user may read; each model's lies at models/golden/<model>.jsonl"
        raise UserError(f"can't be read: {error.strerror}", path=shown, hint=hint) from None
    if len(raw) > _MOST_BYTES:
        raise UserError(
            f"is over {_MOST_BYTES} bytes", path=shown, got=len(raw), hint="keep the prompts that tell most"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"isn't UTF-8 at byte {error.start}", path=f"{shown}:{line}", hint="save it as UTF-8") from None


def _prompt(text: str, where: str) -> Prompt:
    stated = _object(text, where)
    try:
        line = Line.model_validate(stated)
    except ValidationError as error:
        raise told(error, Line, _inside(where)) from None
    if not line.checks:
        hint = 'add one, like {"kind": "contains", "text": "Paris"}'
        raise UserError("a prompt has at least one check", path=f"{where}: checks", hint=hint)
    checks = tuple(_check(check, where, f"checks[{at}]") for at, check in enumerate(line.checks))
    request: dict[str, Any] = {"max_tokens": line.max_tokens, "temperature": line.temperature}
    if line.json_mode:
        request["response_format"] = {"type": "json_object"}
    return Prompt(
        id=line.id,
        where=where,
        language=line.language,
        topic=line.topic,
        messages=_messages(line, where),
        request={name: value for name, value in request.items() if value is not None},
        checks=checks,
    )


def _messages(line: Line, where: str) -> tuple[dict[str, str], ...]:
    if (line.prompt is None) == (not line.messages):
        hint = "write the user's text as prompt, or a whole talk as messages"
        raise UserError("a line has a prompt or messages, one of the two", path=where, hint=hint)
    if line.prompt is not None:
        return ({"role": "user", "content": line.prompt},)
    if line.messages[-1].role != "user":
        path = f"{where}: messages[{len(line.messages) - 1}].role"
        hint = "end with what the model is to answer"
        raise UserError("the last message is the user's", path=path, got=line.messages[-1].role, hint=hint)
    return tuple({"role": message.role, "content": message.content} for message in line.messages)


def _check(stated: dict[str, Any], where: str, at: str) -> Check:
    kind = stated.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        near = nearest(str(kind), tuple(KINDS))
        hint = f"did you mean {near}?" if near else f"one of {', '.join(KINDS)}"
        message = "is required" if "kind" not in stated else "is no kind of check"
        got = {} if "kind" not in stated else {"got": kind}
        raise UserError(message, path=f"{where}: {at}.kind", hint=hint, **got)
    try:
        return model.model_validate(stated)
    except ValidationError as error:
        raise told(error, model, lambda dotted: f"{where}: {at}.{dotted}" if dotted else f"{where}: {at}") from None


def _check_judge(judge: Judge, model: str, catalog: Catalog, path: str) -> None:
    name = judge.model.partition("@")[0]
    found = catalog.model(name, path)
    if "@" in judge.model:
        catalog.version(parse_ref(judge.model), path)
    if name == model or found.task != "chat":
        message = "a judge is another model of task chat: nobody grades their own answers"
        others = ", ".join(each.name for each in catalog.models if each.task == "chat" and each.name != model)
        hint = f"one of {others}" if others else "add such a model, or take the check out"
        raise UserError(message, path=path, got=judge.model, hint=hint)


def _inside(where: str) -> Callable[[str], str]:
    return lambda dotted: f"{where}: {dotted}" if dotted else where


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except Fault as fault:
        raise UserError(fault.message, path=where, hint=fault.hint) from None
    except json.JSONDecodeError as error:
        hint = "each prompt is one JSON object on one line: look for a quote, comma or brace that is missing"
        raise UserError(f"not valid JSON: {error.msg}", path=f"{where}:{error.colno}", hint=hint) from None
    except (RecursionError, ValueError) as error:
        hint = "look for a very long number, or for brackets in brackets"
        raise UserError(f"not valid JSON: {error}", path=where, hint=hint) from None
    if not isinstance(found, dict):
        raise UserError("is no JSON object", path=where, hint=f"write {_SHAPE}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Fault(f"the key {name!r} stands twice", hint="keep one of the two")
        found[name] = value
    return found


def _constant(name: str) -> NoReturn:
    raise Fault(f"{name} is no number of JSON's", hint="write a plain number")
