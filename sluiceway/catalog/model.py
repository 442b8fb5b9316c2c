"""What a file in models/ may state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from sluiceway.catalog.lora_bases import check_adapter_name
from sluiceway.domain.base_url import check_base_url
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import Backend, Task, check_model_name, parse_ref
from sluiceway.domain.paths import is_inside
from sluiceway.settings.fields import Block, Listed, Rows, SecretName, VersionRef, matching


def _relative(text: str) -> str:
    if not is_inside(text):
        raise Fault(
            "a path is relative to models/, with forward slashes and without . or ..",
            got=text,
            hint="put the file below models/ and write it like prompts/chat-3.md",
        )
    return text


RelativePath = Annotated[str, AfterValidator(_relative)]
Sha256 = Annotated[
    str,
    AfterValidator(
        matching("[0-9a-f]{64}", "a sha256 is 64 lower-case hex digits", "`sha256sum` prints it; the recipe writes it")
    ),
]
FileName = Annotated[
    str,
    AfterValidator(
        matching(
            r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){0,3}",
            "a file's name is letters, digits, . _ and -, in up to three folders",
            "write it like model.onnx or data/model.onnx.data; where the file lies is said by path",
        )
    ),
]


def folder_and_file(names: Iterable[str]) -> tuple[str, str] | None:
    """The first of ``names`` that is also a folder of another, and that other: on a disk only one of them fits."""
    listed = tuple(names)
    pairs = ((name, other) for name in listed for other in listed if other.startswith(f"{name}/"))
    return next(pairs, None)


BaseUrl = Annotated[
    str,
    AfterValidator(check_base_url),
    Field(description="the URL that /chat/completions is added to, like https://models.example.com/v1"),
]
Provider = Annotated[
    str,
    AfterValidator(
        matching(
            r"[a-z0-9][a-z0-9-]{0,63}(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*",
            "a provider is its name in AI Gateway, and the path before /chat/completions if there is one",
            "write it like openai, or custom-cluster/v1",
        )
    ),
]


def _answerer(text: str) -> str:
    if "@" in text:
        parse_ref(text)
    else:
        check_model_name(text)
    return text


Answerer = Annotated[str, AfterValidator(_answerer), Field(description="a model or a version, like chat-small")]
Dollars = Annotated[float, Field(ge=0, le=10_000, strict=False)]


class Price(Block):
    """US dollars for a million tokens; embeddings have no output."""

    input: Dollars
    cached: Dollars | None = None
    output: Dollars | None = None


class Parameters(Block):
    """Defaults of a request to the model; a request may state its own."""

    max_tokens: Annotated[int, Field(ge=1, le=1_048_576)] | None = None
    temperature: Annotated[float, Field(ge=0, le=5, strict=False)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1, strict=False)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1_000)] | None = None
    seed: Annotated[int, Field(ge=0, le=9_999_999_999)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2, strict=False)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2, strict=False)] | None = None
    repetition_penalty: Annotated[float, Field(ge=0, le=2, strict=False)] | None = None


class File(Block):
    """One file of an artifact. ``path`` is relative to models/; ``bytes`` its length."""

    name: FileName
    path: RelativePath
    sha256: Sha256
    bytes: Annotated[int, Field(ge=1)]


class Version(Block):
    """``prompt_file``: the prompt in a file of its own, e.g. ``prompts/chat-3.md``, relative to models/.

    ``lora``: the name of the adapter that a workers-ai version's model answers with, as it was published.
    ``base_url``, ``secret``, ``provider`` and ``guided`` (clients may send vLLM's ``guided_json`` and its like) are an
    openai version's. ``context_window`` (tokens), ``price`` and ``vision`` are known of Workers AI's models without
    being stated.
    """

    version: VersionRef
    backend: Backend
    id: str | None = None
    lora: Annotated[str, AfterValidator(check_adapter_name)] | None = None
    prompt: str | None = None
    prompt_file: RelativePath | None = None
    parameters: Parameters = Parameters()
    files: Rows[File] = ()
    base_url: BaseUrl | None = None
    secret: SecretName | None = None
    provider: Provider | None = None
    context_window: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    price: Price | None = None
    vision: bool | None = None
    guided: bool | None = None


class ModelFile(Block):
    """The whole file. ``default`` marks the model that answers where a request names none; ``fallback`` lists who
    answers when this model can't, first choice first."""

    task: Task
    default: bool = False
    fallback: Listed[Answerer] = ()
    versions: Rows[Version]
