"""The commands of `expect.checks`. They run without a shell, so that what only a shell understands would be
handed to the program as a word: `true && false` would pass."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Literal

import msgspec

from remit.base.lazy_pattern import lazy_pattern

HINT = "checks run without a shell: write sh -c '...', or quote the word"

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"})
_BLANKS = " \t\r\n"
_OPERATOR = lazy_pattern(r"[0-9]*(?:&>>?|<<<|<<-?|<>|<&|>&|>>|>\||<|>)|&&|\|\||\|&|;;|[;&|()]")
_EXPANSION = lazy_pattern(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[{(])|`")
_WILDCARD = lazy_pattern(r"[*?]")

_Quotes = Literal["", "'", '"', "\\"]
"""What takes a character's meaning from it; "" where nothing does."""


class _Word(msgspec.Struct):
    """A word as `shlex` reads it. bare, doubled: what of it stands outside of quotes, and in double ones; a
    blank for each other character."""

    text: str = ""
    bare: str = ""
    doubled: str = ""

    def add(self, char: str, quotes: _Quotes) -> None:
        self.text += char
        self.bare += char if not quotes else " "
        self.doubled += char if quotes == '"' else " "


def check_fault(command: str) -> tuple[str, str]:
    """Why this is no command to run without a shell, and what to do; two empty strings when it is one."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        return f"not a command: {str(problem).lower()}", ""
    if not words or not words[0]:
        return "the command is empty", ""
    if any(char in "\r\n" and quotes in ("", "\\") for char, quotes in _characters(command.strip(_BLANKS))):
        return "a line break outside of quotes means something only to a shell", HINT
    in_shell = False
    for word in _words(command):
        if what := _meant_for_a_shell(word, expands=not in_shell):
            return what, HINT
        in_shell = in_shell or word.text.rsplit("/", 1)[-1] in _SHELLS
    return "", ""


def _meant_for_a_shell(word: _Word, *, expands: bool) -> str:
    """What of a word a shell would not hand on as it stands, or "". expands: not in the arguments of a shell,
    which replaces what it is given."""
    if found := _OPERATOR.search(word.bare):
        return f"`{found[0]}` means something only to a shell, and is a plain word here"
    if word.bare.startswith("#"):
        return "`#` starts a comment only in a shell, and is a plain word here"
    if not expands:
        return ""
    if found := _EXPANSION.search(word.bare) or _EXPANSION.search(word.doubled):
        return f"`{found[0]}` is replaced only by a shell, and stays as it is here"
    if found := _WILDCARD.search(word.bare):
        return f"`{found[0]}` stands for names of files only in a shell, and for itself here"
    if word.bare.startswith("~"):
        return "`~` is the home directory only to a shell, and a plain character here"
    return ""


def _words(command: str) -> Iterator[_Word]:
    word: _Word | None = None
    for char, quotes in _characters(command):
        if not quotes and char in _BLANKS:
            if word is not None:
                yield word
            word = None
            continue
        word = word or _Word()
        word.add(char, quotes)
    if word is not None:
        yield word


def _characters(command: str) -> Iterator[tuple[str, _Quotes]]:
    """Each character that is no quote itself, and what quotes it, by the rules of `shlex`."""
    quote: _Quotes = ""
    escaped = False
    for place, char in enumerate(command):
        if escaped:
            escaped = False
            yield char, "\\"
        elif char == "\\" and (not quote or (quote == '"' and command[place + 1] in '"\\')):
            escaped = True
        elif not quote and char in "'\"":
            quote = "'" if char == "'" else '"'
        elif char == quote:
            quote = ""
        else:
            yield char, quote
