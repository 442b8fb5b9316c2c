"""``sluiceway models fit``: where a model can run, by its config.json alone."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.output import JsonFlag, print_json, print_text
from sluiceway.errors import UserError
from sluiceway.fit import read
from sluiceway.fit.cards import Load
from sluiceway.fit.document import document
from sluiceway.fit.memory import CACHE_BYTES
from sluiceway.fit.money import Mix
from sluiceway.fit.report import Question, answer
from sluiceway.fit.view import lines

USUAL_CONTEXT: Final = 8_192
_MIX: Final = re.compile(r"([0-9]{1,6}):([0-9]{1,6})")

Named = Annotated[
    str, typer.Argument(help="A model, a recipe, a name like kimi-k2, or the path of a config.json.", metavar="MODEL")
]
Context = Annotated[int | None, typer.Option(min=1, help="Tokens of prompt and answer; else 8192, or the model's.")]
Concurrency = Annotated[int, typer.Option(min=1, max=100_000, help="Sequences at once.")]
Month = Annotated[int, typer.Option("--tokens-per-month", min=1, max=10**15, help="Read and written together.")]
MixText = Annotated[str, typer.Option("--mix", help="Tokens read for tokens written.", metavar="READ:WRITTEN")]
Cache = Annotated[str, typer.Option("--cache", help="What the cache is kept in: bf16 or fp8.")]
Gpu = Annotated[str | None, typer.Option("--gpu", help="Tell of this card, like h200; else of the cheapest.")]
GpuPrice = Annotated[
    float | None, typer.Option("--gpu-price", min=0.001, max=10_000, help="US dollars for a card and an hour.")
]


def register(app: typer.Typer) -> None:
    app.command("fit")(fit)


def fit(
    model: Named,
    context: Context = None,
    concurrency: Concurrency = 8,
    month: Month = 100_000_000,
    mix: MixText = "3:1",
    cache: Cache = "bf16",
    gpu: Gpu = None,
    gpu_price: GpuPrice = None,
    as_json: JsonFlag = False,
) -> None:
    """Say where MODEL fits, how fast and how dear it is there, by numbers: no weights are downloaded."""
    if cache not in CACHE_BYTES:
        raise UserError("no such cache", path="--cache", got=cache, hint=f"known are {', '.join(CACHE_BYTES)}")
    workspace = find_workspace()
    subject = read.subject(workspace, model)
    load = Load(context or min(USUAL_CONTEXT, subject.shape.limit), concurrency, cache)
    question = Question(load, month, _mix(mix), gpu.lower() if gpu else None, gpu_price)
    report = answer(subject, read.cards(workspace), question)
    if as_json:
        print_json(document(report))
        return
    for line in lines(report):
        print_text(line)


def _mix(text: str) -> Mix:
    found = _MIX.fullmatch(text)
    if found is None or int(found[1]) + int(found[2]) == 0:
        raise UserError("a mix is two numbers, not both 0", path="--mix", got=text, hint="write it like 3:1")
    return Mix(int(found[1]), int(found[2]))
