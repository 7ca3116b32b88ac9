"""How the parts of remit that are not always there are installed."""

from __future__ import annotations

import sys


def installing(extra: str) -> str:
    """What to type for an extra. The checkout is named, since no package index has remit."""
    typed = f"in remit's checkout, pip install '.[{extra}]'"
    return f"nothing can be added to the one file: {typed}" if getattr(sys, "frozen", False) else typed
