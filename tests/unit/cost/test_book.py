from __future__ import annotations

from sluiceway.cost.book import PriceBook
from sluiceway.domain.model import Model, ModelRef, ModelVersion, Price

PRICE = Price(input=0.06, output=0.4)


def test_it_knows_the_price_of_each_version_and_which_have_none() -> None:
    versions = (
        ModelVersion("chat", 1, "workers-ai", id="@cf/a/b", price=PRICE),
        ModelVersion("chat", 2, "openai", id="own"),
    )
    book = PriceBook.of([Model("chat", "chat", True, versions)])
    assert book.price(ModelRef("chat", 1)) == PRICE
    assert book.price(ModelRef("chat", 2)) is None
    assert book.price(ModelRef("other", 1)) is None
    assert book.unpriced == (ModelRef("chat", 2),)
