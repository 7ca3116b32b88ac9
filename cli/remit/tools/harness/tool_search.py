"""tool_search: loads tools that requests leave out until they are needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.messages import ToolSpec
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Tool

Pending = Mapping[str, Sequence[ToolSpec]]
"""What could be loaded, by bundle: a bundle is loaded whole."""

NAME_HIT, DESCRIPTION_HIT = 2, 1
MAX_LINE = 90


class ToolSearchParams(msgspec.Struct, forbid_unknown_fields=True):
    query: Annotated[str, msgspec.Meta(description="A name, or words for what you need.")]


class ToolSearch(Tool):
    """Load further tools: those that fit best can be called from your next message on. There are:"""

    name = "tool_search"
    toolset = "harness"
    effects = frozenset({Effect.NONE})
    repeatable = True
    harness = True
    retained = False
    Params = ToolSearchParams

    def __init__(self, pending: Callable[[], Pending]) -> None:
        self._pending = pending

    def spec(self) -> ToolSpec:
        spec = super().spec()
        return ToolSpec(spec.name, f"{spec.description}\n{catalog(self._pending())}", spec.schema)

    def resources(self, params: ToolSearchParams, world: World) -> Sequence[Resource]:
        return ()

    async def run(self, params: ToolSearchParams, ctx: ToolContext) -> Outcome:
        if not words(params.query):
            raise Failure(ErrorCode.INVALID_ARGUMENTS, "query: it is empty; give a name, or words for what you need")
        pending = self._pending()
        bundle = best(params.query, pending)
        if bundle is None:
            left = f"there are:\n{catalog(pending)}" if pending else "all tools are loaded"
            return done({"loads": []}, f"No tool fits {shorten(params.query)}; {left}")
        names = [spec.name for spec in pending[bundle]]
        return done({"loads": names}, f"From your next message on you can call: {', '.join(names)}.")


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def catalog(pending: Pending) -> str:
    """A line for each bundle: its tools, and of one alone what it does."""
    return "\n".join(_line(specs) for _, specs in sorted(pending.items()))


def _line(specs: Sequence[ToolSpec]) -> str:
    names = ", ".join(spec.name for spec in specs)
    first = " ".join(specs[0].description.split()).partition(". ")[0].partition(": ")[0]
    line = f"{names}: {first}"
    return names if len(specs) > 1 else line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 3].rstrip()}..."


def best(query: str, pending: Pending) -> str | None:
    """The bundle of the tool that fits best; None where no word of the query fits any. A tool's own name wins; else
    each word counts, in a name more than in a description."""
    wanted = query.strip().casefold()
    ranked: list[tuple[int, str, str]] = []
    for bundle, specs in pending.items():
        for spec in specs:
            if wanted in (spec.name, bundle):
                return bundle
            name, description = spec.name.casefold(), spec.description.casefold()
            score = sum(
                NAME_HIT if word in name else DESCRIPTION_HIT if word in description else 0 for word in words(query)
            )
            ranked.append((-score, spec.name, bundle))
    top = min(ranked, default=None)
    return top[2] if top is not None and top[0] else None
