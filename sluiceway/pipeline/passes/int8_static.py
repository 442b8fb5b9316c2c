"""int8-static: weights and activations become int8 by ranges measured on a calibration set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.pipeline.passes import run
from sluiceway.pipeline.passes.settings import Int8Static
from sluiceway.pipeline.types import Model, PassReport


@dataclass(frozen=True)
class Int8StaticPass:
    """MatMul only, with unsigned activations: other operators and signed ones cost quality. Hold it to a limit.

    ``calibration`` is a path from the working directory, or an absolute one. Activations of 16 bits keep the quality
    of a language model that 8 bits lose, at half the speed.
    """

    settings: Int8Static
    kind: str = "int8-static"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """A UserError for a calibration set that is missing, empty or of rows that the model can't take."""
        return run.execute(self.kind, source, out, lambda folder: _quantise(source, folder, self.settings))


def _quantise(source: Model, folder: Path, settings: Int8Static) -> run.Asked:
    from onnxruntime.quantization import (  # type: ignore[import-untyped]
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    from sluiceway.pipeline.passes import calibration, quiet, store, targets

    methods = {
        "minmax": CalibrationMethod.MinMax,
        "entropy": CalibrationMethod.Entropy,
        "percentile": CalibrationMethod.Percentile,
    }
    model = store.load(source.path)
    chosen = targets.choose(model, ("MatMul",), settings.keep, stated=False)
    targets.plain_floats(chosen.asked)
    rows = calibration.read(Path(settings.calibration), source, settings.length)
    prepared = targets.write_for_library(model, folder)
    with quiet.library():
        quantize_static(
            prepared,
            folder / "made.onnx",
            calibration.Reader(rows),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["MatMul"],
            nodes_to_quantize=[use.node.name for use in chosen.asked],
            per_channel=settings.per_channel,
            activation_type=QuantType.QUInt8 if settings.activations == "u8" else QuantType.QInt16,
            weight_type=QuantType.QInt8,
            calibrate_method=methods[settings.method],
            use_external_data_format=store.weigh(model) > store.INLINE_LIMIT,
        )
    targets.read_from_library(folder)
    asked = run.names(chosen.asked)
    notes = (f"{len(rows)} rows of {settings.length} tokens measured", *chosen.notes)
    return run.Asked(run.names(chosen.found), asked, 3 * sum(asked.values()), notes)
