"""The price book: what each model version costs, as far as that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sluiceway.domain.model import Model, ModelRef, Price


@dataclass(frozen=True)
class PriceBook:
    """Prices by version. ``unpriced``: versions whose price is unknown; budgets count them as free."""

    prices: Mapping[ModelRef, Price]
    unpriced: tuple[ModelRef, ...]

    @classmethod
    def of(cls, models: Iterable[Model]) -> PriceBook:
        versions = [version for model in models for version in model.versions]
        return cls(
            prices={version.ref: version.price for version in versions if version.price is not None},
            unpriced=tuple(sorted(version.ref for version in versions if version.price is None)),
        )

    def price(self, ref: ModelRef) -> Price | None:
        return self.prices.get(ref)
