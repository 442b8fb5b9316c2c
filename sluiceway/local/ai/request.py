"""Checks what a client sent and makes an engine's request of it; what does not fit is Workers AI's error 5006."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from sluiceway.local.ai.engine import ChatRequest, EmbedRequest, Message, Tool
from sluiceway.local.ai.errors import AiError, bad_input
from sluiceway.local.ai.models import AiModel

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
               type(None): "null"}  # fmt: skip
_PYDANTIC_TYPES = {"int_type": "integer", "float_type": "number", "bool_type": "boolean", "dict_type": "object",
                   "list_type": "array"}  # fmt: skip
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class _Options(BaseModel):
    """The fields of a chat request that mean something here; others are let through."""

    model_config = ConfigDict(strict=True, extra="allow")

    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    stream: bool | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=5)
    top_p: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    stop: str | list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    stream_options: dict[str, Any] | None = None
    lora: str | None = None


def chat(model: AiModel, body: Mapping[str, Any]) -> ChatRequest:
    """Reads the inputs of a text generation model."""
    options = _checked(body)
    if options.lora and not model.lora:
        raise AiError(5005, f"The model {model.id} does not support LoRA inference")
    schema, json_mode = _response_format(options.response_format)
    stop = [options.stop] if isinstance(options.stop, str) else options.stop or []
    kwargs = options.chat_template_kwargs or {}
    asked = kwargs.get("thinking") is True or kwargs.get("enable_thinking") is True
    return ChatRequest(
        model=model,
        messages=_messages(model, options),
        max_tokens=options.max_completion_tokens or options.max_tokens or model.default_max_tokens,
        seed=options.seed,
        stop=tuple(text for text in stop if text),
        tools=tuple(_tool(tool, at) for at, tool in enumerate(options.tools or [])) if model.tools else (),
        tool_choice=_tool_choice(options.tool_choice),
        parallel_tools=options.parallel_tool_calls is not False,
        thinking=model.reasoning and (asked or options.reasoning_effort not in (None, "none")),
        json_mode=json_mode,
        schema=schema,
        lora=options.lora or None,
        body=body,
    )


def embedding(model: AiModel, body: Mapping[str, Any]) -> EmbedRequest:
    """Reads ``text`` (native), ``input`` (OpenAI), ``queries`` or ``documents``: a string or a list of them."""
    key = next((name for name in ("text", "input", "queries", "documents") if body.get(name) is not None), None)
    if key is None:
        raise bad_input("required properties at '/' are 'text'")
    given = body[key]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list):
        raise _mismatch(f"/{key}", given, "string,array")
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise _mismatch(f"/{key}/{at}", text, "string")
    if not 1 <= len(texts) <= 100:
        raise bad_input(f"Length of '/{key}' must be between 1 and 100, got {len(texts)}")
    return EmbedRequest(model, tuple(texts))


def _checked(body: Mapping[str, Any]) -> _Options:
    try:
        options = _Options.model_validate(dict(body))
    except ValidationError as error:
        raise bad_input("; ".join(_told(each) for each in error.errors(include_url=False)[:5])) from None
    if options.prompt is None and options.messages is None:
        raise bad_input("oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', "
                        "required properties at '/' are 'messages'")  # fmt: skip
    return options


def _told(error: ErrorDetails) -> str:
    where = "/" + "/".join(str(part) for part in error["loc"])
    if error["type"].endswith("_type"):
        expected = _PYDANTIC_TYPES.get(error["type"], error["type"].removesuffix("_type"))
        return f"Type mismatch of '{where}', '{_kind(error['input'])}' not in '{expected}'"
    return f"'{where}': {error['msg']}"


def _messages(model: AiModel, options: _Options) -> tuple[Message, ...]:
    if options.messages is None:
        return (Message("user", options.prompt or "", 0, {"role": "user", "content": options.prompt or ""}),)
    if not options.messages:
        raise bad_input("Length of '/messages' must be >= 1")
    return tuple(_message(model, raw, f"/messages/{at}") for at, raw in enumerate(options.messages))


def _message(model: AiModel, raw: Mapping[str, Any], where: str) -> Message:
    role = raw.get("role")
    if not isinstance(role, str) or ("content" not in raw and not raw.get("tool_calls")):
        raise bad_input(f"required properties at '{where}' are 'role,content'")
    if role not in _ROLES:
        raise bad_input(f"'{where}/role' must be one of {', '.join(_ROLES)}")
    content = raw.get("content")
    if isinstance(content, str):
        return Message(role, content, 0, raw)
    if content is None and model.parts != "none":
        return Message(role, "", 0, raw)
    if not isinstance(content, list) or model.parts == "none":
        raise _mismatch(f"{where}/content", content, "string")
    texts, images = _parts(model, content, f"{where}/content")
    return Message(role, "".join(texts), images, raw)


def _parts(model: AiModel, content: Sequence[Any], where: str) -> tuple[list[str], int]:
    texts: list[str] = []
    images = 0
    for at, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "image_url" and model.parts == "vision":
            url = part.get("image_url")
            if not isinstance(url, Mapping) or not isinstance(url.get("url"), str):
                raise bad_input(f"required properties at '{where}/{at}/image_url' are 'url'")
            images += 1
        else:
            raise bad_input(f"'{where}/{at}/type' {kind!r} is not supported by {model.id}")
    return texts, images


def _tool(raw: Mapping[str, Any], at: int) -> Tool:
    inner = raw.get("function", raw)  # Cloudflare's older shape has no wrapping
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise bad_input(f"required properties at '/tools/{at}/function' are 'name'")
    parameters = inner.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping):
        raise _mismatch(f"/tools/{at}/function/parameters", parameters, "object")
    return Tool(inner["name"], parameters, raw)


def _tool_choice(given: str | Mapping[str, Any] | None) -> str:
    if given is None:
        return "auto"
    if isinstance(given, str):
        if given not in ("auto", "none", "required"):
            raise bad_input("'/tool_choice' must be auto, none, required or a function")
        return given
    function = given.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise bad_input("required properties at '/tool_choice/function' are 'name'")
    return str(function["name"])


def _response_format(given: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, bool]:
    if given is None or given.get("type") == "text":
        return None, False
    if given.get("type") == "json_object":
        return None, True
    schema = given.get("json_schema")
    if given.get("type") != "json_schema" or not isinstance(schema, Mapping):
        raise bad_input("'/response_format' must be text, json_object, or json_schema with its json_schema")
    inner = schema.get("schema")  # OpenAI wraps the schema with a name, Workers AI takes it bare
    return (inner if isinstance(inner, Mapping) else schema), True


def _kind(value: object) -> str:
    return _JSON_TYPES.get(type(value), type(value).__name__)


def _mismatch(where: str, value: object, expected: str) -> AiError:
    return bad_input(f"Type mismatch of '{where}', '{_kind(value)}' not in '{expected}'")


def read_json(body: bytes, limit: int) -> dict[str, Any]:
    """The object in a request's body; AiError 3006 over ``limit`` bytes, 5006 for anything but an object."""
    if len(body) > limit:
        raise AiError(3006)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_input("the body is not JSON") from None
    if not isinstance(found, dict):
        raise _mismatch("/", found, "object")
    return found
