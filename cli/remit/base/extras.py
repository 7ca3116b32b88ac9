"""How the parts of remit that are not always there are installed."""

from __future__ import annotations


def installing(extra: str) -> str:
    """What to type for an extra. The checkout is named, since no package index has remit."""
    return f"in remit's checkout, pip install '.[{extra}]'"
