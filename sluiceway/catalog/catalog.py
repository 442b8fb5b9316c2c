"""The catalogue: every model of this repository with all its versions."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.domain.model import Model, ModelRef, ModelVersion
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError


@dataclass(frozen=True)
class Catalog:
    """Models by name."""

    models: tuple[Model, ...]

    def model(self, name: str, path: str) -> Model:
        """The model ``name``, which was asked for at ``path``; a UserError that lists the known ones otherwise."""
        known = [model.name for model in self.models]
        for model in self.models:
            if model.name == name:
                return model
        near = nearest(name, known)
        meant = f"did you mean {near}? " if near else ""
        listed = ", ".join(known) or "none"
        raise UserError(f"there is no model {name!r}", path=path, hint=f"{meant}known models: {listed}")

    def version(self, ref: ModelRef, path: str) -> ModelVersion:
        """The version ``ref``, which was asked for at ``path``; a UserError that lists the known ones otherwise."""
        model = self.model(ref.model, path)
        found = model.version(ref.number)
        if found is None:
            known = ", ".join(str(version.ref) for version in model.versions)
            raise UserError(
                f"there is no model version {ref}",
                path=path,
                hint=f"known versions: {known}; new ones are added in models/{ref.model}.yaml",
            )
        return found
