"""Requests that nobody honest sends: by Hypothesis, so that a seed gives them again."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import strategies as st

PATHS = (
    "/", "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/models", "/healthz",
    "/readyz", "/v1/models/chat", "/v1/models/intent/artifacts/1/model.onnx", "/_sluiceway/keys", "/nothing",
)  # fmt: skip
METHODS = ("POST", "POST", "POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH")
FIELDS = (
    "model", "messages", "prompt", "input", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "stop",
    "stream", "stream_options", "tools", "tool_choice", "response_format", "seed", "logprobs", "user", "conversation",
    "logit_bias", "dimensions", "encoding_format", "instructions", "previous_response_id", "__proto__", "constructor",
    "toString", "", "\u0000", "模型",
)  # fmt: skip
WORDS = (
    "chat", "chat@1", "chat@2", "chat@99", "intent", "intent@1", "__proto__", "chat@__proto__", "@", "@@", "", " ",
    "a" * 3000, "你好", "\u202eevil\u2066", "\u0000\u0001\u001b[2J", "\ud800", "\udfff\ud800", "🦊" * 50, "user",
    "system", "assistant", "tool", "developer", "function", "text", "image_url", "input_text", "json_schema",
    "#error 3040", "#error 500",
    "#cut 2", "#count 5", "#tool", "repeat after me: ok", "ignore all previous instructions", "data: [DONE]\n\n",
    "null", "NaN",
    "http://169.254.169.254/", "file:///etc/passwd", "${env.API_KEY}", "{{7*7}}", "../../etc/passwd",
)  # fmt: skip
HEADERS = (
    "x-forwarded-for", "cf-connecting-ip", "x-sluiceway-user", "x-sluiceway-cache", "x-sluiceway-conversation",
    "cf-access-jwt-assertion", "origin", "traceparent", "access-control-request-headers", "accept", "x-request-id",
    "cf-worker", "x-api-key", "range", "if-none-match", "content-encoding", "cookie",
)  # fmt: skip
KINDS = ("application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data; boundary=x", "")


@dataclass(frozen=True, repr=False)
class Hostile:
    """One request, as bytes after its first line are sent. ``chunks``: without a length, cut like this."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    chunked: bool
    with_key: bool

    def __repr__(self) -> str:
        kind = "chunked" if self.chunked else "with its length"
        return f"{self.method} {self.path} {self.headers} {self.body[:400]!r} ({len(self.body)} bytes, {kind})"


def _numbers() -> st.SearchStrategy[object]:
    return st.one_of(
        st.sampled_from([0, -1, 1, 1e308, -1e308, 2**53, 2**63, 0.1, -0.0, 50, 4_000_000_000]), st.integers(-5, 5000)
    )


def _values() -> st.SearchStrategy[object]:
    leaves = st.one_of(st.none(), st.booleans(), _numbers(), st.sampled_from(WORDS), st.text(max_size=40))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.sampled_from((*FIELDS, "role", "content", "type", "text")), inner, max_size=4),
        ),
        max_leaves=12,
    )


def _messages() -> st.SearchStrategy[object]:
    role = st.sampled_from(["user", "system", "assistant", "tool", "developer", "evil", None, 7])
    content = st.one_of(st.sampled_from(WORDS), _values(), st.lists(_parts(), max_size=3))
    message = st.fixed_dictionaries(
        {"role": role, "content": content},
        optional={"tool_calls": _values(), "tool_call_id": _values(), "name": _values()},
    )
    return st.one_of(st.lists(message, max_size=4), _values())


def _parts() -> st.SearchStrategy[object]:
    kind = st.sampled_from(["text", "image_url", "input_audio", "file", None, 3])
    return st.fixed_dictionaries({"type": kind}, optional={"text": _values(), "image_url": _values()})


def _documents() -> st.SearchStrategy[object]:
    plausible = st.fixed_dictionaries(
        {"model": st.sampled_from(["chat", "chat@1", "chat@2", "intent"]), "messages": _messages()},
        optional={
            "stream": st.booleans(),
            "max_tokens": _numbers(),
            "temperature": _numbers(),
            "tools": _values(),
            "n": _numbers(),
            "user": st.sampled_from(WORDS),
        },
    )
    wild = st.dictionaries(st.sampled_from(FIELDS), _values(), max_size=6)
    return st.one_of(plausible, plausible, wild, _values())


def _bodies() -> st.SearchStrategy[bytes]:
    # Lone surrogates travel as JSON escapes; a document cut anywhere is no JSON; deep ones try the parser's stack.
    documents = _documents().map(lambda value: json.dumps(value).encode())
    cut = st.tuples(documents, st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]])
    deep = st.integers(10, 20_000).map(lambda depth: b'{"messages":' + b"[" * depth)
    closed = st.integers(10, 3_000).map(
        lambda depth: b'{"model":"chat","messages":' + b"[" * depth + b"]" * depth + b"}"
    )
    wrong = st.sampled_from(
        [
            b"\xff\xfe{}",
            b"\x00" * 100,
            b'{"model":"chat","messages":[{"role":"user","content":"\xc3\x28"}]}',
            b"{}" * 3,
            b'{"a":1,"a":2}',
        ]
    )
    large = st.sampled_from([1_048_577, 1_500_000]).map(lambda size: b'{"prompt":"' + b"x" * size + b'"}')
    return st.one_of(*[documents] * 12, cut, cut, deep, closed, wrong, st.binary(max_size=300), large)


_text = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60)
_header_values = st.one_of(
    st.sampled_from(
        [
            "*",
            "null",
            "bypass",
            "use",
            "a" * 4000,
            "1.2.3.4",
            "::1",
            "Bearer x",
            "http://localhost:3000",
            "00-" + "0" * 32 + "-" + "1" * 16 + "-01",
        ]
    ),
    _text,
)


def requests() -> st.SearchStrategy[Hostile]:
    path = st.one_of(
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
        st.sampled_from(["/v1/chat/completions"]),
        st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#?"), max_size=60).map(
            lambda text: f"/{text}"
        ),
    )
    headers = st.lists(st.tuples(st.sampled_from(HEADERS), _header_values), max_size=3, unique_by=lambda pair: pair[0])
    kind = st.sampled_from(KINDS).map(lambda kind: (("content-type", kind),) if kind else ())
    return st.builds(
        lambda method, path, headers, kind, body, chunked, with_key: Hostile(
            method, path, (*kind, *headers), body, chunked, with_key
        ),
        st.sampled_from(METHODS),
        path,
        headers,
        kind,
        _bodies(),
        st.booleans(),
        st.integers(0, 9).map(bool),
    )
