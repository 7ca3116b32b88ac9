"""Rules: what a rule file may say, and what it compiles to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

import msgspec

from remit.base.calls import Decide, RuleRef
from remit.base.claude_names import named_here
from remit.base.errors import Fault
from remit.base.resources import Effect, Resource, ResourceKind
from remit.base.text import shorten
from remit.config.load import Document, convert, convert_fields, did_you_mean, spell
from remit.policy.patterns import (
    BadPattern,
    CommandPattern,
    HostPattern,
    PathPattern,
    Place,
    TextPattern,
    Url,
    UrlPattern,
    canonical_url,
)
from remit.policy.redirects import touched
from remit.policy.shell import CommandLine, Part, View, read_command

PATH_KINDS: frozenset[ResourceKind] = frozenset({"path", "tree"})
CHECK_TOOL = "check"
"""The tool that runs a task's checks. It is never offered, yet rules may name it."""

COMMAND_TOOLS = frozenset({"shell", CHECK_TOOL})
"""The tools that run commands, which may connect to hosts."""

Coverage = Literal["all", "some", "none"]


# -- what is judged ----------------------------------------------------------------------------


class Subject(msgspec.Struct, frozen=True):
    """A resource under one of its names; a command line, in one view of one of its parts, or as the
    file that one of its redirects opens.

    paths: the absolute spellings of a path's name. line: of a command and of its redirects. part, view: of
    a command."""

    resource: Resource
    name: str
    paths: tuple[str, ...] = ()
    line: CommandLine | None = None
    part: Part | None = None
    view: View = ()

    @property
    def redirect(self) -> bool:
        return self.line is not None and self.part is None


NOTHING = Resource("state", "", Effect.NONE)
"""Stands for a call that touches nothing, so that rules without a selector speak for it."""


def subjects(resource: Resource, place: Place) -> list[Subject]:
    """Everything a resource has to be held against. All of them have to pass."""
    if resource.kind in PATH_KINDS:
        return [Subject(resource, name, place.absolute(name)) for name in resource.names()]
    if resource.kind == "command":
        return [*_commands(resource), *_redirects(resource, place)]
    return [Subject(resource, name) for name in resource.names()]


def _commands(resource: Resource) -> Iterator[Subject]:
    line = read_command(resource.name)
    for part in line.parts:
        for view in part.views:
            yield Subject(resource, resource.name, line=line, part=part, view=view)


def _redirects(resource: Resource, place: Place) -> Iterator[Subject]:
    line = read_command(resource.name)
    for file in touched(line, resource.cwd, place):
        for name in file.names():
            yield Subject(file, name, place.absolute(name), line)


# -- selectors ---------------------------------------------------------------------------------


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


# -- rules -------------------------------------------------------------------------------------


class Rule(msgspec.Struct, frozen=True):
    """One compiled rule. None: no restriction. examples: how many it was tried with."""

    decide: Decide
    ref: RuleRef
    tools: frozenset[str] | None = None
    effects: frozenset[Effect] | None = None
    mode: str | None = None
    selector: Selector | None = None
    examples: int = 0

    def concerns(self, tool: str, effect: Effect, mode: str) -> bool:
        """Whether it is about such calls at all."""
        return (
            (self.tools is None or tool in self.tools)
            and (self.effects is None or effect in self.effects)
            and (self.mode is None or self.mode == mode)
        )

    def matches(self, subject: Subject) -> bool:
        """Whether it speaks for this resource. Raises ValueError as its selector does."""
        grants = self.decide == "auto"
        if subject.redirect:
            return self._matches_redirect(subject, grants=grants)
        if subject.resource.kind == "host" and grants and not self.opens_hosts:
            return False
        return self.selector is None or self.selector.matches(subject, grants=grants)

    @property
    def opens_hosts(self) -> bool:
        """Whether it lets commands connect to hosts. A command sends what it likes to where it may connect, so
        that takes a rule which names both the tool and the hosts."""
        return self.decide == "auto" and self.tools is not None and isinstance(self.selector, HostSelector)

    def _matches_redirect(self, subject: Subject, *, grants: bool) -> bool:
        """A rule about any command is about what its redirects touch too. Else the path counts, as in any
        other call."""
        executes = self.effects is None or Effect.EXECUTE in self.effects
        if executes and self.covers("command", True) == "all":
            return True
        if self.effects is not None and subject.resource.effect not in self.effects and not self._names(subject):
            return False
        return self.selector is None or self.selector.matches(subject, grants=grants)

    def _names(self, subject: Subject) -> bool:
        """Whether it is about the command as such, be it by its text or by `*`."""
        return isinstance(self.selector, CommandSelector | ExactCommand)

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        return "all" if self.selector is None else self.selector.covers(kind, inside)

    @property
    def literal(self) -> bool:
        return self.selector is not None and self.selector.literal


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

_KINDS_BY_EFFECT: dict[Effect, frozenset[ResourceKind]] = {
    Effect.NONE: frozenset(),
    Effect.STATE: frozenset({"state"}),
    Effect.READ: PATH_KINDS,
    Effect.WRITE: PATH_KINDS | {"artifact"},
    Effect.EXECUTE: frozenset({"command"}),
    Effect.NETWORK: frozenset({"url", "host"}),
    Effect.MESSAGE: frozenset({"topic"}),
    Effect.AGENT: frozenset({"agent"}),
}
"""What a call with an effect can name; an effect that is not here may be about anything."""
_KINDS_BY_TOOL: dict[str, frozenset[ResourceKind]] = {
    "write_artifact": frozenset({"artifact"}),
    **dict.fromkeys(COMMAND_TOOLS, frozenset[ResourceKind]({"command", "host"})),
}
"""Tools that name less than their effects would let them."""
_ANYTHING: frozenset[ResourceKind] = frozenset().union(*SELECTED_KINDS.values())


_OF_THE_WEB = frozenset({"host", "url"})


def kinds_touched(tool: str, effect: Effect) -> frozenset[ResourceKind]:
    """What calls of a tool can name for one of its effects."""
    return _KINDS_BY_EFFECT.get(effect, _ANYTHING) & _KINDS_BY_TOOL.get(tool, _ANYTHING)


def never_speaks(
    key: str,
    tools: Collection[str] | None,
    effects: Collection[Effect] | None,
    tool_effects: Mapping[str, frozenset[Effect]],
) -> tuple[str, str] | None:
    """Why no call could be what a rule is about, with a hint, or None. key: its selector or "". tools:
    known ones. None: every tool, every effect."""
    named = {tool: _effects_of(tool, tool_effects) for tool in tools} if tools is not None else {"": frozenset(Effect)}
    met = [(tool, effect) for tool, has in named.items() for effect in has if effects is None or effect in effects]
    who = ", ".join(sorted(named)) if tools is not None else "a call"
    if not met:
        seen = ", ".join(sorted(frozenset().union(*named.values())))
        return f"{who} never has the effect {', '.join(sorted(effects or ()))}", f"what there is: {seen}"
    kinds = frozenset[ResourceKind]().union(*(kinds_touched(tool, effect) for tool, effect in met))
    if not key or kinds & SELECTED_KINDS[key]:
        return None
    if effects is not None:
        who = f"{who} with the effect {', '.join(sorted(effects))}"
    possible = [each for each in SELECTORS if kinds & SELECTED_KINDS[each]]
    possible = [each for each in possible if (each in _OF_THE_WEB) == (key in _OF_THE_WEB)] or possible
    hint = f"did you mean `{possible[0]}`?" if possible else f"leave `{key}` out"
    return f"{who} has no {key}, so the rule would never speak", hint


def _effects_of(tool: str, tool_effects: Mapping[str, frozenset[Effect]]) -> frozenset[Effect]:
    # The check tool may be missing among the tools that are offered.
    return frozenset({Effect.EXECUTE, Effect.NETWORK}) if tool == CHECK_TOOL else tool_effects[tool]


def make_selector(key: str, text: str, place: Place, decide: Decide) -> Selector:
    """The selector behind `key = "text"`. Raises BadPattern, KeyError."""
    return SELECTORS[key](text, place, decide)


_EXAMPLE_KINDS: dict[str, ResourceKind] = {
    "path": "path",
    "host": "url",
    "url": "url",
    "command": "command",
    "topic": "topic",
    "agent": "agent",
    "name": "state",
}


def _example(key: str, text: str, place: Place) -> Resource:
    """An example as the resource it stands for. Raises ValueError."""
    if key == "host" and "://" not in text:
        text = f"https://{text}/"
    if key in ("host", "url"):
        canonical_url(text)
    if key == "path":
        if text == "~" or text.startswith("~/"):
            text = place.homes[0] + text[1:]
        if not text.startswith("/"):
            text = text.removeprefix("./").rstrip("/") or "."
            if ".." in text.split("/"):
                raise ValueError("it holds `..`")
    return Resource(_EXAMPLE_KINDS[key], text, Effect.NONE)


# -- rule files --------------------------------------------------------------------------------


class _Examples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    match: list[str] = []
    miss: list[str] = []


Filled = Annotated[str, msgspec.Meta(min_length=1)]


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One `[[rule]]` as it is written."""

    decide: Decide
    why: Filled
    tools: list[Filled] | None = None
    effect: Effect | list[Effect] | None = None
    mode: Literal["build", "plan"] | None = None
    path: Filled | None = None
    host: Filled | None = None
    url: Filled | None = None
    command: Filled | list[Filled] | None = None
    topic: Filled | None = None
    agent: Filled | None = None
    name: Filled | None = None
    examples: _Examples | None = None


class _RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    rule: list[Any] = []


def compile_file(
    document: Document, source: str, tool_effects: Mapping[str, frozenset[Effect]], place: Place
) -> tuple[list[Rule], list[Fault]]:
    """The rules of a file that have no fault, and every fault of the rest.

    source: as in RuleRef. tool_effects: the tools a rule may name; iterated only for a hint."""
    _, faults = convert(document, _RuleFile)
    entries = document.data.get("rule") if isinstance(document.data, dict) else None
    rules: list[Rule] = []
    for index in range(len(entries) if isinstance(entries, list) else 0):
        compiled, found = _Compiler(document, source, tool_effects, place, index).run()
        faults += found
        rules += compiled
    return rules, faults


class _Compiler:
    """One entry of a rule file on its way to its rules, one for each command that it lists, with all its faults."""

    def __init__(
        self,
        document: Document,
        source: str,
        tool_effects: Mapping[str, frozenset[Effect]],
        place: Place,
        index: int,
    ) -> None:
        self._document = document
        self._source = source
        self._tool_effects = tool_effects
        self._place = place
        self._at = ("rule", index)
        self._given, self._faults = convert_fields(document, _Entry, self._at)

    def run(self) -> tuple[list[Rule], list[Fault]]:
        self._check_why()
        self._check_tools()
        key, selectors = self._selectors()
        if not self._faults:
            self._check_speaks(key)
        if self._faults:
            return [], self._faults
        examples: _Examples = self._given.get("examples") or _Examples()
        rules = [self._rule(selector) for selector in selectors]
        rules[0] = msgspec.structs.replace(rules[0], examples=len(examples.match) + len(examples.miss))
        self._try_examples(rules, key, examples)
        return ([] if self._faults else rules), self._faults

    def _rule(self, selector: Selector | None) -> Rule:
        return Rule(
            decide=self._given["decide"],
            ref=RuleRef(self._source, self._document.where(*self._at), self._given["why"]),
            tools=frozenset(self._given["tools"]) if "tools" in self._given else None,
            effects=_effects(self._given.get("effect")),
            mode=self._given.get("mode"),
            selector=selector,
        )

    def _fault(self, message: str, *keys: str | int, hint: str = "") -> None:
        self._faults.append(Fault(message, self._document.where(*self._at, *keys), hint))

    def _spell(self, *keys: str | int) -> str:
        return spell((*self._at, *keys))

    def _check_why(self) -> None:
        why = self._given.get("why")
        if why is not None and not why.strip():
            self._fault(f"`{self._spell('why')}` is blank", "why", hint="say why the rule is there")

    def _check_tools(self) -> None:
        tools = self._given.get("tools")
        if tools == []:
            self._fault(f"`{self._spell('tools')}` is empty", "tools", hint="leave it out for every tool")
        for place, name in enumerate(tools or ()):
            if not known_tool(name, self._tool_effects):
                hint = tool_hint(name, self._tool_effects)
                self._fault(f"`{self._spell('tools', place)}`: unknown tool {shorten(name)}", "tools", place, hint=hint)
        if self._given.get("effect") == []:
            self._fault(f"`{self._spell('effect')}` is empty", "effect", hint="leave it out for every effect")
        if self._given.get("command") == []:
            self._fault(f"`{self._spell('command')}` is empty", "command", hint='write `command = "*"` for every one')

    def _check_speaks(self, key: str) -> None:
        found = never_speaks(key, self._given.get("tools"), _effects(self._given.get("effect")), self._tool_effects)
        if found is not None:
            at = key or "effect"
            self._fault(f"`{self._spell(at)}`: {found[0]}", at, hint=found[1])

    def _selectors(self) -> tuple[str, list[Selector | None]]:
        """The key that selects, or "", and what it selects by: never empty."""
        keys = [key for key in SELECTORS if self._given.get(key) is not None]
        if len(keys) > 1:
            named = " and ".join(f"`{key}`" for key in keys)
            self._fault(f"`{self._spell()}` has {named}, but nothing is both", keys[1], hint="write one rule for each")
        if len(keys) != 1:
            return "", [None]
        key, given = keys[0], self._given[keys[0]]
        if isinstance(given, str):
            return key, [self._made(key, given, key)]
        return key, [self._made(key, text, key, place) for place, text in enumerate(given)]

    def _made(self, key: str, text: str, *at: str | int) -> Selector | None:
        try:
            return make_selector(key, text, self._place, self._given.get("decide", "deny"))
        except BadPattern as problem:
            self._fault(f"`{self._spell(*at)}`: {shorten(text)} cannot be used: {problem}", *at)
            return None

    def _try_examples(self, rules: Sequence[Rule], key: str, examples: _Examples) -> None:
        tried = [("match", True, examples.match), ("miss", False, examples.miss)]
        if not key and (examples.match or examples.miss):
            hint = f"name one of {', '.join(SELECTORS)}, or leave the examples out"
            self._fault(f"`{self._spell('examples')}`: the rule selects nothing to try them on", "examples", hint=hint)
            return
        for list_name, due, texts in tried:
            for place, text in enumerate(texts):
                self._try_example(rules, key, (list_name, place), text, due)

    def _try_example(self, rules: Sequence[Rule], key: str, at: tuple[str, int], text: str, due: bool) -> None:
        try:
            resource = _example(key, text, self._place)
            matches = [any(rule.matches(each) for rule in rules) for each in subjects(resource, self._place)]
        except ValueError as problem:
            self._fault(f"`{self._spell('examples', *at)}`: {shorten(text)} is no {key}: {problem}", "examples", *at)
            return
        # A line of several commands is allowed where all of them are, and refused where one is.
        seen = all(matches) if key == "command" and rules[0].decide == "auto" else any(matches)
        if seen != due:
            verb = "does not match" if due else "matches"
            message = f"`{self._spell('examples', *at)}`: the rule {verb} {shorten(text)}"
            self._fault(message, "examples", *at, hint=f"{key} = {shorten(str(self._given[key]))}")


def _effects(given: Effect | list[Effect] | None) -> frozenset[Effect] | None:
    if given is None:
        return None
    return frozenset(given) if isinstance(given, list) else frozenset({given})


def known_tool(name: str, known: Container[str]) -> bool:
    return name in known or name == CHECK_TOOL


def tool_hint(name: str, known: Container[str]) -> str:
    """What to write in place of an unknown tool's name."""
    if name == "*":
        return "leave `tools` out for every tool"
    if here := named_here(name, known):
        return here
    names = sorted(known) if isinstance(known, Iterable) else []
    near = did_you_mean(name, names)
    return near or (f"the tools are: {', '.join(names)}" if names else "")
