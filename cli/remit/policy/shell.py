"""A command line as policy reads it: the argv of one simple command, or every command that may run.

Two readings of one text. An `auto` rule is held against `argv`, which exists only where the shell can
do nothing but run those very words. A `deny` or `ask` rule is held against `views`: each command of
the line, inside substitutions too, and each once more behind its wrappers. What cannot be read is a
view that every such rule matches, so a line is never let through for being unclear.

Rules see words, not effects: a script that is written first and run later is held by the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from remit.policy.programs import EXEC_OPTIONS, JOINED, RESERVED, SCRIPT_OPTION, WRAPPERS

MAX_LINE_CHARS = 64 * 1024
MAX_DEPTH = 16
MAX_VIEWS = 512
MAX_VIEWED_WORDS = 50_000


class Word(msgspec.Struct, frozen=True):
    """One word after quoting. known: False where the shell puts something else in its place, or may.
    bare: no part of it was quoted, so that it can be a reserved word or an assignment."""

    text: str
    known: bool = True
    bare: bool = True


View = tuple[Word, ...]
OPAQUE: View = (Word("", known=False),)
"""A command of which nothing is known."""

IDLE: View = (Word(""),)
"""A line that runs no program: blank, a comment, assignments."""


class CommandLine(msgspec.Struct, frozen=True):
    """argv: the words, when the line is one simple command and nothing else; else None.
    views: never empty."""

    argv: tuple[str, ...] | None
    views: tuple[View, ...]


@lru_cache(maxsize=32)
def read_command(line: str) -> CommandLine:
    """Both readings of a command line. Never raises: what cannot be read has the one view OPAQUE."""
    try:
        return _read(line)
    except _UnreadableError:
        return CommandLine(None, (OPAQUE,))


def split_words(text: str) -> list[Word]:
    """The words of a text that holds one simple command; its wildcards stay, as words not `known`.

    Raises ValueError with what else was seen."""
    reader = _Reader(text, 0)
    try:
        commands = reader.read_all()
    except _UnreadableError as problem:
        raise ValueError(str(problem)) from None
    strange = sorted(reader.odd - {"a wildcard", "a tilde"})
    if strange:
        raise ValueError(f"it holds {strange[0]}")
    if not commands:
        raise ValueError("it is empty")
    return commands[0]


class _UnreadableError(Exception):
    """The line cannot be read; the text says why."""


_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_CASE = frozenset({"case", "esac"})
"""Their patterns end in a bare `)`, which only a full parser tells from the end of a substitution."""

_QUOTED_DOLLAR = re.compile(r"[A-Za-z0-9_{\[@*#?$!-]")
_DOLLAR = re.compile(r"[A-Za-z0-9_{\[@*#?$!\"-]")
"""What a `$` has to be followed by to be replaced."""

_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)


def _read(line: str) -> CommandLine:
    reader = _Reader(line, 0)
    commands = reader.read_all()
    argv = None
    if len(commands) == 1 and not reader.odd:
        argv = tuple(word.text for word in commands[0])
    return CommandLine(argv, tuple(_views(commands)) or (IDLE,))


class _Reader:
    """One pass over a line. odd: what was met that a simple command does not hold."""

    def __init__(self, text: str, depth: int) -> None:
        if len(text) > MAX_LINE_CHARS:
            raise _UnreadableError(f"it is longer than {MAX_LINE_CHARS} characters")
        if depth > MAX_DEPTH:
            raise _UnreadableError(f"it is nested deeper than {MAX_DEPTH} levels")
        if "\0" in text:
            raise _UnreadableError("it holds a NUL character")
        self._text = text
        self._at = 0
        self._depth = depth
        self._commands: list[list[Word]] = []
        self.odd: set[str] = set()

    def read_all(self) -> list[list[Word]]:
        """Every command of the text, those inside substitutions first."""
        while self._at < len(self._text):
            self._list("")
            # A closing parenthesis without its opening one ends a command like any operator.
            if self._at < len(self._text):
                self.odd.add("an operator")
                self._at += 1
        return self._commands

    def _list(self, closer: str) -> None:
        """Commands up to an unquoted `)`, or to the end when `closer` is empty."""
        words: list[Word] = []
        target = False
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == ")":
                break
            if char in " \t":
                self._at += 1
            elif self._continues():
                self._skip_continuation()
            elif char == "#":
                self._skip_comment()
            elif char in "<>":
                target = self._redirect(words)
            elif char in ";&|\n(":
                self.odd.add("a line break" if char == "\n" else "an operator")
                self._keep(words)
                words, target = [], False
                self._at += 1
                if char == "(":
                    self._nested_list()
            else:
                word = self._word()
                if not target:
                    words = self._append(words, word)
                target = False
        else:
            if closer:
                raise _UnreadableError("a parenthesis is not closed")
        self._keep(words)

    def _append(self, words: list[Word], word: Word) -> list[Word]:
        if word.bare and word.text in ("{", "}"):
            self.odd.add("a group")
            self._keep(words)
            return []
        starts = not words or (words[0].bare and words[0].text in RESERVED)
        if word.bare and word.text in _CASE and (starts or word.text == "esac"):
            raise _UnreadableError(f"it holds `{word.text}`")
        if not words and word.bare:
            if word.text in RESERVED:
                self.odd.add(f"the reserved word `{word.text}`")
            elif _ASSIGNMENT.match(word.text):
                self.odd.add("an assignment")
                return words
        words.append(word)
        return words

    def _keep(self, words: list[Word]) -> None:
        if words:
            self._commands.append(words)

    def _nested_list(self) -> None:
        """What stands between parentheses; the position is just behind the opening one."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _UnreadableError(f"it is nested deeper than {MAX_DEPTH} levels")
        self._list(")")
        self._at += 1
        self._depth -= 1

    def _skip_comment(self) -> None:
        self.odd.add("a comment")
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _redirect(self, words: list[Word]) -> bool:
        """A redirect operator. Returns whether its target is still to come."""
        self.odd.add("a redirect")
        start = self._at
        if self._text.startswith("<<", start) and not self._text.startswith("<<<", start):
            raise _UnreadableError("it holds a here-document")
        if self._text.startswith(("<(", ">("), start):
            self._at += 2
            self._nested_list()
            words.append(Word("", known=False, bare=False))
            return False
        if words and words[-1].bare and words[-1].text.isdigit() and self._text[start - 1].isdigit():
            words.pop()
        while self._at < len(self._text) and self._text[self._at] in "<>&|":
            self._at += 1
        if self._continues():
            raise _UnreadableError("a line break splits an operator")
        return True

    def _word(self) -> Word:
        """One word, quotes taken off; the position is at its first character."""
        pieces: list[str] = []
        known = bare = True
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\n;&|()<>":
                break
            if self._continues():
                self._skip_continuation()
                continue
            if char in "'\"\\":
                piece, certain = self._quoted(char)
                bare = False
            elif char in "$`":
                piece, certain = self._expansion(char)
            else:
                piece, certain = char, self._plain(char, first=not pieces)
                self._at += 1
            pieces.append(piece)
            known = known and certain
        text = "".join(pieces)
        return Word(text, known and not _BRACES.search(text), bare)

    def _continues(self) -> bool:
        """Whether a line goes on here as if the break were not there."""
        return self._text.startswith("\\\n", self._at)

    def _skip_continuation(self) -> None:
        self.odd.add("a line break")
        self._at += 2

    def _plain(self, char: str, *, first: bool) -> bool:
        """Whether an unquoted character stands for itself."""
        if char in "*?[":
            self.odd.add("a wildcard")
            return False
        if char in "{}":
            self.odd.add("a brace")
        elif char == "~" and (first or self._text[self._at - 1] in "=:"):
            self.odd.add("a tilde")
        elif not char.isprintable() or char.isspace():
            self.odd.add(f"the character U+{ord(char):04X} outside of quotes")
        return True

    def _quoted(self, quote: str) -> tuple[str, bool]:
        if quote == "\\":
            return self._escaped(), True
        self._at += 1
        if quote == '"':
            return self._double_quoted()
        end = self._text.find("'", self._at)
        if end < 0:
            raise _UnreadableError("a single quote is not closed")
        piece = self._text[self._at : end]
        self._at = end + 1
        return piece, True

    def _escaped(self) -> str:
        if self._at + 1 >= len(self._text):
            raise _UnreadableError("it ends in a backslash")
        self._at += 2
        return self._text[self._at - 1]

    def _double_quoted(self) -> tuple[str, bool]:
        """The text up to the closing quote; the position is behind the opening one."""
        pieces: list[str] = []
        known = True
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return "".join(pieces), known
            if self._continues():
                self._skip_continuation()
                continue
            if char in "$`":
                piece, certain = self._expansion(char, quoted=True)
                known = known and certain
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\"):
                if self._text[self._at + 1] in "$`":
                    # The shell takes this backslash off, a splitter without a shell does not.
                    self.odd.add("an escape that is read in two ways")
                piece = self._escaped()
            else:
                piece = char
                self._at += 1
            pieces.append(piece)
        raise _UnreadableError("a double quote is not closed")

    def _expansion(self, char: str, *, quoted: bool = False) -> tuple[str, bool]:
        """A `$` or a backtick: the commands inside are read, the text that results is not known."""
        start = self._at
        self._at += 1
        if char == "$" and self._continues():
            raise _UnreadableError("a line break splits an expansion")
        if char == "`":
            self._backticks()
        elif self._text.startswith("(", self._at):
            self._at += 1
            self._nested_list()
        elif self._text.startswith("{", self._at):
            self._at += 1
            self._parameter(quoted=quoted)
        elif self._text.startswith("'", self._at) and not quoted:
            self._ansi_quoted()
        elif not (_QUOTED_DOLLAR if quoted else _DOLLAR).match(self._text, self._at):
            self.odd.add("a dollar sign")
            return "$", True
        self.odd.add("an expansion")
        return self._text[start : self._at], False

    def _parameter(self, *, quoted: bool) -> None:
        """A `${...}`; the position is behind its brace. Blanks, operators and comments mean nothing in it."""
        if self._text[self._at : self._at + 1] in (" ", "\t", "\n", "|", ""):
            raise _UnreadableError("a `${` runs commands")
        start = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "}":
                if self._text.endswith("@P", start, self._at):
                    raise _UnreadableError("a `${...@P}` runs what its value holds")
                self._at += 1
                return
            if self._text.startswith(("<(", ">("), self._at):
                self._at += 2
                self._nested_list()
            elif char in "$`":
                self._depth += 1
                self._expansion(char, quoted=quoted)
                self._depth -= 1
            elif char in "'\"\\":
                if char == "'" and quoted:
                    # Whether it quotes depends on the operator before it.
                    raise _UnreadableError("a single quote stands in a quoted `${...}`")
                self._quoted(char)
            else:
                self._at += 1
        raise _UnreadableError("a `${` is not closed")

    def _ansi_quoted(self) -> None:
        match = re.compile(r"'(?:\\.|[^'\\])*'", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise _UnreadableError("a single quote is not closed")
        self._at = match.end()

    def _backticks(self) -> None:
        match = re.compile(r"((?:\\.|[^`\\])*)`", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise _UnreadableError("a backtick is not closed")
        inner = _Reader(re.sub(r"\\([`$\\])", r"\1", match[1]), self._depth + 1)
        self._commands += inner.read_all()
        self._at = match.end()


def program(word: Word) -> str:
    """The name a command goes by, without its directory; "" when it is not known."""
    return word.text.rsplit("/", 1)[-1] if word.known else ""


def _views(commands: list[list[Word]]) -> list[View]:
    """Each command, and each once more behind what wraps it."""
    pending: list[tuple[View, int]] = [(tuple(words), 0) for words in reversed(commands)]
    seen: dict[View, None] = {}
    size = 0
    while pending:
        view, depth = pending.pop()
        if view in seen:
            continue
        seen[view] = None
        for inner in _unwrapped(view):
            size += len(inner)
            if size > MAX_VIEWED_WORDS or depth > MAX_DEPTH:
                raise _UnreadableError("it wraps too many commands")
            pending.append((inner, depth + 1))
        if len(seen) > MAX_VIEWS:
            raise _UnreadableError("it holds too many commands")
    return list(seen)


def _unwrapped(view: View) -> Iterator[View]:
    """The commands one layer inside."""
    first = view[0]
    name = program(first)
    if first.bare and first.text in RESERVED:
        rest = view[1:]
        while rest and rest[0].bare and _ASSIGNMENT.match(rest[0].text):
            rest = rest[1:]
        if rest:
            yield rest
    if name in WRAPPERS:
        yield from _behind_options(view)
    if name in SCRIPT_OPTION:
        yield from _scripts(view)
    if name in JOINED:
        yield from _inner(" ".join(word.text for word in view[1:]), known=all(word.known for word in view[1:]))
    for place, word in enumerate(view):
        if word.text in EXEC_OPTIONS.get(name, ()) and place + 1 < len(view):
            yield view[place + 1 :]


def _behind_options(view: View) -> Iterator[View]:
    """Every place where the wrapped command may start: behind options, their values, assignments and
    operands. Which option takes a value is each wrapper's own matter, so both readings are given."""
    operands = WRAPPERS[program(view[0])]
    for place in range(1, len(view)):
        word = view[place]
        passed_over = word.text.startswith("-") or _ASSIGNMENT.match(word.text)
        if not passed_over:
            yield view[place:]
        if any(char.isspace() for char in word.text):
            # `env -S` splits its text into a command.
            yield from _inner(re.sub(r"\A(?:-[A-Za-z]*S|--split-string=)", "", word.text), known=word.known)
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
            yield from _inner(word.text, known=word.known)


def _inner(text: str, *, known: bool) -> Iterator[View]:
    if not known:
        yield OPAQUE
        return
    for words in _Reader(text, 1).read_all():
        yield tuple(words)
