"""Rule files: what one may say, and what it compiles to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from remit.base.calls import Decide, RuleRef
from remit.base.errors import Fault
from remit.base.resources import Effect, Resource, ResourceKind
from remit.base.text import shorten
from remit.config.load import Document, convert, convert_fields, spell
from remit.policy.patterns import BadPattern, Place, canonical_url
from remit.policy.rules import Rule, known_tool, never_speaks, tool_hint
from remit.policy.selectors import SELECTORS, Selector, make_selector
from remit.policy.subjects import subjects

Filled = Annotated[str, msgspec.Meta(min_length=1)]


class _Examples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    match: list[str] = []
    miss: list[str] = []


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
