"""Loading the HTTP stack without what it would look for in vain."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def prepare_http_stack() -> None:
    """Call before httpcore is imported.

    httpcore looks for sniffio on every request. Where it is not installed, each look walks all of
    `sys.path`, which costs more than the rest of a small request; None makes the answer immediate.
    """
    if "sniffio" not in sys.modules and find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # type: ignore[assignment]
