"""A model of Hugging Face at one commit: safetensors, config and tokenizer files, and nothing else of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.recipe.model import HuggingFace
from sluiceway.pipeline.source import kinds

PATTERNS = (
    "*.safetensors", "*.json", "*.jinja", "tokenizer.model", "*vocab*.txt", "merges.txt", "LICENSE*", "NOTICE*",
    "README.md",
)  # fmt: skip
_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
_SUBFOLDERS = ("onnx/*", "openvino/*", "*/checkpoint-*")


def get(asked: HuggingFace, cache: Path, out: Path, shown: str) -> None:
    """Copies the model's files into ``out``, by way of ``cache``; ``HF_ENDPOINT`` names another server.

    SluicewayError when it can't be had, UserError when it isn't there or its weights are pickles.
    """
    snapshot = Path(_download(asked, cache, shown))
    inside = cache.resolve()
    taken = []
    for name, path in _linked(snapshot):
        if not path.is_relative_to(inside):
            hint = f"remove {cache} and build again"
            raise UserError("a file of the cache is a link that leads out of it", path=shown, got=name, hint=hint)
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        taken.append(name)
    if not any(name.endswith(".safetensors") for name in taken):
        kinds.require_weights([], _others(asked), f"{shown}: {asked.id}")


def _linked(snapshot: Path) -> list[tuple[str, Path]]:
    """Names and real files: the hub's cache holds links into its own store of blobs."""
    found = []
    for base, _, names in os.walk(snapshot):
        found += [((path := Path(base, name)).relative_to(snapshot).as_posix(), path.resolve()) for name in names]
    return sorted(found)


def _download(asked: HuggingFace, cache: Path, shown: str) -> str:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import httpx2
    from huggingface_hub import errors, snapshot_download

    try:
        return str(
            snapshot_download(
                asked.id,
                revision=asked.revision,
                cache_dir=cache,
                allow_patterns=[*PATTERNS, *asked.allow_code],
                ignore_patterns=list(_SUBFOLDERS),
                endpoint=os.environ.get("HF_ENDPOINT"),
                max_workers=4,
            )
        )
    except errors.GatedRepoError:
        hint = "accept its terms on its page, and set HF_TOKEN"
        raise UserError("this model is given to named users only", path=shown, got=asked.id, hint=hint) from None
    except errors.RepositoryNotFoundError:
        hint = "check the id; for a private model set HF_TOKEN"
        raise UserError("no such model on the hub", path=shown, got=asked.id, hint=hint) from None
    except errors.RevisionNotFoundError:
        hint = "copy the commit from the model's history"
        raise UserError(f"no such revision of {asked.id}", path=shown, got=asked.revision, hint=hint) from None
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.IncompleteSnapshotError) as error:
        raise _unreached(asked, shown, str(error)) from None
    except httpx2.HTTPError as error:
        raise _unreached(asked, shown, str(error)) from None


def _unreached(asked: HuggingFace, shown: str, said: str) -> SluicewayError:
    server = os.environ.get("HF_ENDPOINT", "the hub")
    hint = "it needs the network once; later builds take it from the cache. HF_ENDPOINT names a mirror"
    why = said.splitlines()[0][:200] if said else "no message"
    return SluicewayError(f"couldn't fetch {asked.id} from {server}: {why}", path=shown, hint=hint)


def _others(asked: HuggingFace) -> list[str]:
    """What else the repository holds; nothing when the hub can't be asked."""
    from huggingface_hub import HfApi

    try:
        return HfApi(endpoint=os.environ.get("HF_ENDPOINT")).list_repo_files(asked.id, revision=asked.revision)
    except Exception:  # an explanation, no more
        return []
