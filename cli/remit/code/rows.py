"""How many rows an answer has, and how far it looks: what tools say of themselves without loading the answers."""

from __future__ import annotations

DEFAULT_ROWS = 200
MAX_ROWS = 2000
DEFAULT_HOPS = 3
MAX_HOPS = 8
