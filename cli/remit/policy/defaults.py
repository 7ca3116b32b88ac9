"""The rules that are built in: the floor, which always holds, and the defaults, which speak last."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit.base.calls import Decide, RuleRef
from remit.base.lazy_pattern import lazy_pattern
from remit.base.resources import Effect, ResourceKind
from remit.policy.patterns import PathPattern, Place
from remit.policy.rules import Rule
from remit.policy.selectors import PathSelector, Selector, Shape
from remit.policy.subjects import PATH_KINDS, Coverage, Subject
from remit.workspace.credentials import holds_credentials
from remit.workspace.sandbox_places import STARTED

BUILT_IN = "built in"

_ASKED = (Effect.WRITE, Effect.EXECUTE, Effect.NETWORK, Effect.MESSAGE, Effect.SPEND, Effect.AGENT)
_DEFAULTS: tuple[tuple[Decide, Shape | None, tuple[Effect, ...], str], ...] = (
    ("deny", Shape(PATH_KINDS, inside=False), (), "it lies outside of the workspace"),
    ("auto", None, (Effect.NONE,), "it has no effect"),
    ("auto", None, (Effect.STATE,), "it touches only what the run itself owns"),
    ("auto", Shape(frozenset({"artifact"})), (Effect.WRITE,), "artifacts are written to their own store"),
    ("auto", Shape(PATH_KINDS, inside=True), (Effect.READ,), "reading inside the workspace is open"),
    ("ask", None, _ASKED, "this effect is asked for unless a rule allows it"),
)


def default_rules() -> tuple[Rule, ...]:
    """By effect and resource, never by tool. What none of them speaks for is denied."""
    return tuple(
        Rule(decide, RuleRef("default", BUILT_IN, why), effects=frozenset(effects) or None, selector=shape)
        for decide, shape, effects, why in _DEFAULTS
    )


_OWN = (
    "~/.config/remit/**",
    "~/.local/share/remit/**",
    "~/.local/state/remit/**",
    "~/.cache/remit/**",
    "~/Library/Application Support/remit/**",
)
"""Where remit keeps its own files unless it is told otherwise."""


def floor_rules(place: Place, own: Sequence[str], ruling: Sequence[str]) -> tuple[Rule, ...]:
    """What holds whatever the rules say.

    own: absolute directories of remit's own state and settings. ruling: absolute files that rule this
    run (task, policies, approvals): a call that could write them would set its own limits."""
    credentials = Credentials()
    rules = [_floor(credentials, None, "it holds credentials, or is named like a file that does")]
    for text in (*_OWN, *(f"{_literal(path)}/**" for path in own)):
        rules.append(_floor(_path(text, place), None, "it belongs to remit itself"))
    for text in (".remit/**", *(_literal(path) for path in ruling)):
        rules.append(_floor(_path(text, place), frozenset({Effect.WRITE}), "it rules this run or later ones"))
    for name in STARTED:
        why = "it rules what git, shells and sessions of the user run"
        rules.append(_floor(_path(f"~/{name}/**", place), frozenset({Effect.WRITE}), why))
    rules.append(_floor(GitStore(), frozenset({Effect.WRITE}), "it is git's own, and what it says is run by git"))
    return tuple(rules)


def _floor(selector: Selector, effects: frozenset[Effect] | None, why: str) -> Rule:
    return Rule("deny", RuleRef("floor", BUILT_IN, why), effects=effects, selector=selector)


def _path(text: str, place: Place) -> PathSelector:
    return PathSelector(PathPattern.compile(text, place, follow=True))


def _literal(path: str) -> str:
    """A path as a pattern that means just it."""
    return re.sub(r"([*?\[{}\\])", r"[\1]", path)


class Credentials:
    """Files that people keep credentials in, and the directories of such files, by name in any place."""

    literal = False
    kinds: frozenset[ResourceKind] = PATH_KINDS

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        return any(holds_credentials(path) for path in subject.paths)

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        return "some" if kind in PATH_KINDS else "none"


class GitStore:
    """What git keeps about a repository: its settings and hooks name programs that it runs."""

    literal = False
    kinds: frozenset[ResourceKind] = PATH_KINDS

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        return any(_GIT.search(path.casefold()) for path in subject.paths)

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        return "some" if kind in PATH_KINDS else "none"


_END = r"[. ]*"
"""Dots and blanks at the end of a name, which some file systems drop."""

_GIT = lazy_pattern(rf"/\.git{_END}(?:/|\Z)")
