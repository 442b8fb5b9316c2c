"""What the guard's classifier adds to a message, in processor time, and how often it is right on those held out."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from models.recipes.injection import data, train
from sluiceway.errors import SluicewayError

SCRIPT = Path(__file__).with_name("guard.ts")
MOST_US = 1_000


@dataclass(frozen=True)
class Guard:
    """Microseconds of processor for a message, by the rules and with the classifier; ``long``: 16,000 characters."""

    accuracy: dict[str, float]
    rules_us: float
    both_us: float
    long_rules_us: float
    long_both_us: float

    @property
    def added_us(self) -> float:
        return self.both_us - self.rules_us

    @property
    def goal(self) -> tuple[bool, str]:
        return self.added_us < MOST_US, f"the guard's classifier adds under 1 ms of processor: {self.added_us:.0f} us"

    def report(self) -> list[str]:
        by = ", ".join(f"{name} {share:.1%}" for name, share in self.accuracy.items())
        added = self.long_both_us - self.long_rules_us
        return [
            f"the guard's classifier on messages that were held out: {by}",
            f"  processor of a message {self.rules_us:.0f} us by the rules, {self.both_us:.0f} us with it:"
            f" {self.added_us:+.0f} us; {added:+.0f} us for 16,000 characters, the most that it reads",
        ]


def measure(node: Path, rounds: int) -> Guard:
    """SluicewayError when the measurement ends early."""
    _, held = data.divide(data.read())
    onnx = train.OUT / "model.onnx"
    order = {"onnx": str(onnx), "prompts": [text for *_, text in held], "rounds": rounds}
    ended = subprocess.run([str(node), str(SCRIPT)], input=json.dumps(order), stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        raise SluicewayError("the guard's measurement ended early", hint="what went wrong stands above")
    return Guard(train.measured(onnx.read_bytes(), held), **json.loads(ended.stdout))
