"""Weights in blocks: which get how many bits, and the nodes that read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx_ir as ir

from sluiceway.errors import UserError
from sluiceway.pipeline.passes import run, store, targets, weights
from sluiceway.pipeline.passes.rewrite import Writer
from sluiceway.pipeline.passes.settings import Chosen
from sluiceway.pipeline.passes.weights import Use
from sluiceway.pipeline.types import Model


@dataclass(frozen=True)
class Wanted:
    """Bits of each kind of weight; None: it stays float. ``finer``: weights that get 8 bits whatever the rest has.

    ``shared``: a table that is embedding and head becomes one quantised weight, with the head's bits.
    """

    body: int
    head: int | None
    embedding: int | None
    shared: bool
    block: int
    symmetric: bool
    accuracy: int
    keep: tuple[Chosen, ...]
    finer: tuple[Chosen, ...] = ()


@dataclass(frozen=True)
class Plan:
    """``bits`` of each use that is quantised, by the id of its node."""

    found: list[Use]
    asked: list[Use]
    bits: dict[int, int]
    notes: tuple[str, ...]


def quantise(source: Model, folder: Path, wanted: Wanted) -> run.Asked:
    """Writes the model with its weights in blocks to ``folder``."""
    model = store.load(source.path)
    plan = _plan(model, wanted)
    for use in plan.asked:
        _check(use, wanted.block)
    writer = Writer(model, wanted.block, wanted.symmetric, wanted.accuracy)
    for use in plan.asked:
        writer.replace(use, plan.bits[id(use.node)])
    store.save(model, folder)
    # A table that is to stay float beside a head made of it is not asked for.
    stays = {use.name for use in plan.found if use.op == "Gather" and id(use.node) not in plan.bits}
    asked = {name: count for name, count in run.names(plan.asked).items() if name not in stays}
    return run.Asked(run.names(plan.found), asked, 4 * sum(asked.values()) - writer.bytes, plan.notes)


def _plan(model: ir.Model, wanted: Wanted) -> Plan:
    chosen = targets.choose(model, ("MatMul", "Gather"), wanted.keep, stated=False)
    head = weights.head(model, chosen.found)
    embedding = _embedding(model, chosen.found)
    if wanted.shared and head in chosen.asked and embedding in chosen.asked:
        assert head is not None and embedding is not None
        retied = _retied(head, embedding)
        asked, found = ([retied if use is head else use for use in uses] for uses in (chosen.asked, chosen.found))
        chosen = replace(chosen, asked=asked, found=found)
        head = retied
    finer = {id(use.node) for use in weights.choose(model, chosen.asked, wanted.finer, "int8")}
    tied = head is not None and embedding is not None and head.name == embedding.name
    bits: dict[int, int] = {}
    for use in chosen.asked:
        each = _bits(use, head, embedding, wanted, tied)
        if each is not None:
            bits[id(use.node)] = 8 if id(use.node) in finer else each
    asked = [use for use in chosen.asked if id(use.node) in bits]
    if not asked:
        raise UserError(
            "the settings leave every weight a float",
            path="head",
            hint="give head or embedding fewer bits: the model has no other weights",
        )
    return Plan(chosen.found, asked, bits, (*chosen.notes, *_notes(asked, bits, head, tied, wanted)))


def _bits(use: Use, head: Use | None, embedding: Use | None, wanted: Wanted, tied: bool) -> int | None:
    """None: it stays float, as a table of positions or angles does."""
    if use.op == "MatMul":
        return wanted.head if head is not None and use.node is head.node else wanted.body
    if embedding is None or use.name != embedding.name:
        return None
    if tied:
        # A float head needs the float table, and a second one beside it would make the file larger.
        return wanted.head if wanted.shared or wanted.head is None else wanted.embedding
    return wanted.embedding


def _retied(head: Use, table: Use) -> Use:
    """``head`` as a use of ``table``, where it is the table turned round: fold has made it a weight of its own."""
    if head.through or head.shape != table.shape[::-1]:
        return head
    own, shared = head.value.const_value, table.value.const_value
    assert own is not None and shared is not None
    return Use(head.node, table.value, turned=True) if np.array_equal(own.numpy(), shared.numpy().T) else head


def _embedding(model: ir.Model, found: list[Use]) -> Use | None:
    """The table that the token ids are looked up in: by input_ids, or by the first input that is looked up at all."""
    inputs = {value.name for value in model.graph.inputs}
    tables = [(name, use) for use in found if use.op == "Gather" and (name := _index(use)) in inputs]
    tables.sort(key=lambda pair: pair[0] != "input_ids")
    return tables[0][1] if tables else None


def _index(use: Use) -> str | None:
    value = use.node.inputs[1]
    while value is not None and (made := value.producer()) is not None and made.op_type in ("Cast", "Identity"):
        value = made.inputs[0]
    return None if value is None else value.name


def _check(use: Use, block: int) -> None:
    if not use.transposed:
        targets.plain_floats([use])
    elif use.value.dtype != ir.DataType.FLOAT:
        targets.plain_floats([Use(use.node, use.value)])
    if len(use.shape) != 2:
        raise UserError(
            "a weight of more than two axes can't be quantised in blocks",
            path=use.name,
            got=list(use.shape),
            hint=f"keep it as floats: keep: [{{shape: {list(use.shape)}}}]",
        )
    depth = use.shape[1] if use.op == "Gather" or use.transposed else use.shape[0]
    if block > depth:
        raise UserError(
            f"a block of {block} is longer than the {depth} values that a weight has to share it",
            path="block",
            got=f"{use.name} {list(use.shape)}",
            hint=f"write a block of at most {1 << (depth.bit_length() - 1)}, or keep: [{{shape: {list(use.shape)}}}]",
        )
    if use.op == "Gather" and depth % block:
        raise UserError(
            f"a table's rows of {depth} can't be cut into whole blocks of {block}",
            path="block",
            got=f"{use.name} {list(use.shape)}",
            hint="write a block that divides it, or embedding: fp32",
        )


def _notes(asked: list[Use], bits: dict[int, int], head: Use | None, tied: bool, wanted: Wanted) -> tuple[str, ...]:
    counts: dict[int, int] = {}
    for use in asked:
        counts[bits[id(use.node)]] = counts.get(bits[id(use.node)], 0) + 1
    notes = [", ".join(f"{count} uses at {each} bits" for each, count in sorted(counts.items()))]
    if tied and wanted.head is None:
        notes.append("the table of embeddings is the head too, and stays float with it")
    elif tied and head in asked:
        own = "one for each" if wanted.embedding else "a float one, and one for the head"
        shared = "one for both" if wanted.shared else own
        notes.append(f"the table of embeddings is the head too: {shared}")
    if head is None and wanted.head != wanted.body:
        notes.append("the model has no head over a vocabulary: head decides nothing")
    return tuple(notes)
