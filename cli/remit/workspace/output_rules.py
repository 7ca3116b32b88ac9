"""The rules on what a program prints: data, one file for each family of programs.

A file is read when a command of its family was run, and no other. Each rule carries examples of what
goes in and what comes out; a rule without one is refused.
"""

from __future__ import annotations

import os
from typing import Annotated

import msgspec

from remit.workspace.output_command import Command

DIRECTORY = os.path.join(os.path.dirname(__file__), "filters")

FAMILIES = {
    "cargo": "cargo",
    "curl": "curl",
    "docker": "containers",
    "podman": "containers",
    "kubectl": "containers",
    "git": "git",
    "go": "go",
    "ls": "listings",
    "tree": "listings",
    "find": "listings",
    "make": "make",
    "npm": "node",
    "pnpm": "node",
    "yarn": "node",
    "jest": "node_tests",
    "vitest": "node_tests",
    "tsc": "typescript",
    "eslint": "typescript",
    "pip": "python_packages",
    "uv": "python_packages",
    "pytest": "python_tests",
    "unittest": "python_tests",
    "ruff": "python_checks",
    "mypy": "python_checks",
    "terraform": "terraform",
    "tofu": "terraform",
}
"""Programs, and the files that hold their rules."""


class Replace(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename={"by": "with"}):
    """Text to write anew, wherever it stands. by: may name groups, `\\1`."""

    pattern: str
    by: str


class Summary(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One message for a text that says no more than that all is well."""

    pattern: str
    message: str


class Example(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """exit: None for a command that was ended. after: with the notice; the same as before if nothing is to change."""

    command: str
    before: str
    after: str
    exit: int | None = 0


Count = Annotated[int, msgspec.Meta(ge=1)]


class Rule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Stages in the order they are applied. Patterns are RE2; replace and match see the whole text with
    (?m), drop and keep one line.

    commands: words of the command, such as "git status". unless: options that ask for another form.
    drop: lines to leave out; keep: lines to leave in, of which one is given. line_chars: of one line.
    head, tail: lines, with a mark in place of what was between. empty: the message for a text of which
    nothing is left. Messages are for exit code 0 alone.
    """

    name: str
    commands: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    examples: Annotated[tuple[Example, ...], msgspec.Meta(min_length=1)]
    unless: tuple[str, ...] = ()
    replace: tuple[Replace, ...] = ()
    match: tuple[Summary, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    line_chars: Count | None = None
    head: Count | None = None
    tail: Count | None = None
    empty: str = ""

    def is_for(self, command: Command) -> bool:
        if any(self._asked(option) for option in command.options):
            return False
        return any(command.words[: len(words)] == words for words in map(_split, self.commands))

    def _asked(self, option: str) -> bool:
        return any(option == each or option.startswith(f"{each}=") for each in self.unless)


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split())


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    rules: tuple[Rule, ...]


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a file, by name. Raises ValueError for a text that is not TOML, a field that is not
    known, a rule without examples, two rules of one name, and one that both drops and keeps."""
    import tomli

    rules = msgspec.convert(tomli.loads(text), _File).rules
    if len({rule.name for rule in rules}) < len(rules):
        raise ValueError("two rules have the same name")
    for rule in rules:
        if rule.drop and rule.keep:
            raise ValueError(f"the rule {rule.name} has both drop and keep")
    return tuple(sorted(rules, key=lambda rule: rule.name))


def family_rules(family: str) -> tuple[Rule, ...]:
    with open(os.path.join(DIRECTORY, f"{family}.toml"), encoding="utf-8") as file:
        return parse_rules(file.read())


def rule_for(command: Command) -> Rule | None:
    """The first rule by name for a command. Reads the file of its family, if it has one."""
    family = FAMILIES.get(command.words[0]) if command.words else None
    if family is None:
        return None
    return next((rule for rule in family_rules(family) if rule.is_for(command)), None)
