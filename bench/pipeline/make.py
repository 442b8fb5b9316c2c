"""Who is measured, and how each model is made: a command in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluiceway.errors import SluicewayError
from sluiceway.progress import Progress

RIVALS: Final = Path(__file__).parent / "rivals"
PLAIN_INT4: Final = '[{"kind": "int4-weights", "block": 32}]'


@dataclass(frozen=True)
class Contender:
    """``command`` makes ``folder``/model.onnx. ``usual``: its seconds on a machine that does nothing else."""

    by: str
    name: str
    folder: Path
    command: Sequence[str]
    usual: float


@dataclass(frozen=True)
class Made:
    """``seconds`` of the processor, ``peak_mb`` in 10^6 bytes. ``failed``: why there is no model, else empty."""

    seconds: float
    peak_mb: float
    failed: str = ""


def ours(recipe: str, name: str, asked: str, source: Path, folder: Path) -> Contender:
    """``asked``: as `bench.pipeline.ours` takes it."""
    command = (sys.executable, "-m", "bench.pipeline.ours", recipe, asked, str(source), str(folder))
    return Contender("ours", name, folder, command, 20)


def decoders(checkpoint: Path, work: Path, builder: Path | None, optimum: Path | None) -> list[Contender]:
    """All SmolLM2 that are measured, in the order of the table. The float one of ours is read by the others of ours."""
    made = [
        ours("smollm2", "fp32", "export", checkpoint, work / "ours-fp32"),
        ours("smollm2", "int8", "passes", work / "ours-fp32", work / "ours-int8"),
        ours("smollm2", "int4 mixed", "int4", work / "ours-fp32", work / "ours-int4-mixed"),
        ours("smollm2", "int4 plain", PLAIN_INT4, work / "ours-fp32", work / "ours-int4"),
    ]
    if builder:
        made += [_built(builder, name, checkpoint, work) for name in ("fp32", "int8", "int4", "k_quant_mixed")]
    if optimum:
        folder = work / "optimum-fp32"
        words = ("--model", str(checkpoint), "--task", "text-generation-with-past", str(folder))
        command = (str(optimum), "-W", "ignore", "-m", "optimum.exporters.onnx", *words)
        made.append(Contender("optimum", "fp32", folder, command, 60))
    return made


def _built(python: Path, name: str, checkpoint: Path, work: Path) -> Contender:
    folder = work / f"builder-{name}"
    mixed = name == "k_quant_mixed"
    places = ("-i", str(checkpoint), "-o", str(folder), "-c", str(work / "builder-cache"))
    words = (*places, "-p", "int4" if mixed else name, "-e", "cpu")
    more = ("--extra_options", f"algo_config={name}") if mixed else ()
    command = (str(python), "-W", "ignore", "-m", "onnxruntime_genai.models.builder", *words, *more)
    return Contender("builder", name, folder, command, 90 if mixed else 25)


def encoders(checkpoint: Path, work: Path) -> list[Contender]:
    """Our MiniLM; the published one is fetched as it is."""
    return [
        ours("minilm", "fp32", "export", checkpoint, work / "ours-fp32"),
        ours("minilm", "int8", "passes", work / "ours-fp32", work / "ours-int8"),
    ]


def make(contender: Contender, progress: Progress) -> Made:
    """Runs its command. SluicewayError when one of ours fails; a rival is told as failed."""
    contender.folder.mkdir(parents=True, exist_ok=True)
    with progress.step(f"{contender.by}: {contender.name}", contender.usual):
        made = spawn(contender.command, contender.folder.with_suffix(".log"))
    if made.failed and contender.by == "ours":
        hint = "the words above are the stage's own; `sluiceway models build` shows where it stands"
        raise SluicewayError(f"{contender.name} can't be made: {made.failed}", path=str(contender.folder), hint=hint)
    if made.failed:
        shutil.rmtree(contender.folder)
    return made


def spawn(command: Sequence[str], log: Path) -> Made:
    """Runs ``command`` with no way to a hub; what it says goes to ``log``.

    On one thread: threads that wait for one another burn the processor's time, which is what is told here.
    """
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
    child.returncode = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    failed = ""
    if child.returncode:
        said = log.read_text("utf-8", errors="replace").strip().splitlines()[-1:] or [f"exit {child.returncode}"]
        failed = said[0][:300]
    return Made(used.ru_utime + used.ru_stime, peak, failed)
