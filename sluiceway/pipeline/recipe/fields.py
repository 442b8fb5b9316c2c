"""The kinds of value that a recipe is made of, beside those of the settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from sluiceway.domain.fault import Fault
from sluiceway.domain.paths import is_inside
from sluiceway.settings.fields import Rows, matching

_FEWEST_BATCHES = 2


def _relative(text: str) -> str:
    if not is_inside(text):
        raise Fault(
            "a path is relative to models/recipes/, with forward slashes and without . or ..",
            got=text,
            hint="put it below models/recipes/ and write it like minilm/validate.jsonl",
        )
    return text


def _inside(text: str) -> str:
    if not is_inside(text):
        hint = "write it as `unzip -l` lists it, like some_package/model"
        raise Fault("a folder in a wheel has forward slashes, and no . or ..", got=text, hint=hint)
    return text


def _code(value: object) -> object:
    if value is True:
        hint = "name the files that may be fetched, like [modeling_x.py], after reading them"
        raise Fault("code is allowed by name", got=True, hint=hint)
    return () if value is False else tuple(value) if isinstance(value, list) else value


def _batch(pair: tuple[int, ...]) -> tuple[int, ...]:
    if len(pair) != 2:
        raise Fault("a batch is [rows, length]", got=list(pair), hint="write it like [2, 5]")
    return pair


def _batches(pairs: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """A frozen axis shows only when it is asked for another size."""
    for at, what in ((0, "numbers of rows"), (1, "lengths")):
        if len({pair[at] for pair in pairs}) < _FEWEST_BATCHES:
            hint = "write them like [[1, 1], [1, 7], [2, 5]]"
            raise Fault(f"batches have at least two {what}, or a frozen axis isn't seen", hint=hint)
    return pairs


RecipePath = Annotated[str, AfterValidator(_relative)]
WheelFolder = Annotated[str, AfterValidator(_inside)]
Sha256 = Annotated[
    str,
    AfterValidator(
        matching("[0-9a-f]{64}", "a sha256 is 64 lower-case hex digits", "`sha256sum` of the file prints it")
    ),
]
Revision = Annotated[
    str,
    AfterValidator(
        matching(
            "[0-9a-f]{40}",
            "a revision is pinned by its commit: 40 lower-case hex digits",
            "copy the commit from the model's history; a branch or a tag can be moved",
        )
    ),
]
HubId = Annotated[
    str,
    AfterValidator(
        matching(
            r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}",
            "a model of Hugging Face is written org/name",
            "write it like sentence-transformers/all-MiniLM-L6-v2",
        )
    ),
]
DistributionName = Annotated[
    str,
    AfterValidator(
        matching(
            "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?",
            "a package's name is letters, digits and inner . _ -",
            "write it as pip installs it",
        )
    ),
]
VersionText = Annotated[
    str,
    AfterValidator(
        matching(
            r"[0-9]+(?:\.[0-9]+){0,3}(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?",
            "a version is numbers with dots between",
            'write it in quotes, like "1.32.0"',
        )
    ),
]
Module = Annotated[
    str,
    AfterValidator(
        matching(
            r"models\.recipes(?:\.[a-z_][a-z0-9_]*)+",
            "a module that trains lies in this checkout, below models/recipes/",
            "write it like models.recipes.intent.train",
        )
    ),
]
CodeFiles = Annotated[
    tuple[
        Annotated[
            str,
            AfterValidator(
                matching(
                    r"[A-Za-z_][A-Za-z0-9_]{0,99}\.py", "code is allowed by the name of its file", "like modeling_x.py"
                )
            ),
        ],
        ...,
    ],
    BeforeValidator(_code),
    Field(description="false, or a list of Python files like [modeling_x.py]"),
]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]
Above = Annotated[float, Field(ge=0, le=1_000_000, strict=False)]
Batch = Annotated[Rows[Annotated[int, Field(ge=1, le=4096)]], AfterValidator(_batch)]
Batches = Annotated[Rows[Batch], AfterValidator(_batches)]
