"""A command line read character by character: every command and redirect that a shell may take from it.

The reading errs to one side. Words may be cut where a shell would not cut them, so that a command is seen
that is none; a command that a shell would run is not missed. What cannot be read that way is refused.
"""

from __future__ import annotations

import re

import msgspec

from remit.base.lazy_pattern import lazy_pattern
from remit.policy.programs import RESERVED, RUN_VARIABLES
from remit.policy.shell_arithmetic import arithmetic_end

MAX_LINE_CHARS = 64 * 1024
MAX_DEPTH = 16


class Word(msgspec.Struct, frozen=True):
    """One word after quoting. known: False where the shell puts something else in its place, or may.
    bare: no part of it was quoted, so that it can be a reserved word or an assignment. sure: the program is
    handed this very text."""

    text: str
    known: bool = True
    bare: bool = True
    sure: bool = True


View = tuple[Word, ...]


class Aim(msgspec.Struct, frozen=True):
    """A redirect as it is written: its operator without the number before it, and the word behind it."""

    operator: str
    word: Word


class Scan(msgspec.Struct, frozen=True):
    """What a line holds. commands: those inside substitutions first; reserved words still stand before them.
    odd: what was met that a simple command does not hold. fed: texts given to a command as its input. both_ways:
    where a `<>` stands in the text. passes: whether what one command prints may be read by another."""

    commands: tuple[View, ...]
    aims: tuple[Aim, ...]
    odd: frozenset[str]
    fed: tuple[str, ...]
    both_ways: tuple[int, ...] = ()
    passes: bool = False


class UnreadableError(Exception):
    """The line cannot be read; the text says why."""


ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
PLAIN_ODDITIES = frozenset({"a wildcard", "a tilde", "a brace", "a dollar sign", "a continued line"})
"""What changes no more than the word it stands in."""

_CASE = frozenset({"case", "esac"})
_QUOTED_DOLLAR = lazy_pattern(r"[A-Za-z0-9_{\[@*#?$!-]")
_DOLLAR = lazy_pattern(r"[A-Za-z0-9_{\[@*#?$!\"-]")
"""What a `$` has to be followed by to be replaced."""

_OPERATOR = lazy_pattern(r"<<<|<<-|<<|<>|<&|<|>&|>>|>\||>|&>>|&>")
_DESCRIPTOR = lazy_pattern(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\}")
_BRACKETS = frozenset({"[", "]", "[[", "]]"})
"""Words that hold a bracket and are no wildcard."""

_HERE_DOCUMENTS = ("<<", "<<-")


def scan(text: str) -> Scan:
    """Raises UnreadableError."""
    reader = _Reader(text, 0)
    reader.read_all()
    return reader.result()


def inner_commands(text: str) -> tuple[View, ...]:
    """The commands of a text that a command of a line runs. Raises UnreadableError."""
    reader = _Reader(text, 1)
    reader.read_all()
    return reader.result().commands


def expanded_commands(text: str) -> tuple[View, ...]:
    """The commands in the substitutions of a text that the shell expands later. Raises UnreadableError."""
    if "$(" not in text and "`" not in text:
        return ()
    reader = _Reader(text, 1)
    reader.read_body()
    return reader.result().commands


def assigned_commands(text: str) -> tuple[View, ...]:
    """The commands in the value of an assignment, which a program may run later. Raises UnreadableError."""
    name, _, value = text.partition("=")
    found = expanded_commands(value)
    return (*found, *inner_commands(value)) if name in RUN_VARIABLES else found


def lone_word(text: str) -> Word | None:
    """A text as one word, or None where it is none or more."""
    try:
        return _Reader(text, 0).read_word()
    except UnreadableError:
        return None


def program(word: Word) -> str:
    """The name a command goes by, without its directory; "" when it is not known."""
    return word.text.rsplit("/", 1)[-1] if word.known else ""


class _Here(msgspec.Struct, frozen=True):
    """A here-document whose body is still to come. plain: nothing in it is replaced."""

    end: str
    tabs: bool
    plain: bool


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str, depth: int) -> None:
        if len(text) > MAX_LINE_CHARS:
            raise UnreadableError(f"it is longer than {MAX_LINE_CHARS} characters")
        if depth > MAX_DEPTH:
            raise UnreadableError(f"it is nested deeper than {MAX_DEPTH} levels")
        if "\0" in text:
            raise UnreadableError("it holds a NUL character")
        self._text = text
        self._at = 0
        self._depth = depth
        self._opened = 0
        self._word_end = -1
        self._heres: list[_Here] = []
        self._outer_heres = False
        self._commands: list[View] = []
        self._aims: list[Aim] = []
        self._fed: list[str] = []
        self._both_ways: list[int] = []
        self.odd: set[str] = set()

    def result(self) -> Scan:
        commands, aims, fed = tuple(self._commands), tuple(self._aims), tuple(self._fed)
        passes = "|" in self._text or "<(" in self._text or ">(" in self._text
        return Scan(commands, aims, frozenset(self.odd), fed, tuple(self._both_ways), passes)

    def read_all(self) -> None:
        """Commands up to the end of the text."""
        while self._at < len(self._text):
            self._list("")
            # A closing parenthesis without its opening one ends a command like any operator.
            if self._at < len(self._text):
                self.odd.add("an operator")
                self._at += 1
        if self._heres:
            raise UnreadableError("a here-document has no end")

    def read_body(self) -> None:
        """The expansions of a here-document, in which quotes mean nothing."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in "$`":
                if self._text.startswith(("${", "$((", "$["), self._at):
                    # Each of these can set a variable.
                    self.odd.add("an assignment")
                self._expansion(char, quoted=True)
            else:
                self._at += 2 if char == "\\" else 1

    def read_word(self) -> Word | None:
        """The whole text as one word, or None."""
        word = self._word()
        return word if self._at == len(self._text) else None

    # -- lists and commands --------------------------------------------------------------------

    def _list(self, closer: str) -> None:
        """Commands up to an unquoted `)`, or to the end when `closer` is empty."""
        words: list[Word] = []
        target = ""
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                if closer:
                    raise UnreadableError("a parenthesis is not closed")
                break
            char = self._text[self._at]
            if char == ")":
                break
            if (char in "<>" and not self._substitutes()) or self._text.startswith("&>", self._at):
                target = self._redirect(words)
            elif char in ";&|\n(":
                if char == "(" and words:
                    self.odd.add("a function")
                self._keep(words)
                words, target = [], ""
                self._operator(char)
            else:
                word = self._word()
                if target:
                    self._aim(target, word)
                else:
                    words = self._append(words, word)
                target = ""
        self._keep(words)

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnreadableError(f"it is nested deeper than {MAX_DEPTH} levels")

    def _skip_blanks(self) -> None:
        """Blanks, continued lines and comments."""
        while self._at < len(self._text):
            if self._text[self._at] in " \t":
                self._at += 1
            elif self._continues():
                self._skip_continuation()
            elif self._text[self._at] == "#":
                self._skip_comment()
            else:
                break

    def _operator(self, char: str) -> None:
        self.odd.add("a line break" if char == "\n" else "an operator")
        assigns = self._word_end == self._at and self._text[self._at - 1] == "="
        self._at += 1
        if char == "\n":
            self._bodies()
        elif char == "(":
            self._nested_list()
            if assigns:
                # What follows the values of an array at once is a part of the assignment.
                self._word()
        elif char == "&" and self._continues():
            raise UnreadableError("a line break splits an operator")

    def _append(self, words: list[Word], word: Word) -> list[Word]:
        if word.bare and word.text in ("{", "}"):
            self.odd.add("a group")
            self._keep(words)
            return []
        starts = not words or (words[0].bare and words[0].text in RESERVED)
        if self._opened and word.bare and word.text in _CASE and (starts or word.text == "esac"):
            # Its patterns end in a bare `)`, which only a full parser tells from the end of a substitution.
            raise UnreadableError(f"it holds `{word.text}`")
        if not words and word.bare:
            if word.text in RESERVED:
                self.odd.add(f"the reserved word `{word.text}`")
            elif ASSIGNMENT.match(word.text):
                self.odd.add("an assignment")
                if word.known and self._depth < MAX_DEPTH:
                    self._commands += assigned_commands(word.text)
                return words
        words.append(word)
        return words

    def _keep(self, words: list[Word]) -> None:
        if words:
            self._commands.append(tuple(words))

    def _nested_list(self) -> None:
        """What stands between parentheses; the position is just behind the opening one."""
        self._deepen()
        self._opened += 1
        waiting, outer = self._heres, self._outer_heres
        self._heres, self._outer_heres = [], outer or bool(waiting)
        self._list(")")
        if self._heres:
            raise UnreadableError("a here-document begins in parentheses and ends behind them")
        self._heres, self._outer_heres = waiting, outer
        self._at += 1
        self._opened -= 1
        self._depth -= 1

    def _skip_comment(self) -> None:
        self.odd.add("a comment")
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    # -- redirects and here-documents ----------------------------------------------------------

    def _substitutes(self) -> bool:
        """Whether a process substitution begins here."""
        return self._text.startswith(("<(", ">("), self._at)

    def _redirect(self, words: list[Word]) -> str:
        """A redirect operator, whose target is still to come; "" for a here-document, which is whole."""
        self.odd.add("a redirect")
        numbered = self._text[self._at] != "&" and self._word_end == self._at
        if words and words[-1].bare and numbered and _DESCRIPTOR.fullmatch(words[-1].text):
            number = words.pop()
            if not number.text.isdigit():
                self.odd.add("an assignment")
        match = _OPERATOR.match(self._text, self._at)
        if match is None:
            raise UnreadableError("a redirect has no operator")
        self._at = match.end()
        if match[0] == "<>":
            self._both_ways.append(match.start())
        if self._continues():
            raise UnreadableError("a line break splits an operator")
        if match[0] in _HERE_DOCUMENTS:
            self._here_document(tabs=match[0] == "<<-")
            return ""
        return match[0]

    def _aim(self, operator: str, word: Word) -> None:
        if operator == "<<<":
            self._fed.append(word.text)
        else:
            self._aims.append(Aim(operator, word))

    def _here_document(self, *, tabs: bool) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        start = self._at
        word = self._word()
        written = self._text[start : self._at]
        if not written or not word.known or re.search(r"[$`\n]", written):
            raise UnreadableError("the end of a here-document is not a plain word")
        self._heres.append(_Here(word.text, tabs, plain=not word.bare))

    def _bodies(self) -> None:
        """The here-documents of the line that has just ended."""
        if self._outer_heres:
            raise UnreadableError("a here-document begins before parentheses that hold a line break")
        heres, self._heres = self._heres, []
        for here in heres:
            body = self._body(here)
            self._fed.append(body)
            if here.plain:
                continue
            if "\\\n" in body:
                raise UnreadableError("a here-document joins lines")
            inner = _Reader(body, self._depth + 1)
            inner.read_body()
            self._take(inner)

    def _body(self, here: _Here) -> str:
        start = self._at
        while self._at < len(self._text):
            begin = self._at
            end = self._text.find("\n", begin)
            end = len(self._text) if end < 0 else end
            self._at = end + 1
            line = self._text[begin:end]
            line = line.lstrip("\t") if here.tabs else line
            if line == here.end:
                self._at = min(self._at, len(self._text))
                return self._text[start:begin]
            if self._opened and line.startswith(here.end):
                raise UnreadableError("a line begins with the end of a here-document")
        raise UnreadableError("a here-document has no end")

    def _take(self, inner: _Reader) -> None:
        self._commands += inner._commands
        self._aims += inner._aims
        self._fed += inner._fed
        self.odd |= inner.odd

    # -- words ---------------------------------------------------------------------------------

    def _word(self) -> Word:
        """One word, quotes taken off; the position is at its first character."""
        start = self._at
        pieces: list[str] = []
        known = bare = sure = True
        braces = False
        while self._at < len(self._text):
            char = self._text[self._at]
            if self._substitutes():
                self._at += 2
                self.odd.add("an expansion")
                self._nested_list()
                known = bare = False
                continue
            if char in " \t\n;&|()<>":
                break
            if self._continues():
                self._skip_continuation()
                continue
            if char in "'\"\\":
                piece, certain = self._quoted(char)
                bare = False
            elif char in "$`":
                bare = bare and not self._text.startswith("$'", self._at)
                piece, certain = self._expansion(char)
            else:
                piece, certain = char, self._plain(char)
                braces = braces or char == "{"
                sure = sure and self._stands_for_itself(char, first=not pieces)
                self._at += 1
            pieces.append(piece)
            known = known and certain
        if (self._heres or self._outer_heres) and "\n" in self._text[start : self._at]:
            raise UnreadableError("a here-document begins before a word that holds a line break")
        self._word_end = self._at
        text = "".join(pieces)
        known = (known or (bare and text in _BRACKETS)) and not (braces and _expands(text))
        return Word(text, known, bare, known and sure)

    def _continues(self) -> bool:
        """Whether a line goes on here as if the break were not there."""
        return self._text.startswith("\\\n", self._at)

    def _skip_continuation(self) -> None:
        self.odd.add("a continued line")
        self._at += 2

    def _plain(self, char: str) -> bool:
        """Whether the text of an unquoted character is known."""
        if char in "*?[":
            self.odd.add("a wildcard")
            return False
        return True

    def _stands_for_itself(self, char: str, *, first: bool) -> bool:
        if char in "{}":
            self.odd.add("a brace")
        elif char == "~" and (first or self._text[self._at - 1] in "=:"):
            self.odd.add("a tilde")
            return False
        elif not char.isprintable() or char.isspace():
            self.odd.add(f"the character U+{ord(char):04X} outside of quotes")
            return False
        return True

    def _quoted(self, quote: str) -> tuple[str, bool]:
        if quote == "\\":
            return self._escaped(), True
        self._at += 1
        if quote == '"':
            return self._double_quoted()
        end = self._text.find("'", self._at)
        if end < 0:
            raise UnreadableError("a single quote is not closed")
        piece = self._text[self._at : end]
        self._at = end + 1
        return piece, True

    def _escaped(self) -> str:
        if self._at + 1 >= len(self._text):
            raise UnreadableError("it ends in a backslash")
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
                piece = self._escaped()
            else:
                piece = char
                self._at += 1
            pieces.append(piece)
        raise UnreadableError("a double quote is not closed")

    # -- expansions ----------------------------------------------------------------------------

    def _expansion(self, char: str, *, quoted: bool = False) -> tuple[str, bool]:
        """A `$` or a backtick: the commands inside are read, the text that results is not known."""
        start = self._at
        self._at += 1
        if char == "$" and self._continues():
            raise UnreadableError("a line break splits an expansion")
        if char == "`":
            self._backticks()
        elif end := arithmetic_end(self._text, self._at):
            self._at = end
        elif self._text.startswith("(", self._at):
            self._at += 1
            self._nested_list()
        elif self._text.startswith("{", self._at):
            self._at += 1
            self._parameter(quoted=quoted)
        elif self._text.startswith("'", self._at) and not quoted:
            return self._ansi_quoted(start)
        elif not (_QUOTED_DOLLAR if quoted else _DOLLAR).match(self._text, self._at):
            self.odd.add("a dollar sign")
            return "$", True
        self.odd.add("an expansion")
        return self._text[start : self._at], False

    def _parameter(self, *, quoted: bool) -> None:
        """A `${...}`; the position is behind its brace. Blanks, operators and comments mean nothing in it."""
        if self._text[self._at : self._at + 1] in (" ", "\t", "\n", "|", ""):
            raise UnreadableError("a `${` runs commands")
        self._deepen()
        start = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "}":
                if self._text.endswith("@P", start, self._at):
                    raise UnreadableError("a `${...@P}` runs what its value holds")
                self._at += 1
                self._depth -= 1
                return
            if self._substitutes():
                self._at += 2
                self._nested_list()
            elif char in "$`":
                self._expansion(char, quoted=quoted)
            elif char in "'\"\\":
                if char == "'" and quoted:
                    # Whether it quotes depends on the operator before it.
                    raise UnreadableError("a single quote stands in a quoted `${...}`")
                self._quoted(char)
            else:
                self._at += 1
        raise UnreadableError("a `${` is not closed")

    def _ansi_quoted(self, start: int) -> tuple[str, bool]:
        from remit.policy.shell_ansi import decoded

        match = re.compile(r"'(?:\\.|[^'\\])*'", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise UnreadableError("a single quote is not closed")
        self._at = match.end()
        text = decoded(match[0][1:-1])
        if text is None:
            self.odd.add("an expansion")
            return self._text[start : self._at], False
        return text, True

    def _backticks(self) -> None:
        match = re.compile(r"((?:\\.|[^`\\])*)`", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise UnreadableError("a backtick is not closed")
        inner = _Reader(re.sub(r"\\([`$\\])", r"\1", match[1]), self._depth + 1)
        inner.read_all()
        self._take(inner)
        self._at = match.end()


def _expands(text: str) -> bool:
    """Whether the shell may make several words of a text with braces."""
    inside = text[text.find("{") + 1 : max(text.rfind("}"), 0)]
    return "," in inside or ".." in inside
