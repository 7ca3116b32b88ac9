"""Section 1: a page for the command line and one for each subcommand, made from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.base.errors import EXIT_MEANINGS, exit_word
from remit.commands.manual.page import Block, Code, Item, Page, Para, Section, Span, Sub, bold, item
from remit.commands.manual.texts import COMMAND_TEXTS, ENVIRONMENT, FILES, CommandText
from remit.commands.tree import Command, Flag, Operand, command_at

# These end in the verdict of a run; the others in 0, or in the code of what went wrong.
_RUNNING = frozenset({"remit", "run", "resume", "replay"})


def command_page(name: str) -> Page:
    """The page of `remit` or of one subcommand."""
    command = command_at() if name == "remit" else command_at(name)
    text = COMMAND_TEXTS.get(name, CommandText())
    sections = [
        Section("SYNOPSIS", tuple(_synopsis(command))),
        Section("DESCRIPTION", _paras((f"{command.summary}", *command.paragraphs, *text.description))),
        *_parts(command, name),
        *_surroundings(name),
        Section("EXIT STATUS", tuple(_exit_status(name))),
        Section("EXAMPLES", tuple(block for each in text.examples for block in (Para(each.does), Code(each.line)))),
        Section("SEE ALSO", (Para(", ".join(_see(command, name, text))),)),
    ]
    title = "remit" if name == "remit" else f"remit-{name}"
    return Page(title, 1, _summary(command), tuple(section for section in sections if section.blocks))


def _summary(command: Command) -> str:
    text = command.summary.split(". ")[0].rstrip(".")
    return text[0].lower() + text[1:]


def _paras(texts: tuple[str, ...]) -> tuple[Para, ...]:
    return tuple(Para(text) for text in texts)


def _synopsis(command: Command) -> Iterator[Block]:
    whole = " ".join(("remit", *command.path))
    if not command.path:
        yield Code(f"{whole} COMMAND [ARGUMENT...]\n{whole} --version\n{whole} --help")
        return
    runnable = [each for each in command.walk() if not each.children]
    yield Code("\n".join(" ".join(_words(each)) for each in runnable))


def _words(command: Command) -> Iterator[str]:
    yield from ("remit", *command.path)
    if len(command.flags) > 1:
        yield "[OPTION...]"
    yield from (f"{flag.names[-1]} {flag.metavar}" for flag in command.flags if flag.required)
    yield from (operand.usage for operand in command.operands)


def _parts(command: Command, name: str) -> list[Section]:
    """Operands and options; of a group, those of each subcommand."""
    if name == "remit":
        commands = tuple(item(f"remit {child.name}", child.summary) for child in command.children)
        return [Section("COMMANDS", commands), Section("OPTIONS", tuple(map(_flag, command.flags)))]
    if command.children:
        return [Section("COMMANDS", tuple(block for child in command.children for block in _child(child)))]
    return [
        Section("ARGUMENTS", tuple(map(_operand, command.operands))),
        Section("OPTIONS", tuple(_options(command.flags))),
    ]


def _child(child: Command) -> Iterator[Block]:
    yield Sub(" ".join(_words(child)))
    yield from _paras((child.summary, *child.paragraphs))
    yield from map(_operand, child.operands)
    yield from _options(child.flags)


def _options(flags: tuple[Flag, ...]) -> Iterator[Block]:
    """The plain ones first, then each group under its title."""
    for group in dict.fromkeys(["", *(flag.group for flag in flags)]):
        if group:
            yield Sub(group)
        yield from (_flag(flag) for flag in flags if flag.group == group)


def _flag(flag: Flag) -> Item:
    spans: list[Span] = []
    for name in (*flag.names, *flag.negative):
        spans += [Span(", "), bold(name)] if spans else [bold(name)]
    if flag.takes_value:
        spans += [Span(" "), Span(flag.metavar, "italic")]
    remarks = [
        f"Default `{flag.default}`." if flag.default else "",
        "May be given several times." if flag.repeatable and not re.search("several times|repeated", flag.help) else "",
        "Required." if flag.required else "",
    ]
    return Item(tuple(spans), (Para(" ".join([flag.help, *filter(None, remarks)])),))


def _operand(operand: Operand) -> Item:
    choices = f" One of {', '.join(f'`{choice}`' for choice in operand.choices)}." if operand.choices else ""
    return Item((Span(operand.metavar, "italic"),), (Para(operand.help + choices),))


def _surroundings(name: str) -> list[Section]:
    if name not in _RUNNING:
        return []
    return [
        Section("ENVIRONMENT", tuple(item(variable, text) for variable, text in ENVIRONMENT)),
        Section("FILES", tuple(item(file, text) for file, text in FILES)),
    ]


def _exit_status(name: str) -> Iterator[Block]:
    if name in _RUNNING:
        yield Para("The exit code says whether the job was done.")
        yield from (item(str(code), f"`{exit_word(code)}`: {text}.") for code, text in EXIT_MEANINGS.items())
        return
    yield Para(
        "0 when it did what it says, else as in remit(1): 2 for what was written wrong, 9 for files and directories."
    )


def _see(command: Command, name: str, text: CommandText) -> list[str]:
    if name == "remit":
        return [*(f"remit-{child.name}(1)" for child in command.children), *text.see]
    return ["remit(1)", *text.see]
