"""What may stand where on the command line, beyond flags and subcommands."""

from __future__ import annotations

from enum import StrEnum
from importlib import resources

import msgspec

from remit.commands.tree import Command, Flag, Operand


class Kind(StrEnum):
    """What a value is. ANY: nothing that could be offered."""

    ANY = "any"
    CHOICE = "choice"
    FILE = "file"
    DIRECTORY = "directory"
    TOOL = "tool"
    TOOLS = "tools"
    RULE = "rule"
    MODEL = "model"
    EXAMPLE = "example"
    PAGE = "page"
    RUN = "run"
    PROPOSAL = "proposal"
    PROVIDER = "provider"


_BY_METAVAR = {
    "FILE": Kind.FILE,
    "DIR": Kind.DIRECTORY,
    "RUN": Kind.RUN,
    "ID": Kind.PROPOSAL,
    "PAGE": Kind.PAGE,
    "RULE": Kind.RULE,
    "PROVIDER/NAME": Kind.MODEL,
    "PROVIDER": Kind.PROVIDER,
}

_OF_FILES = frozenset({"local", "scripted", "replay"})
"""Providers whose models may be files."""


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The names that are known before anything runs."""

    tools: tuple[str, ...]
    examples: tuple[str, ...]
    pages: tuple[str, ...]
    selectors: tuple[str, ...]
    models: dict[str, bool]


def known_words() -> Words:
    """The words of this installation. No tool is imported: their files are the list."""
    from remit.commands.manual import page_words
    from remit.commands.task import example_names
    from remit.config.providers import load_providers
    from remit.policy.selectors import SELECTORS
    from remit.tools.registry import places

    return Words(
        tools=tuple(places()),
        examples=tuple(example_names(resources.files("remit").joinpath("examples"))),
        pages=tuple(page_words()),
        selectors=tuple(SELECTORS),
        models={f"{name}/": name in _OF_FILES for name in load_providers("").names()},
    )


def kind_of(part: Flag | Operand) -> Kind:
    """What the value of a flag, or an operand, is."""
    if part.choices:
        return Kind.CHOICE
    if isinstance(part, Flag) and "--example" in part.names:
        return Kind.EXAMPLE
    if part.metavar.startswith("NAME["):
        return Kind.TOOLS
    if part.metavar.startswith("TOOL"):
        return Kind.TOOL
    return _BY_METAVAR.get(part.metavar, Kind.ANY)


def words_of(part: Flag | Operand, words: Words) -> tuple[str, ...]:
    """The fixed words a value is one of; () where that takes more."""
    fixed = {Kind.CHOICE: part.choices, Kind.TOOL: words.tools, Kind.EXAMPLE: words.examples, Kind.PAGE: words.pages}
    fixed[Kind.PROVIDER] = tuple(name.removesuffix("/") for name in words.models)
    return fixed.get(kind_of(part), ())


def leaves(tree: Command) -> list[Command]:
    """The commands that run something."""
    return [command for command in tree.walk() if not command.children]
