"""The order among the calls of one turn: readers share, writers are alone, per resource."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from remit.base.resources import Effect, Resource

QUIET_EFFECTS = frozenset({Effect.NONE, Effect.READ, Effect.STATE})
"""Effects that leave the world as it was: running such a call twice needs no proof on disk."""

FILES = frozenset({"path", "tree", "command"})
"""Kinds that overlap one another: a command may touch any file. All others are alone by their name, but for agents,
which never wait for one another."""


class _Turnstile(msgspec.Struct):
    """Who used a resource since its last writer."""

    writer: asyncio.Event | None = None
    readers: list[asyncio.Event] = msgspec.field(default_factory=list)

    def enter(self, writes: bool, end: asyncio.Event) -> Iterator[asyncio.Event]:
        """Take a place; the ends to wait for."""
        if self.writer is not None:
            yield self.writer
        if not writes:
            self.readers.append(end)
            return
        yield from self.readers
        self.writer, self.readers = end, []


class _FileUse(msgspec.Struct, frozen=True):
    resources: tuple[Resource, ...]
    end: asyncio.Event


class Order:
    """Gives each call of a turn, in order, the ends it has to wait for."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, str], _Turnstile] = {}
        self._files: list[_FileUse] = []
        self._writers: list[_FileUse] = []

    def add(self, resources: Sequence[Resource], end: asyncio.Event) -> list[asyncio.Event]:
        """resources: of one call, none for one that does not run. end: set when the call is over."""
        waits: list[asyncio.Event] = []
        named: dict[tuple[str, str], bool] = {}
        for each in resources:
            if each.kind not in FILES and each.kind != "agent":
                name = (each.kind, each.name)
                named[name] = named.get(name, False) or _writes(each)
        for key, writes in named.items():
            waits += self._named.setdefault(key, _Turnstile()).enter(writes, end)
        files = tuple(each for each in resources if each.kind in FILES)
        if files:
            use = _FileUse(files, end)
            waits += self._earlier(files)
            self._files.append(use)
            if any(map(_writes, files)):
                self._writers.append(use)
        return list(dict.fromkeys(waits))

    def _earlier(self, files: tuple[Resource, ...]) -> Iterator[asyncio.Event]:
        # Readers, however many, never look at one another.
        for use in reversed(self._files if any(map(_writes, files)) else self._writers):
            if any(_conflict(one, other) for one in files for other in use.resources):
                yield use.end
                if use.resources == files and all(map(_writes, files)):
                    # It waited for everything before it that this call would wait for.
                    return


def _writes(resource: Resource) -> bool:
    return resource.effect not in QUIET_EFFECTS


def _conflict(one: Resource, other: Resource) -> bool:
    return (_writes(one) or _writes(other)) and overlap(one, other)


def overlap(one: Resource, other: Resource) -> bool:
    """Whether two file resources can be about the same file."""
    if "command" in {one.kind, other.kind}:
        return True
    return any(_beneath(a, b) or _beneath(b, a) for a in one.names() for b in other.names())


def _beneath(path: str, root: str) -> bool:
    return root in (".", path) or path.startswith(f"{root}/")
