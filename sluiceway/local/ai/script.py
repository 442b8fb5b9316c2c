"""What the scripted engine says: decided by the request alone, so that the same question has the same answer.

The last user message may ask for something in particular. Directives stand at its beginning and add up
(``#wait 500 #delay 100 #count 50``):

| prompt                 | answer                                                                    |
| ---------------------- | ------------------------------------------------------------------------- |
| ``repeat after me: X`` | ``X``, byte for byte                                                      |
| ``#system``            | the system prompt, byte for byte (empty when there is none)               |
| ``#messages``          | the messages as they arrived, as JSON                                     |
| ``#count N``           | the numbers 1 to N, one token each                                        |
| ``#tool NAME``         | calls the tool of that name (also: naming a tool in a plain sentence)     |
| ``#wait MS``           | nothing for MS milliseconds, then the rest                                |
| ``#delay MS``          | MS milliseconds between tokens, streamed or not                           |
| ``#error CODE``        | Workers AI's error CODE (3036, 3040, 5007, ...)                           |
| ``#cut N``             | the connection breaks after N tokens                                      |
| anything else          | ``[scripted <model>] ...``: says that it is a stand-in, quotes the prompt; |
|                        | with a LoRA adapter ``[scripted <model> + <adapter>] ...``                |
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sluiceway.local.ai.engine import ChatRequest, Message, Tool
from sluiceway.local.ai.schema import instance

_DIRECTIVE = re.compile(r"\s*#(wait|delay|error|cut|count|tool|system|messages)\b(?:[ \t]+([\w.:-]+))?")
_NO_ARGUMENT = ("system", "messages")
_REPEAT = re.compile(r"\s*repeat after me: ?", re.IGNORECASE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_QUOTED = 120

_SENTENCES = (
    "The answer depends only on the model, the messages and the seed.",
    "Ask the same question again and these words come back unchanged.",
    "Water finds its level, and traffic finds the version that answers well.",
    "A gate opens a little, someone looks, and it opens a little more.",
    "Nothing here left this machine.",
    "A good rollout is one that nobody noticed.",
    "Small steps are easy to take back.",
    "The numbers will tell which of the two is better.",
    "What was measured once should be measured again tomorrow.",
    "Slow is smooth when the current is strong.",
)
_SENTENCES_ZH = (
    "回答只取决于模型、消息和种子。",
    "再问一次，得到的还是这些话。",
    "水往低处流，流量往好的版本流。",
    "没有任何内容离开这台机器。",
    "小步前进，随时可以退回。",
    "数字会告诉我们哪一个更好。",
)


@dataclass(frozen=True)
class Script:
    """An answer before it is cut to size. Times in seconds; ``calls`` are (tool, arguments as JSON)."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    wait: float = 0.0
    delay: float | None = None
    error: int | None = None
    cut: int | None = None


def write(request: ChatRequest) -> Script:
    """The answer to a request."""
    prompt = next((each.text for each in reversed(request.messages) if each.role == "user"), "")
    digest = _digest(request)
    script, rest, wanted = _directives(request, prompt)
    if script.error:
        return script
    calls = _tool_calls(request, rest, wanted, digest)
    if calls:
        script = replace(script, calls=calls, text="")
    elif request.json_mode:
        script = replace(script, text=_json_text(request, rest, digest))
    elif not wanted:
        script = replace(script, text=_plain(request, rest, digest))
    elif wanted == "tool":
        script = replace(script, text=f"[scripted {_who(request)}] There is no such tool.")
    if request.thinking:
        script = replace(script, reasoning=_thought(prompt, digest))
    return replace(script, text=_stopped(script.text, request.stop))


def _directives(request: ChatRequest, prompt: str) -> tuple[Script, str, str]:
    """The script so far, the prompt behind its directives, and which one decided the text ("" if none)."""
    script = Script()
    wanted = ""
    at = 0
    while match := _DIRECTIVE.match(prompt, at):
        word, argument = match[1], match[2]
        at = match.end() if argument and word not in _NO_ARGUMENT else match.end(1)
        number = int(argument) if argument and argument.isdigit() else 0
        if word == "wait":
            script = replace(script, wait=number / 1000)
        elif word == "delay":
            script = replace(script, delay=number / 1000)
        elif word == "error":
            script = replace(script, error=number)
        elif word == "cut":
            script = replace(script, cut=number)
        else:
            wanted = word
            script = replace(script, text=_asked(request, word, number))
            if word == "tool":
                return script, argument or "", wanted
    rest = prompt[at:]
    repeat = _REPEAT.match(rest)
    if repeat:
        return replace(script, text=rest[repeat.end() :]), rest, "repeat"
    return script, rest, wanted


def _asked(request: ChatRequest, word: str, number: int) -> str:
    if word == "system":
        return next((each.text for each in request.messages if each.role in ("system", "developer")), "")
    if word == "messages":
        return json.dumps([dict(each.raw) for each in request.messages], ensure_ascii=False)
    return " ".join(str(each) for each in range(1, number + 1))


def _tool_calls(request: ChatRequest, rest: str, wanted: str, digest: bytes) -> tuple[tuple[str, str], ...]:
    if not request.tools or request.tool_choice == "none" or request.messages[-1].role == "tool":
        return ()
    if request.tool_choice not in ("auto", "required"):
        named = [tool for tool in request.tools if tool.name == request.tool_choice]
    else:
        named = [tool for tool in request.tools if re.search(rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])", rest)]
        if not named and request.tool_choice == "required":
            named = [request.tools[0]]
        if wanted and wanted != "tool":
            named = named if request.tool_choice == "required" else []
    chosen = named if request.parallel_tools else named[:1]
    return tuple((tool.name, _arguments(tool, rest, digest)) for tool in chosen)


def _arguments(tool: Tool, rest: str, digest: bytes) -> str:
    return json.dumps(instance(tool.parameters, _words(rest, digest)), ensure_ascii=False)


def _json_text(request: ChatRequest, rest: str, digest: bytes) -> str:
    schema = request.schema or {"type": "object", "properties": {"answer": {"type": "string"}}}
    words = _words(rest, digest) if request.schema else [_plain(request, rest, digest)]
    return json.dumps(instance(schema, words), ensure_ascii=False)


def _plain(request: ChatRequest, rest: str, digest: bytes) -> str:
    mark = f"[scripted {_who(request)}]"
    last = request.messages[-1]
    if last.role == "tool":
        return f"{mark} The tool answered: {last.text[:_QUOTED]}"
    chinese = bool(_CJK.search(rest))
    told = _chosen(_SENTENCES_ZH if chinese else _SENTENCES, digest)
    quoted = rest.strip()[:_QUOTED]
    seen = f" I was shown {last.images} image(s)." if last.images else ""
    if chinese:
        return f"{mark} 这是本地替身的回答，不是模型的。你说：“{quoted}”。{seen}{''.join(told)}"
    return f'{mark} This is a stand-in, not a model. You said: "{quoted}".{seen} {" ".join(told)}'


def _who(request: ChatRequest) -> str:
    return f"{request.model.short} + {request.lora}" if request.lora else request.model.short


def _chosen(sentences: Sequence[str], digest: bytes) -> list[str]:
    count = 2 + digest[0] % 2
    start, step = digest[1], 1 + 2 * (digest[2] % 2)
    return [sentences[(start + step * at) % len(sentences)] for at in range(count)]


def _thought(prompt: str, digest: bytes) -> str:
    return f"The user wrote {len(prompt)} characters. {_chosen(_SENTENCES, digest[3:])[0]} So I answer in a few words."


def _words(rest: str, digest: bytes) -> list[str]:
    return [word for word in re.findall(r"\w+", rest) if len(word) > 2][:20] or [digest.hex()[:8]]


def _stopped(text: str, stop: Sequence[str]) -> str:
    ends = [at for at in (text.find(each) for each in stop) if at >= 0]
    return text[: min(ends)] if ends else text


def _digest(request: ChatRequest) -> bytes:
    said: list[Any] = [_said(each) for each in request.messages]
    known = [request.model.id, said, request.seed, [tool.name for tool in request.tools], request.json_mode]
    if request.lora:
        known.append(request.lora)
    return hashlib.sha256(json.dumps(known, ensure_ascii=True).encode()).digest()


def _said(message: Message) -> list[object]:
    return [message.role, message.text, message.images]
