"""The second reading of a command line, by the grammar of tree-sitter.

It confirms what the scan has seen. A line whose structure it cannot make out, or that changes what later
words mean (assignments, functions, loops over names), is `blocked`: its commands are still seen, and none of
them is surely what it looks like. Loaded only for lines that are more than one simple command.
"""

from __future__ import annotations

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
    while_statement do_group redirected_statement command_substitution process_substitution herestring_redirect
    heredoc_redirect heredoc_body"""
)
"""What changes nothing about the commands inside."""

_WORDS = _named(
    """word string raw_string ansi_c_string translated_string concatenation number string_content variable_name
    special_variable_name simple_expansion expansion brace_expression arithmetic_expansion regex comment
    command_name heredoc_start heredoc_end heredoc_content file_descriptor"""
)
"""What is a word or a part of one. Those that are not surely known are told by the words of the scan."""


_HARMLESS = _OPEN | _WORDS


class Reading(msgspec.Struct, frozen=True):
    """What the grammar makes of a line. commands: with how many of each. blocked: see above."""

    commands: Counter[View]
    aims: tuple[Aim, ...]
    blocked: bool


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

    def run(self, root: Node) -> Reading:
        pending = [root]
        while pending:
            node = pending.pop()
            self._visit(node)
            pending += node.children
        return Reading(self._commands, tuple(self._aims), self._blocked)

    def _visit(self, node: Node) -> None:
        if not node.is_named:
            return
        if node.type == "command":
            self._command(node)
        elif node.type == "file_redirect":
            self._redirect(node)
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

    def _redirect(self, node: Node) -> None:
        operator = next((each.type for each in node.children if not each.is_named), "")
        targets = _words(node.children_by_field_name("destination")[:1])
        if targets is None or not operator:
            self._blocked = True
        else:
            self._aims += [Aim(operator, word) for word in targets]


def _is_arithmetic(node: Node) -> bool:
    return node.type == "compound_statement" and node.child_count > 0 and node.children[0].type == "(("


def _words(nodes: list[Node]) -> View | None:
    words: list[Word] = []
    for node in nodes:
        word = lone_word((node.text or b"").decode())
        if word is None:
            return None
        words.append(word)
    return tuple(words)
