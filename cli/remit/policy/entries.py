"""Judging the entries of a tree by the thousand: which of the rules look at names, and whether one may speak."""

from __future__ import annotations

from collections.abc import Iterable

from remit.base.resources import Resource, ResourceKind
from remit.policy.defaults import Credentials
from remit.policy.patterns import Place
from remit.policy.rules import Rule
from remit.policy.selectors import PathSelector, Shape
from remit.policy.subjects import PATH_KINDS
from remit.workspace.credentials import holds_credentials

Manner = tuple[ResourceKind, bool]
"""All that rules without names see of a path: its kind, and whether it lies inside."""


class NamedRules:
    """The rules that look at the names of paths. Where none of them speaks, paths alike in manner are judged
    alike; `silent` is for the caller to keep these judgements in, by manner and the approval they were made with."""

    def __init__(self, rules: Iterable[Rule], place: Place) -> None:
        starts: dict[str, None] = {}
        self.silent: dict[object, bool] = {}
        self._place = place
        self._credentials = False
        self._any = False
        for rule in rules:
            selector = rule.selector
            if selector is None or isinstance(selector, Shape):
                continue
            if isinstance(selector, PathSelector):
                starts.update(dict.fromkeys(selector.pattern.starts))
            elif isinstance(selector, Credentials):
                self._credentials = True
            elif any(selector.covers(kind, inside) != "none" for kind in PATH_KINDS for inside in (True, False)):
                self._any = True
        self._starts = tuple(starts)

    def may_speak(self, entry: Resource) -> bool:
        """Whether one of them may be about this path. Errs on the side of True."""
        # Plain loops: a search asks this of every entry that it may show.
        for name in entry.names():
            for path in self._place.absolute(name):
                if path.startswith(self._starts) or (self._credentials and holds_credentials(path)):
                    return True
        return self._any
