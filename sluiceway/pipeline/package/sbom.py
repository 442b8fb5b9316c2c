"""The package as a bill of materials: CycloneDX 1.6 in JSON, without a time or a random number in it."""

from __future__ import annotations

import json
import uuid
from typing import Any, Final

from sluiceway.pipeline.package.manifest import Manifest

NAME: Final = "sbom.cdx.json"
_SPACE: Final = uuid.UUID("6f1d4a52-6a0e-5d7a-9a41-6b1f6f0a6b1e")


def text(manifest: Manifest) -> str:
    """The document for the files that ``manifest`` lists, which is one without the bill itself."""
    document = _document(manifest)
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _document(manifest: Manifest) -> dict[str, Any]:
    serial = uuid.uuid5(_SPACE, " ".join(file.sha256 for file in manifest.files))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": _model(manifest)},
        "components": [
            {
                "type": "file",
                "bom-ref": f"file:{file.name}",
                "name": file.name,
                "hashes": [{"alg": "SHA-256", "content": file.sha256}],
            }
            for file in manifest.files
        ]
        + [
            {"type": "library", "bom-ref": f"runtime:{name}", "name": name.replace("_", "-"), "version": version}
            for name, version in sorted(manifest.runtime.items())
        ],
        "dependencies": [
            {"ref": "model", "dependsOn": [f"runtime:{name}" for name in sorted(manifest.runtime)]},
        ],
    }


def _model(manifest: Manifest) -> dict[str, Any]:
    graph = next(file for file in manifest.files if file.name == "model.onnx")
    found: dict[str, Any] = {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": manifest.model,
        "hashes": [{"alg": "SHA-256", "content": graph.sha256}],
        "modelCard": {
            "modelParameters": {
                "task": manifest.task,
                "inputs": [{"format": f"{port.name}: {port.type}"} for port in manifest.graph.inputs],
                "outputs": [{"format": f"{port.name}: {port.type}"} for port in manifest.graph.outputs],
            },
            "quantitativeAnalysis": {
                "performanceMetrics": [{"type": name, "value": str(value)} for name, value in manifest.figures.items()]
            },
        },
        "properties": [
            {"name": "sluiceway:precision", "value": manifest.precision},
            {"name": "sluiceway:recipe", "value": manifest.lineage.recipe},
            {"name": "sluiceway:source", "value": json.dumps(manifest.source, sort_keys=True, ensure_ascii=False)},
        ],
    }
    if manifest.licence is not None:
        # A name and not an id: an id must be one of SPDX's list as it was when the schema was written.
        found["licenses"] = [{"license": {"name": manifest.licence}}]
    return found
