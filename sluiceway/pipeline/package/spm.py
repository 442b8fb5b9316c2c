"""A SentencePiece model (tokenizer.model) as a tokenizer, read by its wire format: no library of its own is needed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sluiceway.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_UNIGRAM, _BPE = 1, 2
_UNKNOWN, _CONTROL, _USER, _BYTE = 2, 3, 4, 6
Value = int | bytes


@dataclass
class _Read:
    pieces: list[tuple[str, float, int]] = field(default_factory=list)
    kind: int = _UNIGRAM
    charsmap: bytes = b""
    prefix: bool = True
    squeeze: bool = True


def load(path: Path) -> Tokenizer:
    """The tokenizer. UserError when the file is none, or of a kind (words, characters) that isn't taken."""
    try:
        read = _read(path.read_bytes())
    except (ValueError, IndexError, UnicodeDecodeError, struct.error) as error:
        raise UserError(
            f"is no SentencePiece model: {error}", path=str(path), hint="put the model's own file there"
        ) from None
    if not read.pieces or read.kind not in (_UNIGRAM, _BPE):
        hint = "add a tokenizer.json, which every kind can be written as"
        raise UserError("holds no unigram or BPE pieces", path=str(path), hint=hint)
    return _made(read)


def _made(read: _Read) -> Tokenizer:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
    from tokenizers.models import BPE, Unigram

    unknown = next((at for at, (_, _, kind) in enumerate(read.pieces) if kind == _UNKNOWN), 0)
    fallback = any(kind == _BYTE for _, _, kind in read.pieces)
    if read.kind == _UNIGRAM:
        rows = [(text, score) for text, score, _ in read.pieces]
        made = Tokenizer(Unigram(rows, unk_id=unknown, byte_fallback=fallback))
    else:
        vocabulary = {text: at for at, (text, _, _) in enumerate(read.pieces)}
        name = read.pieces[unknown][0]
        made = Tokenizer(
            BPE(vocabulary, _merges(read.pieces, vocabulary), unk_token=name, fuse_unk=True, byte_fallback=fallback)
        )
    steps: list[normalizers.Normalizer] = []
    if read.charsmap:
        steps.append(normalizers.Precompiled(read.charsmap))
    if read.squeeze:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    if steps:
        made.normalizer = normalizers.Sequence(steps)
    scheme = "always" if read.prefix else "never"
    split = read.kind == _UNIGRAM
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=split)
    made.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(replacement="▁", prepend_scheme=scheme), decoders.Fuse()]
    )
    marked = [text for text, _, kind in read.pieces if kind in (_CONTROL, _USER)]
    made.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in marked])
    return made


def _merges(pieces: list[tuple[str, float, int]], vocabulary: dict[str, int]) -> list[tuple[str, str]]:
    """Merges in the order in which SentencePiece takes them: by the score of what they make."""
    found = []
    for text, score, _ in pieces:
        halves = [(text[:at], text[at:]) for at in range(1, len(text))]
        known = [(left, right) for left, right in halves if left in vocabulary and right in vocabulary]
        known.sort(key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        found += [(score, pair) for pair in known]
    found.sort(key=lambda entry: -entry[0])
    return [pair for _, pair in found]


def _read(data: bytes) -> _Read:
    read = _Read()
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            read.pieces.append(_piece(value))
        elif number == 2 and isinstance(value, bytes):
            read.kind = next((int(v) for n, v in _fields(value) if n == 3 and isinstance(v, int)), _UNIGRAM)
        elif number == 3 and isinstance(value, bytes):
            said = dict(_fields(value))
            charsmap = said.get(2, b"")
            read.charsmap = charsmap if isinstance(charsmap, bytes) else b""
            read.prefix, read.squeeze = bool(said.get(3, 1)), bool(said.get(4, 1))
    return read


def _piece(data: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, 1
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            text = value.decode("utf-8")
        elif number == 2 and isinstance(value, bytes):
            score = float(struct.unpack("<f", value)[0])
        elif number == 3 and isinstance(value, int):
            kind = value
    return text, score, kind


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Fields of a protobuf message: numbers as they are, all else as bytes. ValueError for what is no message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > len(data):
            raise ValueError("it ends within a field")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number is too long")
