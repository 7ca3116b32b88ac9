"""What the build of the one-file program works out once for all its runs."""

from __future__ import annotations

import sys
from typing import Any


def built(name: str) -> Any:
    """A table of `remit.built_tables`, which only that program has; None elsewhere. It is not to be changed."""
    if not getattr(sys, "frozen", False):
        return None
    from importlib import import_module

    return getattr(import_module("remit.built_tables"), name)
