"""Lints for rule files: what loads, and yet is not what its author can have meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from remit.base.resources import Effect
from remit.policy.decide import Layer
from remit.policy.patterns import CommandPattern, HostPattern, Place, is_literal
from remit.policy.programs import OPERANDS, RUNS_ANYTHING, RUNS_BY_OPTION
from remit.policy.rules import COMMAND_TOOLS, Rule, kinds_touched
from remit.policy.selectors import CommandSelector, HostSelector, NameSelector, PathSelector, Selector, UrlSelector
from remit.policy.unreached import unreached


class Lint(msgspec.Struct, frozen=True):
    """One finding. `warning`: most likely a mistake; `hint`: could be better. where: `file:line`."""

    level: Literal["warning", "hint"]
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.level}: {self.message}"


def lint(layer: Layer, tool_effects: Mapping[str, frozenset[Effect]], place: Place) -> list[Lint]:
    """The findings of one file, by line. tool_effects: all tools there are."""
    found: list[Lint] = []
    heeded = set(map(id, layer.heeded()))
    for index, rule in enumerate(layer.rules):
        if id(rule) not in heeded:
            found.append(_warning(rule, "`auto` is ignored in a project's own rules, which may only tighten"))
            continue
        earlier = [each for each in layer.rules[:index] if id(each) in heeded]
        shadow = next((each for each in earlier if _shadows(each, rule)), None)
        if shadow is not None:
            found.append(_warning(rule, f"this rule never speaks: {shadow.ref.where} comes first and covers it all"))
        found += _open_commands(rule)
        found += _open_hosts(rule)
        found += [_warning(rule, text) for text in unreached(rule)]
        found += _open_reads(rule, layer, tool_effects, place)
        if rule.mode == "plan":
            found.append(Lint("hint", rule.ref.where, "it never speaks: every run is in the mode build"))
        if rule.selector is not None and not rule.examples:
            found.append(
                Lint("hint", rule.ref.where, "it has no examples; `examples.match` and `examples.miss` are run at load")
            )
    return found


def _warning(rule: Rule, message: str) -> Lint:
    return Lint("warning", rule.ref.where, message)


# -- dead rules --------------------------------------------------------------------------------


def _shadows(first: Rule, second: Rule) -> bool:
    """Whether whatever the second rule matches is matched by the first one."""
    return (
        _includes(first.tools, second.tools)
        and _includes(first.effects, second.effects)
        and first.mode in (None, second.mode)
        and (first.selector is None or (second.selector is not None and _covers(first.selector, second.selector)))
    )


def _includes(wider: frozenset[object] | None, narrower: frozenset[object] | None) -> bool:
    return wider is None or (narrower is not None and wider >= narrower)


def _covers(first: Selector, second: Selector) -> bool:
    """Whether one pattern surely covers another. False where that cannot be told."""
    match first, second:
        case PathSelector(), PathSelector():
            return _covers_path(first.pattern.text, second.pattern.text)
        case HostSelector(), HostSelector():
            return all(any(_covers_host(wide, each) for wide in first.hosts) for each in second.hosts)
        case UrlSelector(), UrlSelector():
            return first.pattern.text == second.pattern.text
        case HostSelector(), UrlSelector():
            host = second.pattern.host
            return any(wide.covers(host) for wide in first.hosts)
        case CommandSelector(), CommandSelector():
            return _covers_command(first.pattern, second.pattern)
        case NameSelector(), NameSelector():
            return first.of == second.of and first.pattern.text in ("*", second.pattern.text)
        case _:
            return False


def _covers_host(first: HostPattern, second: HostPattern) -> bool:
    return first.covers(second.host) or (second.below_only and first.host == second.host)


def _covers_path(first: str, second: str) -> bool:
    first, second = first.removeprefix("./"), second.removeprefix("./")
    if first == second:
        return True
    if first.startswith(("/", "~")) != second.startswith(("/", "~")):
        return False
    base, star, rest = first.rpartition("**")
    if not star or rest or not (base == "" or is_literal(base)):
        return False
    if base == "":
        return not second.startswith(("/", "~"))
    return second == base.rstrip("/") or second.startswith(base)


def _covers_command(first: CommandPattern, second: CommandPattern) -> bool:
    wide, narrow = first.words, second.words
    if len(narrow) < len(wide) or (len(narrow) > len(wide) and not first.open_end):
        return False
    if second.open_end and not first.open_end:
        return False
    for place, regex in enumerate(wide):
        if regex.pattern in (".*", narrow[place].pattern):
            continue
        if second.wild[place] or regex.fullmatch(second.plain[place]) is None:
            return False
    return True


# -- hosts and paths that are left open ---------------------------------------------------------


def _open_hosts(rule: Rule) -> list[Lint]:
    """A domain of the first level, which stands for all that is registered below it."""
    if rule.decide != "auto" or not isinstance(rule.selector, HostSelector):
        return []
    names = [each.host for each in rule.selector.hosts]
    found = [
        _warning(rule, f"it allows every host whose name ends in .{name}") for name in names if _is_top_level(name)
    ]
    commands = sorted((rule.tools or frozenset()) & COMMAND_TOOLS)
    if commands:
        message = (
            f"commands of {', '.join(commands)} may send {', '.join(names)} what they like: TLS is not looked into"
        )
        found.append(Lint("hint", rule.ref.where, message))
    return found


def _is_top_level(host: str) -> bool:
    return "." not in host and ":" not in host and host != "localhost"


def _open_reads(rule: Rule, layer: Layer, tool_effects: Mapping[str, frozenset[Effect]], place: Place) -> list[Lint]:
    """A path closed to some of the tools that read, while others read it all the same."""
    if rule.decide == "auto" or rule.tools is None or not isinstance(rule.selector, PathSelector):
        return []
    if not _in_workspace(rule.selector.pattern.text, place):
        return []
    reading = {tool for tool in tool_effects if _reads_paths(tool, tool_effects[tool])}
    if not reading & rule.tools or not _includes(rule.effects, frozenset({Effect.READ})):
        return []
    closed = [each for each in layer.heeded() if each.decide != "auto" and _covers_all(each, rule.selector)]
    left = sorted(
        tool for tool in reading if not any(each.concerns(tool, Effect.READ, rule.mode or "") for each in closed)
    )
    if not left:
        return []
    return [_warning(rule, f"{', '.join(left)} can still read the path: leave `tools` out, or name them too")]


def _reads_paths(tool: str, effects: frozenset[Effect]) -> bool:
    return Effect.READ in effects and "path" in kinds_touched(tool, Effect.READ)


def _covers_all(rule: Rule, selector: Selector) -> bool:
    return rule.selector is None or _covers(rule.selector, selector)


def _in_workspace(pattern: str, place: Place) -> bool:
    """Whether it can match below the workspace. What lies outside is closed by default."""
    if not pattern.startswith(("/", "~")):
        return True
    starts = [f"{home}{pattern[1:]}" for home in place.homes] if pattern.startswith("~") else [pattern]
    fixed = [re.split(r"[*?\[]", start)[0] for start in starts]
    return any(
        start.startswith(f"{root}/") or f"{root}/".startswith(start) for start in fixed for root in place.workspaces
    )


# -- commands that run commands ----------------------------------------------------------------


def _open_commands(rule: Rule) -> list[Lint]:
    """Commands allowed with open arguments whose arguments can be any program."""
    if rule.decide != "auto" or not isinstance(rule.selector, CommandSelector):
        return []
    pattern = rule.selector.pattern
    if not pattern.open_end and not any(pattern.wild):
        return []
    for prefix, runner in RUNS_ANYTHING.items():
        if _reaches(pattern, prefix.split()):
            shown = f"`{prefix}`: {runner.why}, as in `{runner.example}`"
            return [_warning(rule, f"`{pattern.text}` allows any program, by {shown}")]
    for prefix, example in RUNS_BY_OPTION.items():
        if _admits(pattern, prefix.split()) and pattern.open_end:
            shown = f"as in `{example}`; it covers none of those that are known"
            return [_warning(rule, f"`{pattern.text}` leaves open options that run any program, {shown}")]
    return []


def _admits(pattern: CommandPattern, prefix: Sequence[str]) -> bool:
    """Whether a command that begins with these words can match."""
    if len(pattern.words) < len(prefix) and not pattern.open_end:
        return False
    return all(regex.fullmatch(word) is not None for regex, word in zip(pattern.words, prefix, strict=False))


def _reaches(pattern: CommandPattern, prefix: Sequence[str]) -> bool:
    """Whether it admits the prefix and leaves open what comes next."""
    if not _admits(pattern, prefix):
        return False
    following = len(prefix) + OPERANDS.get(" ".join(prefix), 0)
    if len(pattern.words) <= following:
        return pattern.open_end
    if pattern.wild[following]:
        return True
    word = pattern.plain[following]
    # `python -m json.tool *` runs that module; `python -c *` runs anything.
    names_module = word == "-m" and len(pattern.words) > following + 1 and not pattern.wild[following + 1]
    return word.startswith("-") and pattern.open_end and not names_module
