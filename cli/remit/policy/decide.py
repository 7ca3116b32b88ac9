"""The rule set of a run: what the sources say of a call, and how their words combine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from remit.base.calls import Decide, Decision, RuleRef
from remit.base.resources import Effect, Resource, ResourceKind
from remit.policy.entries import NamedRules
from remit.policy.patterns import Place
from remit.policy.rules import Rule
from remit.policy.selectors import HostSelector
from remit.policy.subjects import NOTHING, PATH_KINDS, Coverage, Subject, subjects

SourceName = Literal["floor", "user", "project", "plan", "flag", "mode", "policy", "task", "default"]


ALWAYS = frozenset({"tool_output"})
"""Tools that no rule is asked about."""


class Standing(msgspec.Struct, frozen=True):
    """What the words of a source are worth. holds: its `deny` and `ask` hold whatever others grant.
    rank: that of its `auto`, and of all its words when they do not hold; 0: its `auto` grants nothing. passes: such an
    `auto` still keeps the rules behind it from speaking; else it is ignored."""

    holds: bool
    rank: int
    passes: bool = False


STANDINGS: dict[SourceName, Standing] = {
    "floor": Standing(holds=True, rank=0),
    "user": Standing(holds=True, rank=4),
    "project": Standing(holds=True, rank=0),
    "plan": Standing(holds=True, rank=0, passes=True),
    "flag": Standing(holds=False, rank=1),
    "mode": Standing(holds=False, rank=1),
    "policy": Standing(holds=False, rank=2),
    "task": Standing(holds=False, rank=3),
    "default": Standing(holds=False, rank=5),
}
MAY_OPEN_THE_FLOOR: frozenset[SourceName] = frozenset({"user", "policy"})


class Layer(msgspec.Struct, frozen=True):
    """The rules of one source, in order: the first that matches a resource speaks for it."""

    source: SourceName
    rules: tuple[Rule, ...]

    @property
    def standing(self) -> Standing:
        return STANDINGS[self.source]

    def heeded(self) -> tuple[Rule, ...]:
        """The rules that count. An ignored `auto` does not even shadow the rules behind it."""
        grants = self.standing.rank or self.standing.passes
        return tuple(rule for rule in self.rules if grants or rule.decide != "auto")


class Word(msgspec.Struct, frozen=True):
    """What one source says of one resource. part: the name or command it was held against.
    counts: False for a floor rule that had to give way."""

    source: SourceName
    decide: Decide
    ref: RuleRef
    resource: Resource
    part: str
    counts: bool = True


_STRICTNESS: dict[Decide, int] = {"auto": 0, "ask": 1, "deny": 2}
_SILENCE = RuleRef("none", "", "no rule speaks for it")
_ALWAYS = RuleRef("floor", "built in", "it shows only what earlier calls of the run were allowed to bring")
_UNNAMED = RuleRef("none", "", "a call that has an effect and names no resource cannot be judged")


class RuleSet:
    """base.ports.Policy. It never changes; another mode or another rule is another rule set."""

    def __init__(self, layers: Sequence[Layer], place: Place, mode: str = "build") -> None:
        self.layers = tuple(layers)
        self.place = place
        self.mode = mode
        self._concerned: dict[tuple[str, tuple[Effect, ...]], tuple[tuple[Layer, tuple[Rule, ...]], ...]] = {}
        self._named: dict[tuple[str, Effect], NamedRules] = {}

    def decide(self, tool: str, effects: frozenset[Effect], resources: Sequence[Resource]) -> Decision:
        """The strictest word over all resources. Never raises: what it cannot judge is denied."""
        if not resources and effects - {Effect.NONE}:
            return Decision("deny", _UNNAMED)
        if tool in ALWAYS and all(resource.kind == "state" for resource in resources):
            return Decision("auto", _ALWAYS)
        decisions = (self._decide(tool, resource) for resource in resources or (NOTHING,))
        decision = _strictest(decisions)
        return decision if resources else Decision(decision.decide, decision.rule)

    def asked(self, tool: str, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Those of a call's resources that an approval has to cover."""
        return tuple(each for each in resources if self._decide(tool, each).decide == "ask")

    def entry_allowed(self, tool: str, effect: Effect, entry: Resource, approved: RuleRef | None = None) -> bool:
        """Whether a tree call may show this entry below its root. approved: the rule whose ask was
        answered for the tree, whose asks for the entries are answered with it."""
        if entry.effect != effect:
            entry = msgspec.structs.replace(entry, effect=effect)
        if entry.kind not in PATH_KINDS:
            return self._passes(tool, entry, approved)
        named = self._named_rules(tool, effect)
        if named.may_speak(entry):
            return self._passes(tool, entry, approved)
        manner = (entry.kind, entry.inside, approved)
        if manner not in named.silent:
            named.silent[manner] = self._passes(tool, entry, approved)
        return named.silent[manner]

    def trace(self, tool: str, resources: Sequence[Resource]) -> list[Word]:
        """Everything that speaks for these resources, in the order in which sources outrank one another."""
        held = [subject for each in resources or (NOTHING,) for subject in subjects(each, self.place)]
        return [word for subject in held for word in self._words(tool, subject)]

    def never_allows(
        self, tool: str, effects: frozenset[Effect], answerable: Callable[[str], bool] | None = None
    ) -> RuleRef | None:
        """The rule (or absence of one) by which every call of this tool would be refused, if so.

        answerable: whether the approvals at hand can answer an ask of a tool; None: any may be answered.
        Errs on the side of None: what rules do to single resources is left to the call."""
        if tool in ALWAYS:
            return None
        asks = answerable is None or answerable(tool)
        if effects <= {Effect.NONE}:
            decision = self._decide(tool, NOTHING)
            if decision.decide == "auto" or (decision.decide == "ask" and asks):
                return None
        for effect in sorted(effects & _CHANGING):
            held = [self._refuses(tool, effect, kind, inside, asks) for kind, inside in _SHAPES]
            if held[0] is not None and all(ref is not None and ref.source == "plan" for ref in held):
                # It may still look, but what it is there for it cannot do.
                return held[0]
        shapes = _SHAPES
        if Effect.EXECUTE in effects:
            # Where its commands may connect to says nothing of whether they may run.
            effects -= {Effect.NETWORK}
            shapes = tuple(shape for shape in _SHAPES if shape[0] != "url")
        refusals = [
            self._refuses(tool, effect, kind, inside, asks)
            for effect in sorted(effects or {Effect.NONE})
            for kind, inside in shapes
        ]
        if any(ref is None for ref in refusals):
            return None
        told = [ref for ref in refusals if ref is not None]
        # A rule about the tool says more than a default about places it cannot reach anyway.
        return min(told, key=lambda ref: _TELLING.index(ref.source))

    def reaches(self, tool: str) -> dict[str, RuleRef]:
        """The hosts that the commands of a tool may connect to, as the rules write them, each with the rule that
        grants it."""
        found: dict[str, RuleRef] = {}
        for layer in self.layers:
            for rule in layer.heeded():
                if not (rule.opens_hosts and rule.concerns(tool, Effect.NETWORK, self.mode)):
                    continue
                assert isinstance(rule.selector, HostSelector)
                for pattern in rule.selector.hosts:
                    decision = self._decide(tool, Resource("host", pattern.sample, Effect.NETWORK))
                    if decision.decide == "auto":
                        found.setdefault(pattern.text, decision.rule)
        return found

    # -- entries of trees ----------------------------------------------------------------------

    def _passes(self, tool: str, entry: Resource, approved: RuleRef | None) -> bool:
        return all(
            decision.decide == "auto" or (decision.decide == "ask" and decision.rule == approved)
            for subject in subjects(entry, self.place)
            for decision in _combined(self._words(tool, subject))
        )

    def _named_rules(self, tool: str, effect: Effect) -> NamedRules:
        key = (tool, effect)
        if key not in self._named:
            self._named[key] = NamedRules(
                (rule for _, rules in self._layers(tool, effect) for rule in rules), self.place
            )
        return self._named[key]

    # -- one resource --------------------------------------------------------------------------

    def _decide(self, tool: str, resource: Resource) -> Decision:
        return _strictest(
            decision
            for subject in subjects(resource, self.place)
            for decision in _combined(self._words(tool, subject), subject.resource)
        )

    def _words(self, tool: str, subject: Subject) -> list[Word]:
        words: list[Word] = []
        open_floor = False
        # What a redirect of a command touches is granted by path, or with any command.
        effects = (subject.resource.effect, *((Effect.EXECUTE,) if subject.redirect else ()))
        for layer, rules in self._layers(tool, *effects):
            found = _first(rules, subject)
            if found is None:
                continue
            rule, ref = found
            decide: Decide = rule.decide if ref is rule.ref else "deny"
            words.append(Word(layer.source, decide, ref, subject.resource, _part(subject)))
            if layer.source in MAY_OPEN_THE_FLOOR and rule.literal and decide != "deny":
                open_floor = True
        if open_floor:
            return [msgspec.structs.replace(w, counts=False) if w.source == "floor" else w for w in words]
        return words

    def _layers(self, tool: str, *effects: Effect) -> tuple[tuple[Layer, tuple[Rule, ...]], ...]:
        """The rules that are about such calls, by layer."""
        key = (tool, effects)
        if key not in self._concerned:
            concerned = [
                (
                    layer,
                    tuple(r for r in layer.heeded() if any(r.concerns(tool, effect, self.mode) for effect in effects)),
                )
                for layer in self.layers
            ]
            self._concerned[key] = tuple((layer, rules) for layer, rules in concerned if rules)
        return self._concerned[key]

    # -- without a resource --------------------------------------------------------------------

    def _refuses(self, tool: str, effect: Effect, kind: ResourceKind, inside: bool, asks: bool) -> RuleRef | None:
        """The rule by which every resource of this shape is refused, if so."""

        def refusing(rules: Iterable[Rule]) -> RuleRef | Literal["silent"] | None:
            for rule in rules:
                coverage: Coverage = rule.covers(kind, inside)
                if coverage == "none":
                    continue
                if rule.decide == "auto" or (rule.decide == "ask" and asks):
                    return None
                if coverage == "all":
                    return rule.ref
            return "silent"

        layers = self._layers(tool, effect)
        for layer, rules in layers:
            held = refusing(rules) if layer.standing.holds else None
            if isinstance(held, RuleRef):
                return held
        ranked = sorted((pair for pair in layers if pair[0].standing.rank), key=lambda pair: pair[0].standing.rank)
        granting = [
            rule for layer, rules in ranked for rule in rules if not layer.standing.holds or rule.decide == "auto"
        ]
        granted = refusing(granting)
        return _SILENCE if granted == "silent" else granted


_SHAPES: tuple[tuple[ResourceKind, bool], ...] = (
    ("path", True),
    ("tree", True),
    ("path", False),
    ("tree", False),
    ("url", True),
    ("command", True),
    ("state", True),
    ("artifact", True),
    ("topic", True),
    ("agent", True),
)
_CHANGING = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.MESSAGE, Effect.SPEND})
_TELLING = ("floor", "user", "project", "flag", "mode", "policy", "task", "plan", "none", "default")


def _first(rules: Sequence[Rule], subject: Subject) -> tuple[Rule, RuleRef] | None:
    """The first rule that matches. A rule that cannot be held against the name counts as matching,
    and as a deny: its reference then says so."""
    for rule in rules:
        try:
            if rule.matches(subject):
                return rule, rule.ref
        except Exception as problem:
            # Promise of the gate: a check that breaks refuses. Skipping it would let the call through.
            why = f"the rule cannot be held against it ({type(problem).__name__}: {problem}): {rule.ref.why}"
            return rule, RuleRef(rule.ref.source, rule.ref.where, why)
    return None


def _part(subject: Subject) -> str:
    if subject.line is None or subject.redirect or len(subject.line.views) == 1:
        return subject.name
    return " ".join(word.text for word in subject.view) or "(a part that cannot be read)"


def _combined(words: Sequence[Word], resource: Resource | None = None) -> Iterator[Decision]:
    """All that binds: what always holds, and the first rank that speaks."""
    granting: Word | None = None
    for word in words:
        if not word.counts:
            continue
        standing = STANDINGS[word.source]
        if standing.holds and word.decide != "auto":
            yield Decision(word.decide, word.ref, resource)
        elif standing.rank and (granting is None or standing.rank < STANDINGS[granting.source].rank):
            granting = word
    yield Decision(granting.decide, granting.ref, resource) if granting else Decision("deny", _SILENCE, resource)


def _strictest(decisions: Iterable[Decision]) -> Decision:
    """The strictest; of several alike, the first."""
    return max(decisions, key=lambda decision: _STRICTNESS[decision.decide])
