"""Numbers as a person reads them: decimal units, three figures."""

from __future__ import annotations

from typing import Final

_BYTES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"))
_COUNTS: Final = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K"))


def human_bytes(amount: float) -> str:
    """``22.8 MB``, ``1.03 TB``; under a megabyte ``0.2 MB``."""
    for size, unit in _BYTES:
        if amount >= size:
            return f"{_figures(amount / size)} {unit}"
    return f"{amount / 10**6:.1g} MB" if amount else "0"


def human_count(amount: float) -> str:
    """``1.03T``, ``8.03B``, ``22.7M``, ``576``."""
    for size, unit in _COUNTS:
        if amount >= size:
            return f"{_figures(amount / size)}{unit}"
    return f"{amount:.0f}"


def human_usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount < 100 else f"${amount:,.0f}"


def human_time(seconds: float) -> str:
    """``3.4 ms``, ``1.2 s``."""
    return f"{_figures(seconds * 1000)} ms" if seconds < 1 else f"{_figures(seconds)} s"


def _figures(value: float) -> str:
    """Three figures; more before the point are kept."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
