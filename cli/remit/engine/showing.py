"""What the model is shown of an outcome: one clip for all tools, and the rest of it kept whole."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from remit.base.calls import Call, Outcome, Retained
from remit.base.clipping import gap, joined, told
from remit.base.limits import Bounds
from remit.base.ports import Outputs
from remit.base.text import scrub
from remit.tools.contract import Tool

PART_BYTES = 1000
"""A longer part of a call is kept: the whole may have no room for all of it."""

NO_TOOL = Bounds(output_bytes=4096)
"""For calls of tools that there are not."""


class Shown(msgspec.Struct, frozen=True):
    """outcome: as it is recorded, without the text that `content` and `output` hold."""

    outcome: Outcome
    content: str
    output: Retained | None = None


class Clip:
    """outputs: keeps results whole; None where the model could not read them there. clean: takes out of a
    text what no record may hold, before any of it is cut or kept."""

    def __init__(self, outputs: Outputs | None, clean: Callable[[str], str]) -> None:
        self._outputs = outputs
        self._clean = clean

    def show(
        self, call: Call, tool: Tool | None, producer: str, outcome: Outcome, max_bytes: int, *, sync: bool
    ) -> Shown:
        """Whole where it is within its tool's bounds and `max_bytes`, else head and tail, in whole lines or
        characters, and how to read on. Raises EnvironmentFault when it cannot be kept."""
        bounds = tool.bounds if tool else NO_TOOL
        text = self._clean(scrub(outcome.for_model()))
        left_out = gap(text, min(bounds.output_bytes, max_bytes), bounds.output_lines)
        kept: Retained | None = None
        if self._outputs is not None and (tool is None or tool.retained) and (left_out or outcome.text or call.parent):
            cut = left_out is not None or (bool(call.parent) and len(text) > PART_BYTES)
            kept = self._outputs.retain(call.key, producer, text, cut=cut, sync=sync)
        recorded = msgspec.structs.replace(outcome, text="") if outcome.text else outcome
        if left_out is None:
            return Shown(recorded, text, kept)
        return Shown(recorded, joined(text, left_out, told(text, left_out, kept.handle if kept else "")), kept)
