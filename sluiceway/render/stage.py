"""Renders one stage: what the Worker is made of, from its plan.

<out_dir>/src/worker-entry.ts   what esbuild starts from
<out_dir>/src/env.d.ts          what is bound, for the compiler
<out_dir>/src/config.json       what differs by stage; a text module beside the bundle
<out_dir>/tsconfig.json         so that `tsc -p` checks the rendered files with the Worker's
<out_dir>/dist/index.js         the bundle: the same bytes for every stage
<out_dir>/dist/config.json      the same text as in src, where the uploaded modules lie
<out_dir>/inference/index.js    the inference Worker's, on a stage that has one
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluiceway.domain.release import Json, release_id
from sluiceway.errors import SluicewayError
from sluiceway.planning import StagePlan
from sluiceway.render.bundle import CONFIG_MODULE, MAIN_MODULE, Bundle, bundle, check_size, gzip_size, size_note
from sluiceway.render.files import write_file
from sluiceway.render.inference import RenderedInference, render_inference
from sluiceway.render.module import Module
from sluiceway.render.outputs import refuse_outputs
from sluiceway.render.templates import Templates
from sluiceway.workspace import Workspace

# Cloudflare's name of a binding type -> its type in @cloudflare/workers-types.
_TS_TYPES: Mapping[str, str] = {
    "ai": "Ai",
    "analytics_engine": "AnalyticsEngineDataset",
    "durable_object_namespace": "DurableObjectNamespace",
    "kv_namespace": "KVNamespace",
    "plain_text": "string",
    "queue": "Queue",
    "r2_bucket": "R2Bucket",
    "ratelimit": "RateLimit",
    "secret_text": "string",
    "service": "Fetcher",
    "version_metadata": "WorkerVersionMetadata",
}


@dataclass(frozen=True)
class RenderedStage:
    """What `render_stage` made: the release and the modules to upload, main module first.

    ``inference`` is the Worker beside it, on a stage that has one. ``notes`` are what a person should be told.
    """

    out_dir: Path
    release: str
    bundle_digest: str
    modules: tuple[Module, ...]
    gzip_bytes: int
    notes: tuple[str, ...]
    inference: RenderedInference | None = None


def templates_of(workspace: Workspace) -> Templates:
    """The templates of a checkout."""
    return Templates(workspace.root / "templates")


def render_stage(plan: StagePlan, workspace: Workspace, out_dir: Path | None = None) -> RenderedStage:
    """Renders and bundles ``plan`` into ``out_dir`` (default: the stage's build folder).

    The same plan and sources give the same bytes, wherever the checkout lies. Raises
    SluicewayError for a template that can't be rendered, code that can't be bundled and a Worker
    that is too large.
    """
    out_dir = out_dir or workspace.build(plan.stage)
    source = out_dir / "src"
    templates = templates_of(workspace)
    gateway = _relative(workspace.root / "worker" / "src" / "index.ts", source)
    entry = templates.render(
        "entry.ts.j2", {"gateway_module": gateway, "durable_objects": [export.name for export in plan.exports]}
    )
    write_file(source / "worker-entry.ts", entry)
    env = templates.render("env.d.ts.j2", {"gateway_module": gateway, "bindings": _env_bindings(plan)})
    write_file(source / "env.d.ts", env)
    write_file(out_dir / "tsconfig.json", _tsconfig(workspace, out_dir))
    made = bundle(source / "worker-entry.ts", out_dir / "dist", workspace.node_modules)
    inference = render_inference(workspace, out_dir / "inference") if plan.inference else None
    release = release_of(plan, made, inference)
    config = config_text(plan, release).encode("utf-8")
    write_file(source / CONFIG_MODULE, config)
    write_file(out_dir / "dist" / CONFIG_MODULE, config)
    size = gzip_size(made.code, config)
    check_size(size)
    modules = (
        Module(MAIN_MODULE, "application/javascript+module", made.code),
        Module(CONFIG_MODULE, "text/plain", config),
    )
    notes = (size_note(size), inference.note if inference else None)
    return RenderedStage(out_dir, release, made.digest, modules, size, tuple(filter(None, notes)), inference)


def release_of(plan: StagePlan, made: Bundle, inference: RenderedInference | None = None) -> str:
    """``r-`` and 12 hex digits: changes with the code, the models, their prompts and the routing."""
    beside: dict[str, Json] = {"inference": inference.digest} if inference else {}
    return release_id({**plan.release_inputs(), **beside, "bundle": made.digest})


def config_text(plan: StagePlan, release: str) -> str:
    """config.json as the Worker reads it: sorted keys, no spaces, UTF-8, one line."""
    document = plan.config_document(release)
    refuse_outputs(document, CONFIG_MODULE, texts=False)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def _env_bindings(plan: StagePlan) -> list[dict[str, object]]:
    """What the Env template prints; ``class_name`` only for a Durable Object of this Worker."""
    bindings: list[dict[str, object]] = []
    for binding in plan.bindings:
        if binding.type not in _TS_TYPES:
            raise SluicewayError("has no TypeScript type yet", path=f"bindings.{binding.name}", got=binding.type)
        bindings.append(
            {
                "name": binding.name,
                "ts_type": _TS_TYPES[binding.type],
                "class_name": binding.fields.get("class_name"),
            }
        )
    return bindings


def _tsconfig(workspace: Workspace, out_dir: Path) -> str:
    document = {
        "extends": _relative(workspace.root / "tsconfig.json", out_dir),
        "compilerOptions": {
            "lib": ["es2024"],
            "types": [_relative(workspace.node_modules / "@cloudflare" / "workers-types", out_dir)],
            # config.json is a text module: the compiler must not look into it.
            "resolveJsonModule": False,
        },
        "include": ["src"],
    }
    return json.dumps(document, indent=2) + "\n"


def _relative(target: Path, start: Path) -> str:
    path = Path(os.path.relpath(target, start)).as_posix()
    return path if path.startswith(".") else f"./{path}"
