"""Reads what the answer is made from: a config.json, the shipped ones, the cards, a model or a recipe of a checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from sluiceway import catalog
from sluiceway.catalog.workers_ai import MODELS
from sluiceway.cost.book import PriceBook
from sluiceway.domain.model import ModelVersion
from sluiceway.errors import UserError
from sluiceway.fit.cards import Card
from sluiceway.fit.config import shape_of
from sluiceway.fit.report import Subject
from sluiceway.fit.tiers import ISOLATE, edge_need
from sluiceway.fit.units import human_bytes
from sluiceway.settings import yaml_file
from sluiceway.workspace import Workspace

FOLDER: Final = "models/fit"
RECIPES: Final = "models/recipes"
LONGEST: Final = 4 * 10**6
"""Bytes: the config.json of the largest models has some 20 kB."""


@dataclass(frozen=True)
class Shipped:
    """A config.json of models/fit: its short name, its file, its names elsewhere, also of wheels that hold it."""

    name: str
    file: str
    ids: tuple[str, ...]
    workers_ai: tuple[str, ...]


def subject(workspace: Workspace, text: str) -> Subject:
    """What ``text`` names: a config.json or its folder, a model or version of models/, a recipe, a shipped name.

    UserError when it names nothing, or something of which no config.json is known.
    """
    path = Path(text)
    if path.is_dir() and (path / "config.json").is_file():
        path = path / "config.json"
    if path.suffix == ".json":
        name = path.resolve().parent.name if path.name == "config.json" else path.stem
        return Subject(name, text, shape_of(load_config(path, text), text))
    known = shipped(workspace)
    models = catalog.load(workspace)
    name, _, number = text.partition("@")
    found = next((model for model in models.models if model.name == name and not text.startswith("@")), None)
    if found is not None:
        return _of_version(workspace, known, _version(found.versions, text, number))
    recipe = workspace.root / RECIPES / f"{text}.yaml"
    if "/" not in text and recipe.is_file():
        return _of_recipe(workspace, known, recipe, text)
    if path.is_file() and path.resolve().parent == (workspace.root / RECIPES).resolve() and path.suffix == ".yaml":
        return _of_recipe(workspace, known, path.resolve(), path.stem)
    for each in known:
        if text.lower() in (each.name, *(name.lower() for name in (*each.ids, *each.workers_ai))):
            return _of_shipped(workspace, each)
    if text in MODELS:
        _unknown_config(text, text)
    return _nothing(workspace, known, text)


def _nothing(workspace: Workspace, known: tuple[Shipped, ...], text: str) -> NoReturn:
    path = Path(text)
    if path.is_dir() and text:
        _no_config(
            f"there is no config.json in {text}", "give the folder or the file that lies beside a model's weights"
        )
    if path.is_file():
        hint = "give a config.json (any name that ends in .json), or the name of a model or recipe"
        _no_config(f"{text} is no config.json", hint)
    names = ", ".join(each.name for each in known)
    hint = f"give the path of a config.json, a model or recipe of {workspace.root.name}/models, or one of {names}"
    raise UserError("there is no such model", path="MODEL", got=text, hint=hint)


def _version(versions: tuple[ModelVersion, ...], text: str, number: str) -> ModelVersion:
    """The newest one, or the one that ``number`` says."""
    found = next((each for each in reversed(versions) if not number or str(each.number) == number), None)
    if found is None or text.endswith("@"):
        hint = f"its versions are {', '.join(str(each.ref) for each in versions)}"
        raise UserError("there is no such version", path="MODEL", got=text, hint=hint)
    return found


def _of_version(workspace: Workspace, known: tuple[Shipped, ...], version: ModelVersion) -> Subject:
    named = version.id or ""
    if version.backend == "onnx":
        return _of_onnx(workspace, known, version)
    for each in known:
        if named.lower() in {name.lower() for name in (*each.workers_ai, *each.ids)}:
            made = _of_shipped(workspace, each)
            ids = (named,) if version.backend == "workers-ai" else ()
            price = PriceBook.of(catalog.load(workspace).models).price(version.ref)
            return Subject(str(version.ref), made.source, made.shape, ids, price if ids else None)
    return _unknown_config(f"{version.ref} ({named})", named)


def _of_onnx(workspace: Workspace, known: tuple[Shipped, ...], version: ModelVersion) -> Subject:
    """By the recipe that has the model's name, else what its files alone say."""
    recipe = workspace.root / RECIPES / f"{version.model}.yaml"
    size = sum(file.bytes for file in version.files)
    if recipe.is_file() and "train" not in _source(recipe):
        return _of_recipe(workspace, known, recipe, str(version.ref))
    message = (
        f"{version.ref} is ONNX of {human_bytes(size)}, and there is no config.json of it; by the size of its files it "
        f"needs {human_bytes(edge_need(size, 0))} of the {human_bytes(ISOLATE)} of an isolate"
    )
    return _no_config(message, "give the config.json that its recipe began with, if there was one")


def _source(recipe: Path) -> Mapping[str, Any]:
    return _block(_block(yaml_file.read(recipe, f"{RECIPES}/{recipe.name}")).get("source"))


def _unknown_config(what: str, id: str) -> NoReturn:
    repository = id.removeprefix("@cf/")
    hint = f"download the config.json of {repository}, and nothing else, from where it is published; give its path"
    _no_config(f"the config.json of {what} isn't one of {FOLDER}", hint)


def _no_config(message: str, hint: str) -> NoReturn:
    raise UserError(message, path="MODEL", hint=hint)


def _of_shipped(workspace: Workspace, each: Shipped) -> Subject:
    shown = f"{FOLDER}/{each.file}"
    shape = shape_of(load_config(workspace.root / shown, shown), shown)
    price = next((MODELS[name].price for name in each.workers_ai if name in MODELS), None)
    return Subject(each.name, shown, shape, each.workers_ai, price)


def _of_recipe(workspace: Workspace, known: tuple[Shipped, ...], recipe: Path, name: str) -> Subject:
    shown = f"{RECIPES}/{recipe.name}"
    source = _source(recipe)
    folder = source.get("folder")
    names = [_block(source.get("huggingface")).get("id"), _block(source.get("wheel")).get("name")]
    if isinstance(folder, str):
        path = f"{RECIPES}/{folder}/config.json"
        return Subject(name, path, shape_of(load_config(workspace.root / path, path), path))
    for each in known:
        if any(isinstance(id, str) and id.lower() in {known.lower() for known in each.ids} for id in names):
            made = _of_shipped(workspace, each)
            return Subject(name, made.source, made.shape, made.workers_ai, made.price)
    message = f"the source of {shown} has no config.json that can be read without fetching it"
    return _no_config(message, "build the recipe, or give the path of its config.json")


def shipped(workspace: Workspace) -> tuple[Shipped, ...]:
    """The models of models/fit/models.yaml."""
    shown = f"{FOLDER}/models.yaml"
    listed = _block(yaml_file.read(workspace.root / shown, shown))
    return tuple(
        Shipped(name, str(each["config"]), (str(each["id"]), *each.get("also", ())), tuple(each.get("workers_ai", ())))
        for name, each in listed.items()
    )


def cards(workspace: Workspace) -> tuple[Card, ...]:
    """The cards of models/fit/cards.yaml, in its order."""
    shown = f"{FOLDER}/cards.yaml"
    found = []
    for name, each in _block(yaml_file.read(workspace.root / shown, shown)).items():
        fp8, hourly = each.get("fp8"), each.get("usd_hour")
        try:
            card = Card(
                name=name,
                memory=int(each["memory_gb"] * 10**9),
                bandwidth=each["bandwidth"] * 1e9,
                bf16=each["bf16"] * 1e12,
                fp8=fp8 * 1e12 if fp8 else None,
                usd_hour=hourly,
                linked=bool(each.get("linked", True)),
            )
        except (KeyError, TypeError):
            hint = "a card has memory_gb, bandwidth and bf16, and may have fp8 and usd_hour, all numbers"
            raise UserError("the card isn't complete", path=f"{shown}: {name}", hint=hint) from None
        found.append(card)
    return tuple(found)


def load_config(path: Path, shown: str) -> Mapping[str, Any]:
    """The object in a config.json. UserError for what isn't one: no file, too long, no JSON, NaN, nested too deep."""
    hint = "give the config.json that lies beside a model's weights"
    if not path.is_file():
        raise UserError("the file doesn't exist, or is no file", path=shown, hint=hint)
    with path.open("rb") as stream:
        raw = stream.read(LONGEST + 1)
    if len(raw) > LONGEST:
        raise UserError(f"is longer than {LONGEST:,} bytes: no config.json is", path=shown, hint=hint)
    try:
        found = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise UserError(f"isn't UTF-8 at byte {error.start}", path=shown, hint=hint) from None
    except RecursionError:
        raise UserError("is nested too deep", path=shown, hint=hint) from None
    except json.JSONDecodeError as error:
        raise UserError(f"isn't JSON: {error.msg} on line {error.lineno}", path=shown, hint=hint) from None
    except ValueError as error:
        # Also a number of thousands of digits, which Python refuses to read.
        told = str(error) if str(error).startswith("holds ") else "holds a number that is too long"
        raise UserError(told, path=shown, hint=hint) from None
    if not isinstance(found, dict):
        raise UserError("holds no JSON object", path=shown, hint=hint)
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"holds {text}, which is no number in JSON")


def _block(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
