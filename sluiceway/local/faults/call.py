"""A fault of Cloudflare's API: which calls it concerns, what it does to them, and on which side of the change.

| field         | means                                                                                        |
| ------------- | -------------------------------------------------------------------------------------------- |
| `api`         | products (`kv`, `worker-versions`, ...; see `products.py`), `r2-s3`: R2's S3 API, or `all`   |
| `paths`       | patterns of paths below the account or zone, such as `/workers/scripts/chat*`; none: any     |
| `methods`     | `GET`, `POST`, ...; none: any                                                                |
| `status`      | answer with this HTTP status, in the product's own error                                     |
| `code`        | Cloudflare's number in that error, where another than the usual is wanted                    |
| `retry_after` | seconds, as the header of that answer                                                        |
| `delay_ms`    | before whatever else happens                                                                 |
| `drop`        | the connection ends without an answer                                                        |
| `after`       | the call is done first, and its own answer is lost: only then comes what the fault does      |
| `share`, `seed`, `seconds`, `count` | as in `when.py`                                                        |
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import ClassVar

from pydantic import Field, field_validator, model_validator

from sluiceway.local.faults.products import ALL, PRODUCTS, S3, below_owner, product
from sluiceway.local.faults.when import When

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class CallFault(When):
    """As the table above says; frozen."""

    does: ClassVar[tuple[str, ...]] = ("status", "delay_ms", "drop")

    api: list[str] = Field(min_length=1, max_length=50)
    paths: list[str] = Field(default=[], max_length=50)
    methods: list[str] = Field(default=[], max_length=len(METHODS))
    status: int | None = Field(None, ge=400, le=599)
    code: int | None = Field(None, ge=1, le=999_999)
    retry_after: int | None = Field(None, ge=0, le=86_400)
    delay_ms: int | None = Field(None, ge=1, le=600_000)
    drop: bool = False
    after: bool = False

    @field_validator("api")
    @classmethod
    def _products(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in (ALL, *PRODUCTS):
                raise ValueError(f"the API of the local stage has no product {name!r}")
        return names

    @field_validator("methods")
    @classmethod
    def _methods(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in METHODS:
                raise ValueError(f"no method of the API is called {name!r}")
        return names

    @model_validator(mode="after")
    def _does_something(self) -> CallFault:
        if not self.effects():
            raise ValueError("this fault does nothing")
        if self.status is None and (self.code is not None or self.retry_after is not None):
            raise ValueError("code and retry_after belong to an error: give its status too")
        if self.drop and self.status is not None:
            raise ValueError("a connection that is dropped tells no status")
        return self

    @property
    def of_s3(self) -> bool:
        return ALL in self.api or S3 in self.api

    def concerns(self, method: str, path: str) -> bool:
        """Whether a call is one of those that it may hit. ``path`` is below the API's base."""
        return self._fits(method, below_owner(path), product(path))

    def concerns_s3(self, method: str, path: str) -> bool:
        """The same for R2's S3 API, where ``path`` is ``/bucket/key``."""
        return self._fits(method, path, S3)

    def _fits(self, method: str, path: str, of: str | None) -> bool:
        named = ALL in self.api or of in self.api
        there = not self.paths or any(fnmatchcase(path, pattern) for pattern in self.paths)
        return named and there and (not self.methods or method in self.methods)


def hint(path: str) -> str | None:
    """What a field of a fault of the API may be, where that takes saying."""
    names = {"api": (ALL, *PRODUCTS), "methods": METHODS}
    return f"one of {', '.join(names[path])}" if path in names else None
