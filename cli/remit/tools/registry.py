"""The tools by name. Folder = toolset and file = tool, so the folders are the list."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache

from remit.base.built import built
from remit.base.resources import Effect
from remit.tools.contract import Tool

TOOLSETS = ("documents", "files", "code", "execution", "agents")


@cache
def places() -> dict[str, str]:
    """Every tickable tool's name and the module that holds it."""
    known: Mapping[str, str] | None = built("PLACES")
    if known is not None:
        # The one-file program has no folders.
        return dict(known)
    found: dict[str, str] = {}
    for toolset in TOOLSETS:
        package = f"remit.tools.{toolset}"
        spec = importlib.util.find_spec(package)
        assert spec is not None
        for module in pkgutil.iter_modules(spec.submodule_search_locations):
            if not module.name.startswith("_"):
                found[module.name] = f"{package}.{module.name}"
    return dict(sorted(found.items()))


@cache
def load(name: str) -> Tool:
    """The tool of this name; only its own module is imported. Raises KeyError."""
    module = importlib.import_module(places()[name])
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Tool) and value.__module__ == module.__name__
    ]
    if len(classes) != 1 or classes[0].name != name:
        raise ImportError(f"{module.__name__} must hold exactly one Tool, named {name}")
    return classes[0]()


class Effects(Mapping[str, frozenset[Effect]]):
    """Effects by tool name; a tool is imported only when its effects are asked for."""

    def __getitem__(self, name: str) -> frozenset[Effect]:
        if name in HARNESS_EFFECTS:
            return HARNESS_EFFECTS[name]
        return load(name).effects

    def __iter__(self) -> Iterator[str]:
        return iter(places())

    def __len__(self) -> int:
        return len(places())

    def __contains__(self, name: object) -> bool:
        return name in places() or name in HARNESS_EFFECTS


HARNESS_EFFECTS = {
    "structured_output": frozenset({Effect.STATE}),
    "tool_search": frozenset({Effect.NONE}),
    "check": frozenset({Effect.EXECUTE}),
    "report_to_parent": frozenset({Effect.STATE}),
}


def tool_effects() -> Mapping[str, frozenset[Effect]]:
    """The effects of every tool, by name; iterating names the tickable ones."""
    return Effects()


def all_tools() -> dict[str, Tool]:
    """Every tickable tool."""
    return {name: load(name) for name in places()}
