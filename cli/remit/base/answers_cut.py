"""What a model is told whose answer broke off: what it says next is the rest of that answer."""

from __future__ import annotations

CONTINUE = {
    "max_tokens": "Your answer was cut at the output limit. Continue where it ended.",
    "cut": "The connection broke while you answered. Continue where it ended.",
}
"""By the reason that it stopped for."""
