"""A command line as policy reads it: its commands, and the paths its redirects touch.

Two readings of one text. The scan (shell_scan) sees every command that a shell may run, also where it is
none; the grammar (shell_tree) says how the line is built. A `deny` or `ask` rule is held against the `views`
of each part: the command itself, and each one it runs. An `auto` rule is held against `argv`, which a part
has only where both readings agree that the shell can do nothing but run those very words.

Rules see words, not effects: a script that is written first and run later is held by the sandbox.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from remit.base.resources import Effect
from remit.policy.programs import CHANGES_DIRECTORY, PRINTERS, READERS, RESERVED, TRANSPARENT
from remit.policy.shell_scan import (
    MAX_LINE_CHARS,
    PLAIN_ODDITIES,
    Aim,
    Scan,
    UnreadableError,
    View,
    Word,
    inner_commands,
    program,
    scan,
)
from remit.policy.shell_views import OPAQUE, Views

if TYPE_CHECKING:
    from remit.policy.shell_tree import Reading

__all__ = ["MAX_LINE_CHARS", "OPAQUE", "CommandLine", "Part", "Redirect", "View", "program", "read_command"]

IDLE: View = (Word(""),)
"""A line, or a part of one, that runs no program: blank, a comment, assignments."""


MAX_REDIRECTS = 128
MAX_MOVES = 16


class Part(msgspec.Struct, frozen=True):
    """One command. argv: its words, where it is surely that command; else None. views: never empty."""

    argv: tuple[str, ...] | None
    views: tuple[View, ...]


class Redirect(msgspec.Struct, frozen=True):
    """A file that the shell opens. path: as it is written."""

    path: str
    effect: Effect


class CommandLine(msgspec.Struct, frozen=True):
    """parts: never empty. One without an argv stands for what the line does at run time only: open a file
    or change to a directory that is not known here. moves: directories it may change to, as they are written."""

    text: str
    parts: tuple[Part, ...]
    redirects: tuple[Redirect, ...] = ()
    moves: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The words of a line that is one command and touches nothing else."""
        return self.parts[0].argv if len(self.parts) == 1 and not self.redirects else None

    @property
    def views(self) -> tuple[View, ...]:
        return tuple(dict.fromkeys(view for part in self.parts for view in part.views))


@lru_cache(maxsize=32)
def read_command(line: str) -> CommandLine:
    """Never raises: a line that cannot be read has one part with the one view OPAQUE."""
    try:
        line.encode()
        return _read(line)
    except (UnreadableError, UnicodeEncodeError):
        return CommandLine(line, (Part(None, (OPAQUE,)),))


def split_words(text: str) -> list[Word]:
    """The words of a text that holds one simple command; its wildcards stay, as words not `known`.

    Raises ValueError with what else was seen."""
    try:
        found = scan(text)
    except UnreadableError as problem:
        raise ValueError(str(problem)) from None
    strange = sorted(found.odd - {"a wildcard", "a tilde"})
    if strange:
        raise ValueError(f"it holds {strange[0]}")
    if not found.commands:
        raise ValueError("it is empty")
    return list(found.commands[0])


def _read(line: str) -> CommandLine:
    found = scan(line)
    views = Views()
    confirmed, extra, aims, blocked, data = _second_reading(line, found)
    parts: list[Part] = []
    idle: list[View] = []
    for command in found.commands:
        words = _behind_reserved(command)
        if not words:
            continue
        if data[words] > 0:
            data[words] -= 1
            # A rule that denies may still take it for a command, where it is one by its looks.
            idle += [view for view in views.of(command) if view[0].known]
            continue
        certain = not blocked and confirmed[words] > 0 and not _is_reserved(words[0])
        sure = certain and all(word.sure for word in words)
        confirmed[words] -= 1
        parts.append(Part(tuple(word.text for word in words) if sure else None, views.of(command)))
    parts += [Part(None, views.of(command)) for command in [*extra, *_fed(found, parts)]]
    opened, unknown = _redirects(aims)
    moves = tuple(dict.fromkeys(_moves(parts)))
    if len(opened) > MAX_REDIRECTS or len(moves) > MAX_MOVES:
        raise UnreadableError("it touches too many files")
    astray = bool(moves) and any(not each.path.startswith("/") for each in opened)
    if blocked or unknown or astray or not parts:
        # A rule for these commands does not speak for what else the line does.
        parts.append(Part(None, (IDLE,)))
    if idle:
        parts[0] = Part(parts[0].argv, tuple(dict.fromkeys((*parts[0].views, *idle))))
    return CommandLine(line, tuple(dict.fromkeys(parts)), opened, tuple(each for each in moves if each is not None))


def _second_reading(line: str, found: Scan) -> tuple[Counter[View], list[View], list[Aim], bool, Counter[View]]:
    """The commands that the grammar confirms, those it sees alone, all redirects, whether the line is built so
    that no command in it is surely what it looks like, and what looks like a command and is surely none."""
    scanned = Counter(filter(None, map(_behind_reserved, found.commands)))
    if len(found.commands) == 1 and not found.aims and found.odd <= PLAIN_ODDITIES:
        return scanned, [], [], False, Counter()
    from remit.policy.shell_tree import read_tree

    tree = read_tree(_for_grammar(line, found))
    data = _data(tree, scanned)
    aims = list(dict.fromkeys([*found.aims, *tree.aims]))
    blocked = tree.blocked or data is None or bool(found.odd & {"an assignment", "a function"})
    surely_none = Counter[View]() if blocked or data is None else data
    return tree.commands & scanned, list(tree.commands - scanned), aims, blocked, surely_none


def _for_grammar(line: str, found: Scan) -> str:
    """The line with each `<>`, which the grammar does not know, as another redirect with the same target."""
    for place in found.both_ways:
        line = f"{line[:place]}>>{line[place + 2 :]}"
    return line


def _data(tree: Reading, scanned: Counter[View]) -> Counter[View] | None:
    """What of the scan is the start of a loop or a case, or a pattern of one; None where the readings differ."""
    data = tree.rest.copy()
    for head in tree.heads:
        on_one_line = head.words + head.pattern
        data.update([on_one_line] if scanned[on_one_line] else [head.words, *filter(None, [head.pattern])])
    fits = all(scanned[view] >= count + tree.commands[view] for view, count in data.items())
    return data if fits else None


def _is_reserved(word: Word) -> bool:
    return word.bare and word.text in RESERVED


def _behind_reserved(command: View) -> View:
    """A command without the words of the shell that only say when it runs."""
    for place, word in enumerate(command):
        if not (word.bare and word.text in TRANSPARENT):
            return command[place:]
    return ()


def _fed(found: Scan, parts: list[Part]) -> Iterator[View]:
    """The commands of a here-document, and of what is printed, on a line with a shell that may read it."""
    if not any(program(view[0]) in READERS for part in parts for view in part.views):
        return
    for text in found.fed:
        yield from inner_commands(text)
    if found.passes:
        for command in found.commands:
            yield from _printed(_behind_reserved(command))


def _printed(command: View) -> Iterator[View]:
    """The commands of the text that a command prints, where it is one that prints its words."""
    if not command or program(command[0]) not in PRINTERS or not all(word.known for word in command):
        return
    words = [word.text for word in command[1:]]
    for text in dict.fromkeys([" ".join(words), *words]):
        # What is no command line is text for people.
        with suppress(UnreadableError):
            yield from inner_commands(text.replace("\\n", "\n"))


# -- redirects ---------------------------------------------------------------------------------

_EFFECTS: dict[str, tuple[Effect, ...]] = {
    "<": (Effect.READ,),
    "<&": (Effect.READ,),
    "<>": (Effect.READ, Effect.WRITE),
}
_HARMLESS = frozenset({"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
_NETWORK = ("/dev/tcp/", "/dev/udp/")
"""What bash takes for a connection, whatever files there are."""


def _redirects(aims: list[Aim]) -> tuple[tuple[Redirect, ...], bool]:
    """The files that are opened, and whether any is known only at run time."""
    found: dict[Redirect, None] = {}
    unknown = False
    for aim in aims:
        text = aim.word.text
        if aim.word.known and (text in _HARMLESS or (aim.operator in ("<&", ">&") and _is_descriptor(text))):
            continue
        if not aim.word.sure or not text or text.startswith(_NETWORK):
            unknown = True
            continue
        found |= dict.fromkeys(Redirect(text, effect) for effect in _EFFECTS.get(aim.operator, (Effect.WRITE,)))
    return tuple(found), unknown


def _is_descriptor(text: str) -> bool:
    digits = text.removesuffix("-")
    return text == "-" or (digits.isascii() and digits.isdigit())


def _moves(parts: list[Part]) -> Iterator[str | None]:
    """The directories that the line may change to; None for one that is not known."""
    for part in parts:
        for view in part.views:
            if program(view[0]) in CHANGES_DIRECTORY:
                yield view[-1].text if len(view) == 2 and view[-1].sure and view[-1].text != "-" else None
