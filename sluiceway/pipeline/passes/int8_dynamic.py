"""int8-dynamic: weights become int8, activations are quantised as they come. The usual choice for an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.pipeline.passes import run
from sluiceway.pipeline.passes.settings import Int8Dynamic
from sluiceway.pipeline.types import Model, PassReport


@dataclass(frozen=True)
class Int8DynamicPass:
    """``ops``: whose weights. Signed weights, by channel: unsigned ones are half as fast and no better."""

    settings: Int8Dynamic
    kind: str = "int8-dynamic"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """A UserError for an operator or a choice that means no weight; SluicewayError if one asked for stays float."""
        return run.execute(self.kind, source, out, lambda folder: _quantise(source, folder, self.settings))


def _quantise(source: Model, folder: Path, settings: Int8Dynamic) -> run.Asked:
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    from sluiceway.pipeline.passes import quiet, store, targets

    model = store.load(source.path)
    stated = "ops" in settings.model_fields_set
    chosen = targets.choose(model, settings.ops, settings.keep, stated)
    targets.plain_floats(chosen.asked)
    prepared = targets.write_for_library(model, folder)
    with quiet.library():
        quantize_dynamic(
            prepared,
            folder / "made.onnx",
            op_types_to_quantize=list(settings.ops),
            per_channel=settings.per_channel,
            weight_type=QuantType.QInt8,
            nodes_to_quantize=[use.node.name for use in chosen.asked],
            use_external_data_format=store.weigh(model) > store.INLINE_LIMIT,
            extra_options={"MatMulConstBOnly": True},
        )
    targets.read_from_library(folder)
    asked = run.names(chosen.asked)
    return run.Asked(run.names(chosen.found), asked, 3 * sum(asked.values()), chosen.notes)
