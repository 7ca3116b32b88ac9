"""The commands that a command runs: behind its wrappers, in the texts it is given, after its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, takewhile

from remit.policy.programs import (
    DECLARES,
    EXEC_OPTIONS,
    JOINED,
    RESERVED,
    SCRIPT_OPTION,
    SETTINGS,
    TEXT_OPTIONS,
    WRAPPERS,
)
from remit.policy.shell_scan import (
    ASSIGNMENT,
    MAX_DEPTH,
    UnreadableError,
    View,
    Word,
    assigned_commands,
    inner_commands,
    program,
)

MAX_VIEWS = 512
MAX_VIEWED_WORDS = 50_000

OPAQUE: View = (Word("", known=False),)
"""A command of which nothing is known."""


class Views:
    """The views of the commands of one line. All of them together are bounded."""

    def __init__(self) -> None:
        self._seen: set[View] = set()
        self._words = 0

    def of(self, command: View) -> tuple[View, ...]:
        """The command, and each command it may run. Raises UnreadableError."""
        pending = [(command, 0)]
        found: dict[View, None] = {}
        while pending:
            view, depth = pending.pop()
            if view in found:
                continue
            found[view] = None
            self._count(view)
            for inner in unwrapped(view):
                self._words += len(inner)
                if self._words > MAX_VIEWED_WORDS or depth > MAX_DEPTH:
                    raise UnreadableError("it wraps too many commands")
                pending.append((inner, depth + 1))
        return tuple(found)

    def _count(self, view: View) -> None:
        self._seen.add(view)
        if len(self._seen) > MAX_VIEWS:
            raise UnreadableError("it holds too many commands")


def unwrapped(view: View) -> Iterator[View]:
    """The commands one layer inside. Raises UnreadableError."""
    first = view[0]
    name = program(first)
    if first.bare and first.text in RESERVED:
        rest = view[1:]
        while rest and rest[0].bare and ASSIGNMENT.match(rest[0].text):
            rest = rest[1:]
        if rest:
            yield rest
        if first.text == "coproc" and len(view) > 2:
            # It may have a name.
            yield view[2:]
    yield from _assigned(view)
    if name in WRAPPERS:
        yield from _behind_options(view)
    if name in SCRIPT_OPTION:
        yield from _scripts(view)
    if name in JOINED:
        yield from inner(" ".join(word.text for word in view[1:]), known=all(word.known for word in view[1:]))
    yield from _texts(name, view)
    for place, word in enumerate(view):
        if word.text in EXEC_OPTIONS.get(name, ()) and place + 1 < len(view):
            yield view[place + 1 :]


def _assigned(view: View) -> Iterator[View]:
    """What stands in assignments with quotes in them, and the command behind those."""
    given = list(takewhile(lambda word: ASSIGNMENT.match(word.text), view))
    for word in given:
        if word.known:
            yield from assigned_commands(word.text)
    if given and len(given) < len(view):
        yield view[len(given) :]


def _texts(name: str, view: View) -> Iterator[View]:
    """What stands in single words of a program that runs them, now or when another name is called."""
    if name == "hash" and len(view) > 2 and view[1].text.startswith("-"):
        # `-p PATH NAME`: NAME is from now on that program.
        yield view[2:3]
    if name in DECLARES:
        for word in view[1:]:
            if word.known and ASSIGNMENT.match(word.text):
                yield from assigned_commands(word.text)
    if name in SETTINGS:
        for word in view[1:]:
            if match := re.search(SETTINGS[name], word.text, re.DOTALL):
                yield from inner(match[1], known=word.known)
    for before, word in pairwise(view):
        if before.text == TEXT_OPTIONS.get(name):
            yield from inner(word.text, known=word.known)


def inner(text: str, *, known: bool) -> Iterator[View]:
    """The commands of a text that is run. Raises UnreadableError."""
    if not known:
        yield OPAQUE
        return
    yield from inner_commands(text)


def _behind_options(view: View) -> Iterator[View]:
    """Every place where the wrapped command may start: behind options, their values, assignments and
    operands. Which option takes a value is each wrapper's own matter, so both readings are given."""
    operands = WRAPPERS[program(view[0])]
    for place in range(1, len(view)):
        word = view[place]
        passed_over = word.text.startswith("-") or ASSIGNMENT.match(word.text)
        if not passed_over:
            yield view[place:]
        if any(char.isspace() for char in word.text):
            # `env -S` splits its text into a command.
            yield from inner(re.sub(r"\A(?:-[A-Za-z]*S|--split-string=)", "", word.text), known=word.known)
        if passed_over or view[place - 1].text.startswith("-"):
            continue
        if not operands:
            return
        operands -= 1


def _scripts(view: View) -> Iterator[View]:
    """The texts behind a `-c`."""
    asked = False
    for word in view[1:]:
        if re.match(r"[-+][A-Za-z]*c", word.text) or word.text == "--command":
            asked = True
        elif asked:
            yield from inner(word.text, known=word.known)
