"""The tools of the next request: those that are always in it, and those that were needed so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from remit.base.messages import ToolSpec
from remit.base.records import ToolsLoaded
from remit.engine.state import SEARCH, State
from remit.tools.contract import Tool

WHEN_KEPT = ""
"""In place of a bundle: the tool comes in once a result was kept."""


class Shelf:
    """tools: all that the model may call. lazy: those that are left out of requests until they are needed, each with
    its bundle, or WHEN_KEPT; the tools of a bundle come in together.

    Which are in follows from the state alone, so that a resumed run asks with the same. load: writes down what comes
    in, in the state too."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        lazy: Mapping[str, str],
        state: State,
        load: Callable[[ToolsLoaded], None],
    ) -> None:
        self._tools = tools
        self._lazy = lazy
        self._state = state
        self._load = load
        self._specs: tuple[ToolSpec, ...] = ()
        self._made_of: tuple[str, ...] | None = None
        self._size = 0

    def fill(self) -> None:
        """Bring in what is needed by now."""
        state = self._state
        bundles = {self._lazy[name] for name in state.wanted if name in self._lazy} - {WHEN_KEPT}
        due = tuple(
            name
            for name, bundle in self._lazy.items()
            if name not in state.loaded
            and (bundle in bundles or (bundle == WHEN_KEPT and (state.outputs or name in state.wanted)))
        )
        if due:
            self._load(ToolsLoaded(due))

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The very same object until there are others. What was loaded comes last, as the rest was there before."""
        loaded = self._state.loaded
        if loaded != self._made_of:
            first = [name for name in self._tools if name not in self._lazy and name != SEARCH]
            names = [*first, *(name for name in loaded if name in self._tools)]
            names += [SEARCH] if SEARCH in self._tools and self.pending() else []
            self._specs, self._made_of = tuple(self._tools[name].spec() for name in names), loaded
            self._size = len(msgspec.json.encode(self._specs))
        return self._specs

    @property
    def size(self) -> int:
        """Bytes of the specs."""
        return self._size if self.specs else 0

    def pending(self) -> dict[str, list[ToolSpec]]:
        """What a search could load, by bundle."""
        found: dict[str, list[ToolSpec]] = {}
        for name, bundle in self._lazy.items():
            if bundle != WHEN_KEPT and name not in self._state.loaded and name in self._tools:
                found.setdefault(bundle, []).append(self._tools[name].spec())
        return found
