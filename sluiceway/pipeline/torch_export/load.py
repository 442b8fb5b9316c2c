"""The model that made the weights, as transformers loads it: safetensors of one folder, in float32, ready to trace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.config import read_config, stated_theta

_CLASSES: Final = {
    "causal-lm": "AutoModelForCausalLM",
    "encoder": "AutoModel",
    "classifier": "AutoModelForSequenceClassification",
}
_ANOTHER: Final = "take another model, or bring it as model.onnx (kind: given)"


def load(source: Path, kind: str, code: bool) -> Any:  # noqa: ANN401 - torch isn't installed where types are checked
    """The model of ``kind`` in the folder ``source``, in evaluation mode. ``code``: its own Python files may be run.

    UserError for an architecture that transformers doesn't know, for weights that are missing or left over, and for
    a base of the rotary embedding that isn't stated once.
    """
    import transformers

    transformers.logging.set_verbosity_error()
    document = read_config(source)
    loader = getattr(transformers, _CLASSES[kind])
    place = {"local_files_only": True, "trust_remote_code": code}
    try:
        config = transformers.AutoConfig.from_pretrained(source, **place)
        if uses_rotary(config):
            stated_theta(document, str(source / "config.json"))
        model, told = loader.from_pretrained(
            source, config=config, dtype="float32", use_safetensors=True, output_loading_info=True, **place
        )
    except (ValueError, KeyError, OSError, ImportError, RuntimeError) as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
        raise UserError(f"transformers can't load it: {said}", path=str(source), hint=_ANOTHER) from error
    _require_whole(told, kind, source)
    if has_experts(model):
        # The usual way has an operator of its own that ONNX doesn't know; a loop over the experts can't be traced.
        model.set_experts_implementation("batched_mm")
    return model.eval()


def quiet(scratch: str) -> None:
    """No network and no graphics card, before anything is imported that looks for either.

    ``scratch``: a folder that goes afterwards; code of a model's own is copied there before it is run.
    """
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", CUDA_VISIBLE_DEVICES="", TOKENIZERS_PARALLELISM="0")
    os.environ["HF_MODULES_CACHE"] = scratch


def uses_rotary(config: Any) -> bool:  # noqa: ANN401
    """Whether one base turns all layers; a config that states several says each of them itself."""
    found = getattr(config, "rope_parameters", None)
    return isinstance(found, Mapping) and "rope_theta" in found


def has_experts(model: Any) -> bool:  # noqa: ANN401
    keys = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
    return any(getattr(model.config, key, None) for key in keys)


def _require_whole(told: Mapping[str, Any], kind: str, source: Path) -> None:
    """transformers makes up what is missing and warns of it: such a model answers at random."""
    missing = sorted(map(str, told.get("missing_keys", ())))
    if kind == "encoder":  # a pooler that no answer goes through
        missing = [name for name in missing if "pooler" not in name]
    for what, names in (("lack", missing), ("misfit", sorted(map(str, told.get("mismatched_keys", ()))))):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise UserError(
                f"the weights {what} {', '.join(names[:5])}{more}",
                path=str(source),
                hint="take weights and config.json of the same model",
            )
