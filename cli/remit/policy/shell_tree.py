"""The second reading of a command line, by the grammar of tree-sitter.

It confirms what the scan has seen. A line whose structure it cannot make out, or that changes what later
words mean (assignments, functions), is `blocked`: its commands are still seen, and none of them is surely
what it looks like. Loaded only for lines that are more than one simple command.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from remit.policy.shell_scan import Aim, View, Word, lone_word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

CPU_SECONDS = 0.02
CPU_SECONDS_PER_KIB = 0.02
"""The grammar takes quadratic time over some broken lines; a line that takes longer is not made out."""


def _named(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPEN = _named(
    """program list pipeline subshell compound_statement negated_command if_statement elif_clause else_clause
    while_statement do_group case_item redirected_statement command_substitution process_substitution
    herestring_redirect heredoc_redirect heredoc_body"""
)
"""What changes nothing about the commands inside."""

_WORDS = _named(
    """word string raw_string ansi_c_string translated_string concatenation number string_content variable_name
    special_variable_name simple_expansion expansion brace_expression arithmetic_expansion regex comment
    command_name extglob_pattern heredoc_start heredoc_end heredoc_content file_descriptor"""
)
"""What is a word or a part of one. Those that are not surely known are told by the words of the scan."""


_HARMLESS = _OPEN | _WORDS


_LOOP_NAME = re.compile(r"(?!.*_proxy$)[a-z_][a-z0-9_]*")
"""A name that changes nothing when a loop sets it: what shells and programs go by is in capitals, but for a few."""

_SPECIAL_NAMES = _named("histchars auto_resume")
_EXPANSION = re.compile(r"\$(?![A-Za-z_0-9@*#?])|`")
"""What may be more than the value of a variable: that may be reckoned with, which runs what is in it."""


class Head(msgspec.Struct, frozen=True):
    """The start of a `for` or a `case`, which is no command. pattern: the first one of a case, () of a loop; it
    stands behind the words, or on a line of its own."""

    words: View
    pattern: View = ()


class Reading(msgspec.Struct, frozen=True):
    """What the grammar makes of a line. commands: with how many of each. heads: of its loops and cases. rest:
    the other words that look like commands and are none. blocked: see above."""

    commands: Counter[View]
    aims: tuple[Aim, ...]
    blocked: bool
    heads: tuple[Head, ...] = ()
    rest: Counter[View] = Counter()


def read_tree(line: str) -> Reading:
    """Never raises for a text that has a UTF-8 form."""
    tree = _parsed(line.encode())
    return _Walk().run(tree) if tree is not None else Reading(Counter(), (), blocked=True)


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _parsed(text: bytes) -> Node | None:
    parser = _parser()
    end = time.thread_time() + CPU_SECONDS + CPU_SECONDS_PER_KIB * len(text) / 1024
    try:
        tree = parser.parse(
            lambda offset, point: text[offset : offset + 65536],
            progress_callback=lambda offset, broken: broken or time.thread_time() > end,
        )
    except ValueError:
        parser.reset()
        return None
    root = tree.root_node
    return None if root.has_error else root


class _Walk:
    def __init__(self) -> None:
        self._commands: Counter[View] = Counter()
        self._aims: list[Aim] = []
        self._blocked = False
        self._heads: list[Head] = []
        self._rest: Counter[View] = Counter()

    def run(self, root: Node) -> Reading:
        pending = [root]
        while pending:
            node = pending.pop()
            self._visit(node)
            pending += node.children
        return Reading(self._commands, tuple(self._aims), self._blocked, tuple(self._heads), self._rest)

    def _visit(self, node: Node) -> None:
        if not node.is_named:
            return
        if node.type == "command":
            self._command(node)
        elif node.type == "file_redirect":
            self._redirect(node)
        elif node.type == "for_statement":
            self._loop(node)
        elif node.type == "case_statement":
            self._case(node)
        elif node.type not in _HARMLESS or _is_arithmetic(node):
            self._blocked = True

    def _command(self, node: Node) -> None:
        written = [*node.children_by_field_name("name"), *node.children_by_field_name("argument")]
        parent = node.parent
        if parent is not None and parent.type == "redirected_statement":
            # The grammar takes words behind the target of a redirect for more targets.
            for redirect in parent.children_by_field_name("redirect"):
                if redirect.start_byte > node.start_byte:
                    written += redirect.children_by_field_name("destination")[1:]
                    written += redirect.children_by_field_name("argument")
        words = _words(written)
        if words is None:
            self._blocked = True
        elif words:
            self._commands[words] += 1

    def _loop(self, node: Node) -> None:
        kinds = [each.type for each in node.children]
        names = [each.text or b"" for each in node.children_by_field_name("variable")]
        values = _plain_words(node.children_by_field_name("value"))
        if kinds[:1] != ["for"] or values is None or len(names) != 1 or not _is_loop_name(names[0].decode()):
            self._blocked = True
            return
        behind = (Word("in"), *values) if "in" in kinds else ()
        self._heads.append(Head((Word("for"), Word(names[0].decode()), *behind)))

    def _case(self, node: Node) -> None:
        items = [each for each in node.children if each.type == "case_item"]
        value = _plain_words(node.children_by_field_name("value"))
        patterns = _plain_words([each for item in items for each in item.children_by_field_name("value")])
        if value is None or len(value) != 1 or not patterns:
            self._blocked = True
            return
        self._heads.append(Head((Word("case"), *value, Word("in")), patterns[:1]))
        self._rest += Counter((each,) for each in patterns[1:])
        self._rest[(Word("esac"),)] += 1

    def _redirect(self, node: Node) -> None:
        operator = next((each.type for each in node.children if not each.is_named), "")
        targets = _words(node.children_by_field_name("destination")[:1])
        if targets is None or not operator:
            self._blocked = True
        else:
            self._aims += [Aim(operator, word) for word in targets]


def _is_arithmetic(node: Node) -> bool:
    return node.type == "compound_statement" and node.child_count > 0 and node.children[0].type == "(("


def _is_loop_name(name: str) -> bool:
    return _LOOP_NAME.fullmatch(name) is not None and name not in _SPECIAL_NAMES


def _plain_words(nodes: list[Node]) -> View | None:
    """Words that are data: known, or made of wildcards and the values of variables."""
    words = _words(nodes)
    if words is None or any(not word.known and _EXPANSION.search(word.text) for word in words):
        return None
    return words


def _words(nodes: list[Node]) -> View | None:
    words: list[Word] = []
    for node in nodes:
        word = lone_word((node.text or b"").decode())
        if word is None:
            return None
        words.append(word)
    return tuple(words)
