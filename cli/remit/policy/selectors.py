"""Selectors: which resources a rule is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from remit.base.calls import Decide
from remit.base.resources import ResourceKind
from remit.policy.patterns import (
    CommandPattern,
    HostPattern,
    PathPattern,
    Place,
    TextPattern,
    Url,
    UrlPattern,
    canonical_url,
)
from remit.policy.subjects import PATH_KINDS, Coverage, Subject


class Selector(Protocol):
    """Which resources a rule is about."""

    @property
    def literal(self) -> bool:
        """Whether it names exactly one path."""
        ...

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        """Whether the rule speaks for it. `grants`: the rule is `auto`, so only what is certain counts.
        Raises ValueError for a name that cannot be understood."""
        ...

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        """How many of the resources of that shape it speaks for."""
        ...


class _OfKind(msgspec.Struct, frozen=True):
    """What all selectors by name share: they speak for some resources of their kinds."""

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        raise NotImplementedError

    @property
    def literal(self) -> bool:
        return False

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        return "some" if kind in self.kinds else "none"


class PathSelector(_OfKind, frozen=True):
    pattern: PathPattern

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        return PATH_KINDS

    @property
    def literal(self) -> bool:
        return self.pattern.literal

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        return subject.resource.kind in PATH_KINDS and self.pattern.matches(subject.paths)


class HostSelector(_OfKind, frozen=True):
    hosts: tuple[HostPattern, ...]

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        return frozenset({"url", "host"})

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        if subject.resource.kind not in self.kinds:
            return False
        host = _url_of(subject).host
        return any(pattern.covers(host) for pattern in self.hosts)


class UrlSelector(_OfKind, frozen=True):
    pattern: UrlPattern

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        return frozenset({"url"})

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        if subject.resource.kind not in ("url", "host"):
            return False
        url = _url_of(subject)
        if subject.resource.kind == "host" and "://" not in subject.name:
            # What is asked of the host later is not to be seen: it may be this very URL.
            return not grants and url.host == self.pattern.host
        return self.pattern.grants(url) if grants else self.pattern.hits(url)


def _url_of(subject: Subject) -> Url:
    """That of a URL or of a host. Raises ValueError."""
    place = subject.resource.kind == "host" and "://" not in subject.name
    return canonical_url(f"https://{subject.name}/" if place else subject.name)


class CommandSelector(_OfKind, frozen=True):
    pattern: CommandPattern

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        return frozenset({"command"})

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        if subject.line is None:
            return False
        if grants and self.pattern.anything:
            return True
        if subject.part is None:
            return False
        if not grants:
            return self.pattern.hits(subject.view)
        if subject.resource.cwd and self.pattern.relative:
            # The path is one of the workspace, and means another file elsewhere.
            return False
        return subject.part.argv is not None and self.pattern.grants(subject.part.argv)


class ExactCommand(_OfKind, frozen=True):
    """One command line as it is written."""

    text: str

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        return frozenset({"command"})

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        return subject.line is not None and subject.line.text == self.text


class NameSelector(_OfKind, frozen=True):
    of: frozenset[ResourceKind]
    pattern: TextPattern

    @property
    def kinds(self) -> frozenset[ResourceKind]:
        return self.of

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        return subject.resource.kind in self.of and subject.name != "" and self.pattern.matches(subject.name)


class Shape(msgspec.Struct, frozen=True):
    """Every resource of these kinds (None: any). inside: for paths, where they have to lie (None: anywhere)."""

    of: frozenset[ResourceKind] | None = None
    inside: bool | None = None

    @property
    def literal(self) -> bool:
        return False

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        return self.covers(subject.resource.kind, subject.resource.inside) == "all"

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        if self.of is not None and kind not in self.of:
            return "none"
        if kind in PATH_KINDS and self.inside is not None and inside != self.inside:
            return "none"
        return "all"


SelectorMaker = Callable[[str, Place, Decide], Selector]


def _named(*kinds: ResourceKind) -> SelectorMaker:
    return lambda text, place, decide: NameSelector(frozenset(kinds), TextPattern.compile(text))


SELECTORS: dict[str, SelectorMaker] = {
    "path": lambda text, place, decide: PathSelector(PathPattern.compile(text, place, follow=decide != "auto")),
    "host": lambda text, place, decide: HostSelector((HostPattern.compile(text),)),
    "url": lambda text, place, decide: UrlSelector(UrlPattern.compile(text)),
    "command": lambda text, place, decide: CommandSelector(CommandPattern.compile(text)),
    "topic": _named("topic"),
    "agent": _named("agent"),
    "name": _named("state", "artifact"),
}
"""The keys that select resources. Each raises BadPattern."""

SELECTED_KINDS: dict[str, frozenset[ResourceKind]] = {
    "path": PATH_KINDS,
    "host": frozenset({"url", "host"}),
    "url": frozenset({"url"}),
    "command": frozenset({"command"}),
    "topic": frozenset({"topic"}),
    "agent": frozenset({"agent"}),
    "name": frozenset({"state", "artifact"}),
}
"""The kinds of resources that a key can select."""


def make_selector(key: str, text: str, place: Place, decide: Decide) -> Selector:
    """The selector behind `key = "text"`. Raises BadPattern, KeyError."""
    return SELECTORS[key](text, place, decide)
