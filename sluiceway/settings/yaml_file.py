"""Reads one YAML file as data: positions in errors, no key twice, and plain scalars as the Pulumi engine reads them.

Readers of YAML disagree: to one ``no`` is false and ``1:30`` is ninety, to the engine both are text, but ``012`` is
ten. A file must mean the same to everybody, so such values must be quoted, and only true/false, decimal
numbers and null are anything but text.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from sluiceway.domain.fault import Fault
from sluiceway.domain.model import check_model_name
from sluiceway.errors import UserError


class _Loader(yaml.SafeLoader):
    pass


def _mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
    seen: dict[Hashable, int] = {}
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} isn't text", key_node.start_mark)
        if key in seen:
            note = f"the key {key!r} stands twice, first on line {seen[key]}"
            raise yaml.constructor.ConstructorError(None, None, note, key_node.start_mark)
        seen[key] = key_node.start_mark.line + 1
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


def _ambiguous(loader: _Loader, node: yaml.ScalarNode) -> object:
    note = f"readers of YAML disagree on what {node.value} means"
    raise yaml.constructor.ConstructorError(None, None, note, node.start_mark)


_AMBIGUOUS = (
    r"[yYnN]|[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF"  # booleans of YAML 1.1
    r"|[-+]?0[0-9_]+|[-+]?0[xXoObB][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?"  # octal, hex, with _
    r"|[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?"  # dates
)
_Loader.yaml_implicit_resolvers = {}
_Loader.add_constructor("tag:yaml.org,2002:ambiguous", _ambiguous)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("ambiguous", _AMBIGUOUS, "yYnNoO-+.0123456789"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}",
        re.compile(f"^(?:{_pattern})$"),
        [*_first.replace("\0", ""), *([""] * ("\0" in _first))],
    )


def read(path: Path, shown: str) -> dict[str, Any]:
    """The mapping in ``path``, called ``shown`` in errors. UserError with line and column when it's no YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError("the file doesn't exist", path=shown, hint="put it back from git, or write it") from None
    except UnicodeDecodeError as error:
        raise UserError(f"isn't UTF-8 at byte {error.start}", path=shown, hint="save it as UTF-8") from None
    except OSError as error:
        hint = "it must be a file that this user may read"
        raise UserError(f"can't be read: {error.strerror}", path=shown, hint=hint) from None
    return parse(text, shown)


def parse(text: str, shown: str) -> dict[str, Any]:
    """As ``read``, from text."""
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{shown}:{mark.line + 1}:{mark.column + 1}" if mark else shown
        raise UserError(f"not valid YAML: {error.problem}", path=where, hint=_hint(error)) from None
    except yaml.reader.ReaderError as error:
        where = f"{shown}:{text.count(chr(10), 0, error.position) + 1}"
        hint = f'take it out, or write it in double quotes as "\\u{error.character:04x}"'
        message = f"not valid YAML: the character U+{error.character:04X} is not allowed"
        raise UserError(message, path=where, hint=hint) from None
    except (RecursionError, ValueError) as error:
        hint = "look for a very long number, or for brackets in brackets a hundred deep"
        raise UserError(f"not valid YAML: {error}", path=shown, hint=hint) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UserError("must be a mapping at its top", path=shown, hint="write key: value, not a list or one value")
    return data


_HINTS = (
    ("'\\t'", "indent with spaces, not with tabs"),
    ("disagree", "put it in quotes when text is meant; booleans are true and false, numbers have no leading zero"),
    ("mapping values are not allowed", "quote a value that holds a colon, and check the indentation"),
    ("stands twice", "keep one of the two"),
    ("isn't text", "put the key in quotes"),
    ("that cannot start any token", "put the value in quotes"),
    ("the tag", "take the tag (!...) out: these files hold plain values"),
    ("recursive", "an alias (*) can't stand inside of what it names: write the value out"),
    ("undefined alias", "name the value by & before it is used by *, or put the text in quotes"),
    ("another document", "take the line --- out: a file holds one document"),
    ("quoted scalar", "close the quotes that are opened here or above"),
    ("expected", "look here and above for a bracket, brace or quote that isn't closed, and for uneven indentation"),
)  # fmt: skip


def _hint(error: yaml.MarkedYAMLError) -> str:
    told = f"{error.context} {error.problem}"
    found = next((hint for words, hint in _HINTS if words in told), None)
    return found or "look at this line and the one above: indentation, quotes, colons"


def model_name(path: Path, shown: str) -> str:
    """The name of what a file is of: its own, without the ending. UserError for one that a model can't have."""
    try:
        return check_model_name(path.stem)
    except Fault as fault:
        raise UserError(fault.message, path=shown, got=fault.got, hint=fault.hint) from None
