"""The tools of an agent, and those of its requests."""

from __future__ import annotations

from collections.abc import Callable

from remit.base.records import ToolsLoaded
from remit.engine.shelf import Shelf
from remit.engine.state import SEARCH, State
from remit.tools.contract import Tool
from remit.wiring.offer import Offer


def shelved(
    offer: Offer, state: State, load: Callable[[ToolsLoaded], None], used: Callable[[Tool], Tool] = lambda tool: tool
) -> tuple[dict[str, Tool], Shelf]:
    """All tools that may be called, with the search for those that requests leave out, and those of the requests.
    load: as for Shelf. used: the tool in whose place the search is put."""
    tools = dict(offer.tools)
    shelf = Shelf(tools, offer.lazy, state, load)
    if shelf.pending():
        from remit.tools.harness.tool_search import ToolSearch

        tools[SEARCH] = used(ToolSearch(shelf.pending))
    return tools, shelf
