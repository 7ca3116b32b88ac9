"""`remit policy`: check rule files, and explain what the rules say of one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import typer

from remit.base.calls import Decision, RuleRef
from remit.base.errors import Failure, Fault, Faults, UsageFault
from remit.base.ports import World
from remit.base.resources import Effect, Resource
from remit.base.spec import PolicySource
from remit.base.text import shorten
from remit.commands import options
from remit.config.load import did_you_mean, read_text
from remit.policy.answers import Answers, Pending, arguments_digest, paste_entry
from remit.policy.audit import Lint, lint
from remit.policy.decide import STANDINGS, Layer, RuleSet, Word
from remit.policy.load import load_rules
from remit.policy.patterns import Place
from remit.policy.rules import CHECK_TOOL
from remit.tools.contract import Tool

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Check rule files and explain decisions.",
)


@app.command("check")
def check(
    files: list[str] = typer.Argument(..., metavar="FILE...", help="Rule files, TOML."),
    strict: bool = typer.Option(False, "--strict", help="Warnings end the command with exit code 2."),
) -> None:
    """Load rule files, run their examples, and say what in them is most likely a mistake."""
    from remit.tools.registry import tool_effects

    place = Place.of(os.getcwd(), os.path.expanduser("~"))
    lines, lints = checked(files, tool_effects(), place)
    for line in [*lines, *map(str, lints)]:
        typer.echo(line)
    warnings = [each for each in lints if each.level == "warning"]
    if strict and warnings:
        raise UsageFault(f"{len(warnings)} warning(s)", hint="mend the rules, or leave --strict out")


@app.command("explain")
def explain(
    call: list[str] = typer.Argument(
        ..., metavar="TOOL [KEY=VALUE... | JSON]", help="The call, as `read_file path=a.md` or `read_file '{...}'`."
    ),
    task: options.Task = None,
    policy: options.Policies = None,
    approvals: options.Approvals = None,
    names: options.Tools = None,
    allow: options.Allow = None,
    deny: options.Deny = None,
    workspace: options.Workspace = None,
    on_ask: options.OnAsk = None,
    mode: options.Mode = None,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Say what would become of a call in a run with these flags, and which rule decides that.

    Every source that speaks is shown. Nothing is run, and no use of an approval is counted."""
    from remit import wiring
    from remit.config.flags import RunFlags
    from remit.config.settings import load_settings
    from remit.wiring.offer import load_approvals
    from remit.workspace.root import Root

    settings = load_settings(os.environ)
    flags = RunFlags(
        task=task,
        tools=None if names is None else tuple(names),
        allow=tuple(allow or ()),
        deny=tuple(deny or ()),
        policies=tuple(policy or ()),
        approvals=approvals,
        workspace=workspace,
        on_ask=on_ask,
        mode=mode,
    )
    spec = wiring.spec_without_prompt(flags, settings)
    rules = wiring.load_rules(spec, settings, os.environ)
    answers = load_approvals(spec, settings)
    tool, arguments = parsed_call(call, _tools())
    offer = wiring.offer_tools(spec, rules, answers)
    off = "" if tool.name in offer.tools else offer.reasons().get(tool.name, _OFF.get(tool.name, "it is not ticked"))
    with Root(spec.workspace) as root:
        world = wiring.RunWorld(root, spec.fetch_allowed_ports)
        told = explained(tool, arguments, rules, world, answers, on_ask=spec.on_ask, off=off)
    typer.echo(msgspec.json.encode(told).decode() if as_json else shown(told))


_OFF = {CHECK_TOOL: "it runs the checks of the task and is never offered"}


def _tools() -> Mapping[str, Tool]:
    from remit.tools.harness.check import Check
    from remit.tools.registry import all_tools

    return {**all_tools(), Check.name: Check()}


# -- check -------------------------------------------------------------------------------------


def checked(
    files: Sequence[str], tool_effects: Mapping[str, frozenset[Effect]], place: Place
) -> tuple[list[str], list[Lint]]:
    """A line on each rule file, and the lints of all. Raises Faults with those of all files.

    A file in a directory `.remit` is read as a project's own, whose `auto` rules are ignored."""
    lines: list[str] = []
    lints: list[Lint] = []
    faults: list[Fault] = []
    for path in files:
        try:
            source = PolicySource(_kind(path), path, read_text(path))
        except Faults as problem:
            faults += problem.faults
            continue
        rules, found = load_rules(source, tool_effects, place)
        faults += found
        lints += lint(Layer(source.kind, rules), tool_effects, place)
        examples = sum(rule.examples for rule in rules)
        lines.append(f"{path}: OK: {_count(len(rules), 'rule')}, {_count(examples, 'example')} hold")
    if faults:
        raise Faults(faults)
    return lines, lints


def _kind(path: str) -> Literal["project", "policy"]:
    return "project" if os.path.basename(os.path.dirname(os.path.abspath(path))) == ".remit" else "policy"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# -- explain -----------------------------------------------------------------------------------


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entry of the approvals file that would answer. uses: how many calls it answers at most."""

    allow: bool
    where: str
    why: str
    uses: int | None = None


class Explanation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What would become of a call. off: why the model is not offered the tool, "" when it is. decision:
    None when the call fails before any rule is asked; error then is `code: message`. words: everything
    that speaks, in order of the sources. For an ask, answer: the entry that answers it; unanswered: why
    none does, and what then happens; approval: an entry that would answer it. hosts: those that commands of the
    tool may connect to, with the rules that grant them; None for a tool that runs none."""

    tool: str
    arguments: str
    off: str = ""
    decision: Decision | None = None
    resources: tuple[Resource, ...] = ()
    words: tuple[Word, ...] = ()
    answer: Answered | None = None
    unanswered: str = ""
    approval: str = ""
    error: str = ""
    hosts: dict[str, RuleRef] | None = None


def parsed_call(words: Sequence[str], tools: Mapping[str, Tool]) -> tuple[Tool, str]:
    """The tool and the JSON text of its arguments. Raises UsageFault."""
    name, *rest = words
    if name not in tools:
        hint = did_you_mean(name, tools) or f"the tools are: {', '.join(sorted(tools))}"
        raise UsageFault(f"unknown tool {shorten(name)}", hint=hint)
    tool = tools[name]
    if len(rest) == 1 and rest[0].lstrip().startswith("{"):
        return tool, rest[0]
    properties = tool.schema().get("properties", {})
    arguments: dict[str, Any] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageFault(f"{shorten(word)} is no KEY=VALUE", hint=f"the keys of {name}: {', '.join(properties)}")
        if key in arguments:
            raise UsageFault(f"{key} is given twice", hint=f"a list is written as JSON: {name} '{{...}}'")
        arguments[key] = _value(value, properties.get(key, {}))
    return tool, msgspec.json.encode(arguments).decode()


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """The text itself where a string may stand, else the JSON value it spells."""
    kinds = [schema, *schema.get("anyOf", ())]
    if not schema or any(kind.get("type") == "string" or "enum" in kind for kind in kinds):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def explained(
    tool: Tool,
    arguments: str,
    rules: RuleSet,
    world: World,
    answers: Answers | None = None,
    *,
    on_ask: str = "deny",
    off: str = "",
) -> Explanation:
    """What the rules and approvals say of the call."""
    try:
        resources = tuple(tool.resources(tool.parse(arguments), world))
    except Failure as failure:
        return Explanation(tool.name, arguments, off, error=f"{failure.code.value}: {failure.message}")
    told = Explanation(
        tool.name,
        arguments,
        off,
        rules.decide(tool.name, tool.effects, resources),
        resources,
        tuple(rules.trace(tool.name, resources)),
        hosts=rules.reaches(tool.name) if Effect.EXECUTE in tool.effects else None,
    )
    if told.decision is None or told.decision.decide != "ask":
        return told
    asked = rules.asked(tool.name, resources)
    foreseen = answers.foresee(tool.name, arguments_digest(arguments), asked) if answers is not None else None
    if foreseen is not None:
        given = foreseen.approval
        return msgspec.structs.replace(told, answer=Answered(given.allow, given.where, given.why, foreseen.uses))
    why = answers.why_not(tool.name, asked) if answers is not None else "there is no approvals file"
    end = "the run stops" if on_ask == "stop" else "the call is refused"
    entry = paste_entry(Pending(tool.name, arguments, asked))
    return msgspec.structs.replace(told, unanswered=f"{why}: {end}", approval=entry)


def shown(told: Explanation) -> str:
    """An explanation for people."""
    lines = [f"  note: the model is not offered {told.tool}: {told.off}"] if told.off else []
    if told.decision is None:
        return "\n".join([f"refused before any rule is asked: {told.error}", *lines])
    decision, rule = told.decision, told.decision.rule
    on = f" on {decision.resource.kind} {decision.resource.name}" if decision.resource else ""
    lines = [
        f"{decision.decide}: {told.tool}{on}",
        f"  rule: {_place(rule.source, rule.where)}",
        f"  why: {rule.why}",
        *lines,
        *_hosts(told),
    ]
    part = None
    for word in told.words:
        if word.part != part:
            part = word.part
            lines.append(f"what is said of {word.resource.kind} {part}:" if part else "what is said of the call:")
        lines.append(f"  {word.decide:<4}  {_place(word.source, word.ref.where)}{_standing(word)}: {word.ref.why}")
    if not told.words:
        lines.append("no rule speaks for it")
    if told.answer is not None:
        lines.append(f"answered by {told.answer.where}: {_answer(told.answer)}")
    if told.unanswered:
        lines.append(f"not answered: {told.unanswered}")
    if told.approval:
        lines += [
            "an entry of an approvals file would answer it:",
            *(f"  {line}" for line in told.approval.splitlines()),
        ]
    return "\n".join(lines)


def _hosts(told: Explanation) -> list[str]:
    """Where commands that run may connect to."""
    if told.hosts is None:
        return []
    granted = [
        f"  commands may connect to {host}: {_place(rule.source, rule.where)}" for host, rule in told.hosts.items()
    ]
    return granted or ["  commands may connect to no host"]


def _answer(answer: Answered) -> str:
    if not answer.allow:
        return f"deny, {answer.why}"
    if answer.uses is None:
        return f"allow, {answer.why}"
    return f"allow, {answer.why} (for {_count(answer.uses, 'call')} over all runs; what is left is not looked up)"


def _place(source: str, where: str) -> str:
    return f"{source} {where}".rstrip()


def _standing(word: Word) -> str:
    standing = STANDINGS[word.source]
    if not word.counts:
        return " (gives way to a rule that names this very path)"
    if standing.holds and word.decide != "auto":
        return " (always holds)"
    if not standing.rank:
        return " (lets others speak)"
    return f" (rank {standing.rank})"
