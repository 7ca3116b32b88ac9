"""The line at the foot of a terminal that says where a run stands; it is drawn anew, and gone when the run is over."""

from __future__ import annotations

import os
from typing import NamedTuple

WIDTH = 80
CLEAR = "\r\x1b[K"


class Standing(NamedTuple):
    """Where a run stands. turn: model requests of this prompt. tokens, usd: spent so far; usd_known: whether that is
    all of it. seconds: of this prompt."""

    turn: int
    tokens: int
    usd: float
    usd_known: bool
    seconds: float


def progress_line(standing: Standing, running: list[str], width: int) -> str:
    """Turn, calls at work, tokens, cost, time. width: columns that it may take."""
    parts = [f"turn {standing.turn}"]
    if running:
        parts.append(running[0] if len(running) == 1 else f"{running[0]} and {len(running) - 1} more")
    parts.append(f"{standing.tokens:,} tokens")
    if standing.usd or standing.usd_known:
        parts.append(f"${standing.usd:.4f}{'' if standing.usd_known else ' and more'}")
    parts.append(_time(standing.seconds))
    return ", ".join(parts)[: max(1, width - 1)]


def terminal_width(fd: int) -> int:
    try:
        return os.get_terminal_size(fd).columns or WIDTH
    except OSError:
        return WIDTH


def _time(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02} min" if whole >= 60 else f"{whole} s"
