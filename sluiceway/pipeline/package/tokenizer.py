"""A folder's tokenizer and chat template, in any of the usual layouts, loaded from there and from nowhere else."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sluiceway.errors import UserError
from sluiceway.pipeline.package import spm
from sluiceway.pipeline.package.manifest import Chat, Tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Loaded

PROBE: Final = "Hi 模型 🦊"
TURNS: Final = ({"role": "user", "content": PROBE}, {"role": "assistant", "content": "Hello."})
SPM: Final = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
FILES: Final = frozenset(
    {
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "merges.txt",
        "vocab.txt",
        *SPM,
    }
)
TEMPLATES: Final = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
_BESIDE = "put it beside the model: it belongs to the weights"


def probe(folder: Path) -> Tokenizer | None:
    """What the folder's tokenizer makes of a text in three scripts; None when there is no tokenizer.

    UserError when one is there in part, or does not load.
    """
    present = {path.name for path in folder.iterdir()}
    if "tokenizer.json" in present:
        return _probed("tokenizer.json", _from_json(folder / "tokenizer.json"))
    if {"vocab.json", "merges.txt"} & present:
        return _probed("vocab.json", _byte_level(folder, present))
    if "vocab.txt" in present:
        return _probed("vocab.txt", _word_pieces(folder))
    model = next((name for name in SPM if name in present), None)
    if model:
        return _probed("tokenizer.model", spm.load(folder / model))
    left = sorted(FILES & present - {"tokenizer_config.json"})
    if left:
        message = f"no tokenizer.json, vocab.json with merges.txt, vocab.txt or tokenizer.model beside {left[0]}"
        raise UserError(message, path=str(folder), hint=_BESIDE)
    return None


def probe_chat(folder: Path) -> Chat | None:
    """The digest of a chat of two turns, rendered; None when the folder has no chat template."""
    for name in TEMPLATES:
        path = folder / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8") if name.endswith(".jinja") else _stated(path)
        if text is not None:
            rendered = _render(text, _specials(folder), str(path))
            return Chat(file=name, sha256=sha256(rendered.encode()).hexdigest())
    return None


def require_same(name: str, source: object, packaged: object, folder: Path) -> None:
    """UserError unless the package's answer is the source's."""
    if source != packaged:
        message = f"the package's {name} does not do what the source's does"
        raise UserError(message, path=str(folder), hint="copy all files of the source's tokenizer beside the model")


def _probed(layout: Any, loaded: Loaded) -> Tokenizer:  # noqa: ANN401 - one of the words that the manifest knows
    return Tokenizer(layout=layout, text=PROBE, ids=tuple(loaded.encode(PROBE).ids))


def _from_json(path: Path) -> Loaded:
    from tokenizers import Tokenizer as Loaded

    try:
        return Loaded.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise _broken(path, error) from error


def _byte_level(folder: Path, present: set[str]) -> Loaded:
    from tokenizers import Tokenizer as Loaded
    from tokenizers import decoders, pre_tokenizers
    from tokenizers.models import BPE

    for name in ("vocab.json", "merges.txt"):
        if name not in present:
            raise UserError("the tokenizer is not whole without this file", path=str(folder / name), hint=_BESIDE)
    try:
        made = Loaded(BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    except Exception as error:
        raise _broken(folder / "merges.txt", error) from error
    space = bool(_json(folder / "tokenizer_config.json").get("add_prefix_space", False))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(_specials(folder).values()))
    return made


def _word_pieces(folder: Path) -> Loaded:
    from tokenizers import BertWordPieceTokenizer
    from tokenizers import Tokenizer as Loaded

    config = _json(folder / "tokenizer_config.json")
    lower = bool(config.get("do_lower_case", True))
    try:
        made = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=lower)
    except Exception as error:
        raise _broken(folder / "vocab.txt", error) from error
    return Loaded.from_str(made.to_str())


def _specials(folder: Path) -> dict[str, str]:
    """Special tokens by their use, like ``eos_token``."""
    stated = {**_json(folder / "tokenizer_config.json"), **_json(folder / "special_tokens_map.json")}
    found: dict[str, str] = {}
    for key, value in stated.items():
        text = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            found[key] = text
    return found


def _stated(path: Path) -> str | None:
    """The template in a JSON file: a text, or the one named default of several."""
    found = _json(path).get("chat_template")
    if isinstance(found, list):
        found = next((entry.get("template") for entry in found if entry.get("name") == "default"), None)
    return found if isinstance(found, str) else None


def _render(template: str, specials: dict[str, str], shown: str) -> str:
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> str:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    environment.globals |= {"raise_exception": refuse, "strftime_now": lambda form: form}
    try:
        return environment.from_string(template).render(
            messages=[dict(turn) for turn in TURNS], add_generation_prompt=True, tools=None, documents=None, **specials
        )
    except (TemplateError, TypeError, ValueError, LookupError) as error:
        hint = "put the chat template there that the model came with"
        raise UserError(
            f"the chat template does not render a chat of two turns: {error}", path=shown, hint=hint
        ) from None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _broken(path, error) from None
    return found if isinstance(found, dict) else {}


def _broken(path: Path, error: Exception) -> UserError:
    return UserError(f"the tokenizer does not load: {error}", path=str(path), hint=_BESIDE)
