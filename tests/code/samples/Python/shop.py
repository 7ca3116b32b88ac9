"""A shop, for the outline of Python."""

from __future__ import annotations

import os.path
import re as regex
from collections import OrderedDict as Ordered, deque
from ..stock import shelves
from .money import *

LIMIT = 10
type Price = int


class Basket(Ordered):
    """What a customer wants."""

    size = 3

    def __init__(self, owner: Customer, fetch=None) -> None:
        self.owner = owner
        fetch("owner")
        super().__init__()

    @property
    def total(self) -> Price:
        """The sum of all prices."""
        return sum(price(each) for each in self.items())

    @staticmethod
    async def restock(name, *rest):
        def count(shelf):
            return shelf.amount()

        return count(shelves.find(name)) + count(name)


# How much one thing costs.
@regex.cached
def price(thing):
    return Basket.look_up(os.path.join(thing, "price"))
