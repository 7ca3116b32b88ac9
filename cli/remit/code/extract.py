"""One source file in, its facts out.

A language's queries say what is what by the names of their captures; a match holds one of

    @definition.KIND  the definition; @name its name (several: from the first to the last; none: its first line);
                      and perhaps
                      @span  where decorators and the like belong to it: the wider node
                      @end   what follows the node and ends it: a body that the grammar sets beside it
                      @doc   its documentation, where that is no comment above it
                      @decorator
                             all of them, in order, within @span or beside it: the outline tells them
                      @owner the type that it belongs to, named elsewhere (a receiver, a qualifier)
                      @exported, @test, @declared  present where it is
                      @lent  present where it is what the module lends by default
    @reference.KIND   a mention of another definition, KIND of `facts.Reference`; @name; perhaps @qualifier
                      (several: from the first to the last), and @next:
                      what must follow the name at once; @lender: a qualifier that counts only where it is a type or a
                      module by its looks, capital or imported
    @import           @module; perhaps @name, @alias; @all for all its names, @default for the one it lends by default.
                      A module alone counts where no other match names the same mention of it
    @import.own       what the file itself has under @name and lends as @alias, without one by default
    @import.text      an import that `imports.READERS` reads by its text
    @local            a name that the definition around it binds: a parameter, a variable. It hides others
    @typed            a name whose type is told where it is bound, with @type: declared, or made by calling @type
    @documentation    documentation of the file itself; @documentation.above: what it stands right above
    @name             with any of @span, @doc, @decorator, @owner, @exported, @test, @declared, @lent, @returns and
                      nothing of the above: they belong to the definition of that name, whichever pattern defines it

A definition may also have a @receiver: the name by which it calls its own object, `self` in its references.
What lies in an import is no reference. What lies in a test is of the tests, what variables lie in a function are its
own. Where several patterns match the same name or the same definition, the one that is written first speaks. A capture
that begins with `_` is for predicates alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING

from remit.code.facts import Facts
from remit.code.grammars import Patterns, Queries, grammar, queries
from remit.code.languages import Language, by_content
from remit.code.macros import without_macros
from remit.code.outer import fits, outer_matches
from remit.code.reading import Captures, Reading

if TYPE_CHECKING:
    from tree_sitter import QueryCursor, Tree

MAX_SECONDS = 2.0
"""For parsing one file, of processor time: what else the machine does is no fault of the file's."""

_CLOCK_EVERY = 32
"""Questions of the parser whether to go on; it has thousands for a megabyte, and a look at the clock is not free."""

_CHUNK = 1 << 16
_NAME_CHUNK = 1 << 8
_MATCH_LIMIT = 4096


class OutOfTime(Exception):
    """The deadline of a file passed."""


def extract(language: Language, source: bytes, seconds: float = MAX_SECONDS, mentions: bool = True) -> Facts:
    """The facts of a file, none where it cannot be parsed within `seconds`. mentions: also what refers to what, which
    is most of the work. Raises nothing for what a file holds, but runs in a process that may be killed for it
    (`worker`): parsers are native code."""
    if b"\n" not in source:
        source = source.replace(b"\r", b"\n")
    language = by_content(language, source)
    facts = Facts(language.name, lines=source.count(b"\n") + (not source.endswith(b"\n") and bool(source)))
    readable = without_macros(language.name, source)
    try:
        tree = _parse(language, readable, time.thread_time() + seconds)
    except OutOfTime:
        facts.cut = "time"
        return facts
    facts.broken = tree.root_node.has_error
    asked = queries(language, mentions)
    found = _matches(asked, tree) if mentions else _outer(language, asked, tree, readable, facts.lines)
    Reading(language, source, readable, facts).take(found, asked.labels)
    if facts.cut == "minified" and mentions:
        # Names of one letter: among those of others they are noise.
        facts.definitions, facts.imports = [], []
    return facts


def _parse(language: Language, source: bytes, deadline: float) -> Tree:
    from tree_sitter import Parser

    parser = Parser(grammar(language.grammar))
    chunk = _CHUNK

    def piece(offset: int, _: object) -> bytes:
        return source[offset : offset + chunk]

    turns = count(1)
    try:
        # Read piece by piece: for bytes as a whole the parser never asks for the time.
        tree = parser.parse(
            piece, progress_callback=lambda *_: not next(turns) % _CLOCK_EVERY and time.thread_time() > deadline
        )
    except ValueError:
        raise OutOfTime from None
    # From now on it is asked for the names that predicates of queries look at, one by one.
    chunk = _NAME_CHUNK
    return tree


def _matches(asked: Queries, tree: Tree) -> list[tuple[int, Captures]]:
    return [*_at_root(asked.top, tree), *_numbered(asked.inner, _cursor(asked.inner).matches(tree.root_node))]


def _outer(language: Language, asked: Queries, tree: Tree, source: bytes, lines: int) -> list[tuple[int, Captures]]:
    """Those that an outline tells."""
    inner = asked.inner
    if not fits(language.name, inner.query, source, lines):
        return _matches(asked, tree)
    labels = [asked.labels[number] for number in inner.numbers]
    found = outer_matches(language.name, source, inner.query, tree.root_node, labels, _MATCH_LIMIT)
    return [*_at_root(asked.top, tree), *_numbered(inner, found)]


def _at_root(top: Patterns, tree: Tree) -> Iterator[tuple[int, Captures]]:
    cursor = _cursor(top)
    cursor.set_max_start_depth(0)
    return _numbered(top, cursor.matches(tree.root_node))


def _cursor(patterns: Patterns) -> QueryCursor:
    # The cursor of tree-sitter 0.26.1 crashes when it is given a clock: whoever runs this bounds it from outside.
    from tree_sitter import QueryCursor

    return QueryCursor(patterns.query, match_limit=_MATCH_LIMIT)


def _numbered(patterns: Patterns, found: Iterable[tuple[int, Captures]]) -> Iterator[tuple[int, Captures]]:
    return ((patterns.numbers[pattern], captures) for pattern, captures in found)
