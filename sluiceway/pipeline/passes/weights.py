"""The float weights of a graph and the nodes that use them, found by walking, never by their names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sluiceway.errors import UserError
from sluiceway.pipeline.passes.settings import Chosen

OPERANDS = {"MatMul": 1, "Gemm": 1, "Gather": 0, "GatherND": 0, "Conv": 1}
"""Which input of an operator is its weight. Of experts each token's are gathered (GatherND): no pass takes those."""
FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE)
_PASSED_THROUGH = ("Transpose", "Identity", "Cast", "Reshape")


@dataclass(frozen=True)
class Use:
    """A node that weighs by a float initializer. ``through``: the nodes between both, last first.

    ``turned``: it is to read the weight with its axes exchanged.
    """

    node: ir.Node
    value: ir.Value
    through: tuple[ir.Node, ...] = ()
    turned: bool = False

    @property
    def op(self) -> str:
        return self.node.op_type

    @property
    def name(self) -> str:
        return self.value.name or ""

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def multiplied(self) -> bool:
        """Whether it is a factor, and not looked up."""
        return not self.op.startswith("Gather")

    @property
    def transposed(self) -> bool:
        """Whether all that lies between is one Transpose of both axes: the mark of a tied head."""
        between = [node.op_type for node in self.through]
        return self.turned or (between == ["Transpose"] and len(self.shape) == 2)


def shape_of(value: ir.Value) -> tuple[int, ...]:
    tensor = value.const_value
    return tuple(int(size) for size in tensor.shape.numpy()) if tensor is not None else ()


def uses(model: ir.Model) -> list[Use]:
    """Each use of a float weight of rank 2 and more, in the order of the graph, subgraphs included."""
    return [use for node in model.graph.all_nodes() if (use := _use(node)) is not None]


def _use(node: ir.Node) -> Use | None:
    place = OPERANDS.get(node.op_type)
    if place is None or node.domain not in ("", "ai.onnx") or len(node.inputs) <= place:
        return None
    value, through = node.inputs[place], []
    while value is not None and (made := value.producer()) is not None and made.op_type in _PASSED_THROUGH:
        through.append(made)
        value = made.inputs[0]
    if value is None or value.const_value is None or value.producer() is not None:
        return None
    found = Use(node, value, tuple(through))
    return found if value.dtype in FLOATS and len(found.shape) >= 2 else None


def tensors(found: Iterable[Use]) -> dict[str, ir.Value]:
    """The weights behind the uses, each once."""
    return {use.name: use.value for use in found}


def elements(values: Iterable[ir.Value]) -> int:
    return sum(math.prod(shape_of(value)) for value in values)


def backwards(model: ir.Model, found: Sequence[Use]) -> list[Use]:
    """The uses in the order in which a walk from the outputs back to the inputs meets them."""
    by_node = {id(use.node): use for use in found}
    seen: set[int] = set()
    order: list[Use] = []
    queue = [made for value in model.graph.outputs if (made := value.producer()) is not None]
    while queue:
        node = queue.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        if id(node) in by_node:
            order.append(by_node[id(node)])
        queue += [made for value in node.inputs if value is not None and (made := value.producer()) is not None]
    return order


def choose(model: ir.Model, found: Sequence[Use], choices: Sequence[Chosen], path: str) -> list[Use]:
    """The uses that ``choices`` name; a UserError for a choice that names none. ``path``: the setting it stands in."""
    chosen: dict[int, Use] = {}
    for at, choice in enumerate(choices):
        matched = _matching(model, found, choice)
        if not matched:
            raise UserError(
                "no weight of the model is meant by this",
                path=f"{path}[{at}]",
                got=f"shape {list(choice.shape)}" if choice.shape is not None else f"last {choice.last}",
                hint=f"shapes of its weights: {shapes(found)}",
            )
        chosen |= {id(use.node): use for use in matched}
    return [use for use in found if id(use.node) in chosen]


def _matching(model: ir.Model, found: Sequence[Use], choice: Chosen) -> list[Use]:
    if choice.shape is None:
        multiplied = [use for use in backwards(model, found) if use.multiplied]
        if len(multiplied) < (choice.last or 0):
            return []
        return _picked(multiplied[: choice.last], choice)
    return _picked([use for use in found if use.shape == choice.shape], choice)


def _picked(matched: list[Use], choice: Chosen) -> list[Use]:
    if choice.pick == "all":
        return matched
    eighth = max(len(matched) // 8, 1)
    ends = (*range(eighth), *range(len(matched) - eighth, len(matched)))
    return [use for at, use in enumerate(matched) if at in ends or (at - eighth) % 3 == 2]


def shapes(found: Sequence[Use]) -> str:
    """The shapes of the weights in a line: `12 x [384, 384], 1 x [30522, 384]`."""
    counts: dict[tuple[int, ...], int] = {}
    for value in tensors(found).values():
        counts[shape_of(value)] = counts.get(shape_of(value), 0) + 1
    return ", ".join(f"{count} x {list(shape)}" for shape, count in counts.items()) or "it has none"


def head(model: ir.Model, found: Sequence[Use]) -> Use | None:
    """The use that gives the scores over the vocabulary, if any: the last before an output, as wide as a table."""
    rows = {use.shape[0] for use in found if use.op == "Gather"}
    last = next((use for use in backwards(model, found) if use.multiplied), None)
    if last is None:
        return None
    wide = last.shape[0] if last.transposed else last.shape[-1]
    return last if wide in rows else None


def float_names(model: ir.Model) -> Iterator[str]:
    """Names of the float initializers of the main graph and its subgraphs."""
    for graph in model.graphs():
        for name, value in graph.initializers.items():
            if value.dtype in FLOATS:
                yield name
