"""A model before anything opens it: the order of the checks."""

from __future__ import annotations

from pathlib import Path

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import archives, axes, external, folder, pickles, proto, runtimes, tokenizer, weights
from sluiceway.pipeline.checks.facts import Facts, Limits
from sluiceway.pipeline.types import Model


def check(model: Model, limits: Limits) -> Facts:
    """Cheap looks first: at nothing that a later one would have to trust."""
    graph_bytes = _file(model.path, limits)
    parsed = proto.parse(model.path)
    folder.check(model.folder, limits, external.data_files(parsed))
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in parsed.opset_import}
    runtimes.check(parsed.ir_version, opsets.get(""), limits.runtimes, str(model.path))
    sizes = external.check(parsed, model.folder)
    _fits(model.path, graph_bytes + sum(sizes.values()), limits)
    weights.check(parsed, model.folder)
    inputs, outputs = axes.ports(parsed)
    axes.check(inputs, outputs, str(model.path))
    rows = axes.vocabulary(parsed, inputs)
    if rows is not None and (model.folder / tokenizer.NAME).exists():
        tokenizer.check(model.folder, rows)
    tensors, elements = axes.weight_count(parsed)
    return Facts(
        ir=parsed.ir_version,
        opsets=opsets,
        inputs=inputs,
        outputs=outputs,
        data_files=tuple(sorted(sizes)),
        graph_bytes=graph_bytes,
        data_bytes=sum(sizes.values()),
        tensors=tensors,
        elements=elements,
        table_rows=rows,
    )


def _file(path: Path, limits: Limits) -> int:
    """Size of the graph's file, after its first bytes have shown that it is worth parsing."""
    size = folder.regular(path, lone=True).st_size
    if size > limits.max_graph_bytes:
        raise UserError(
            f"the graph's file is larger than the {limits.max_graph_bytes} bytes that a protobuf may have",
            path=str(path),
            got=size,
            hint="export it with its weights as external data, model.onnx.data beside it",
        )
    with path.open("rb") as file:
        head = file.read(64 * 1024)
        file.seek(max(size - 1, 0))
        tail = file.read(1)
    if archives.is_archive(head):
        archives.check(path, limits)
        raise UserError("this is an archive, not a model", path=str(path), hint="unpack it")
    pickles.check(path, head, tail, is_data=False)
    if head.startswith(b"version https://git-lfs"):
        raise UserError("this is a pointer to a file in Git LFS", path=str(path), hint="fetch it: git lfs pull")
    return size


def _fits(path: Path, size: int, limits: Limits) -> None:
    if size > limits.max_bytes:
        raise UserError(
            f"the model is too large for its target, which takes {limits.max_bytes} bytes",
            path=str(path),
            got=size,
            hint="quantise it to fewer bits, take a smaller model, or serve it from another backend",
        )
