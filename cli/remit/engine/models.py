"""The models that a run may ask, and what their answers cost."""

from __future__ import annotations

import msgspec

from remit.base.messages import Cost, Usage
from remit.base.ports import Provider
from remit.base.spec import ModelSpec, Price, PriceTier


class Model(msgspec.Struct, frozen=True):
    """price None: unknown. metered: its tokens cost something somewhere."""

    provider: Provider
    spec: ModelSpec
    price: Price | None
    metered: bool

    @property
    def id(self) -> str:
        """`provider/model`, as answers and costs are booked."""
        return f"{self.provider.name}/{self.provider.model}"

    def cost(self, usage: Usage) -> Cost | None:
        """None without a price."""
        return None if self.price is None else cost_of(usage, self.price)


def cost_of(usage: Usage, price: Price) -> Cost:
    """Long requests have prices of their own: the dearest tier that the whole input reaches counts."""
    rate: Price | PriceTier = price
    asked = usage.input + usage.cache_read + usage.cache_write
    for tier in sorted(price.tiers, key=lambda tier: tier.above):
        rate = tier if asked > tier.above else rate
    return Cost(
        input=usage.input * rate.input / 1e6,
        output=usage.output * rate.output / 1e6,
        cache_read=usage.cache_read * (rate.input if rate.cache_read is None else rate.cache_read) / 1e6,
        cache_write=usage.cache_write * (rate.input if rate.cache_write is None else rate.cache_write) / 1e6,
    )
