"""The command line as data: what help, manual and completions are made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from remit.commands.app import root


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """An option. names: short ones first. negative: the names that switch it off. metavar: "" for a
    switch. choices: the only values, if there are such. default: as help shows it, or "".
    group: title of the options it stands with, "" for the plain ones."""

    names: tuple[str, ...]
    negative: tuple[str, ...] = ()
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    required: bool = False
    default: str = ""
    group: str = ""

    @property
    def takes_value(self) -> bool:
        return bool(self.metavar)


class Operand(msgspec.Struct, frozen=True, kw_only=True):
    """A positional argument. metavar: its name, without brackets and dots where it is one word."""

    metavar: str
    help: str
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    required: bool = False

    @property
    def usage(self) -> str:
        """As a synopsis shows it."""
        if " " in self.metavar:
            return self.metavar
        shown = self.metavar + ("..." if self.repeatable else "")
        return shown if self.required else f"[{shown}]"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command or a group of them. path: from `remit` on, without it. paragraphs: of the help text,
    below its first line."""

    path: tuple[str, ...]
    summary: str
    paragraphs: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    operands: tuple[Operand, ...] = ()
    children: tuple[Command, ...] = ()

    def walk(self) -> Iterator[Command]:
        """This command and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else "remit"


def command_tree() -> Command:
    """The root command with everything below it. Imports the module of every subcommand."""
    return command_at()


def command_at(*path: str) -> Command:
    """One command with everything below it; only its own module is imported. Raises KeyError."""
    found: Any = typer.main.get_command(root)
    for name in path:
        if name not in _names(found):
            raise KeyError(" ".join(path))
        found = found.get_command(None, name)
    return _command(path, found)


def _names(command: Any) -> list[str]:
    """The subcommands of a group, in the order of its help."""
    return list(command.list_commands(typer.Context(command))) if isinstance(command, TyperGroup) else []


def _command(path: tuple[str, ...], command: Any) -> Command:
    summary, *paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n"))
    params = [param for param in command.params if not param.hidden]
    return Command(
        path=path,
        summary=summary,
        paragraphs=tuple(paragraphs),
        flags=(*(_flag(param) for param in params if isinstance(param, TyperOption)), HELP_FLAG),
        operands=tuple(_operand(param) for param in params if isinstance(param, TyperArgument)),
        children=tuple(_command((*path, name), command.get_command(None, name)) for name in _names(command)),
    )


HELP_FLAG = Flag(names=("-h", "--help"), help="Show the help and exit.")


def _flag(param: TyperOption) -> Flag:
    choices = _choices(param)
    return Flag(
        names=_shorts_first(param.opts),
        negative=_shorts_first(param.secondary_opts),
        help=param.help or "",
        metavar="" if param.is_flag else param.metavar or "|".join(choices) or "VALUE",
        choices=choices,
        repeatable=param.multiple,
        required=param.required,
        default="" if param.is_flag or param.default in (None, (), []) else str(param.default),
        group=getattr(param, "rich_help_panel", None) or "",
    )


def _operand(param: TyperArgument) -> Operand:
    metavar = param.metavar or (param.name or "").upper()
    word = re.fullmatch(r"\[?([A-Z/]+)(?:\.\.\.)?\]?(?:\.\.\.)?", metavar)
    return Operand(
        metavar=word[1] if word else metavar,
        help=param.help or "",
        choices=_choices(param),
        repeatable=param.nargs == -1 or param.multiple,
        required=param.required,
    )


def _choices(param: TyperOption | TyperArgument) -> tuple[str, ...]:
    return tuple(getattr(param.type, "choices", ()))


def _shorts_first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: name.startswith("--")))
