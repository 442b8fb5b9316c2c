"""Cron strings as the platform reads them."""

from __future__ import annotations

import pytest

from sluiceway.local.api import cron
from sluiceway.local.api.errors import ApiError
from tests.contract.cron import texts


@pytest.mark.parametrize("text", texts("taken"))
def test_wr_04_what_the_platform_takes_is_taken(text: str) -> None:
    cron.check(text)


@pytest.mark.parametrize("text", texts("refused"))
def test_wr_04_what_the_platform_refuses_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        cron.check(text)
    assert (refused.value.status, refused.value.code) == (400, 10100)
