"""Arithmetic in a command line: `$((1 << 2))`, told from a substitution that begins with a subshell."""

from __future__ import annotations

from remit.base.lazy_pattern import lazy_pattern

_PIECE = lazy_pattern(r"[0-9A-Za-z_+*/%<>=!&|^~?:, \t-]+|[()]|\$(?=[A-Za-z_])")
_TWO_WORDS = lazy_pattern(r"[0-9A-Za-z_][ \t]+[$0-9A-Za-z_]")


def arithmetic_end(text: str, start: int) -> int:
    """Where the arithmetic ends whose parentheses open at `start`, or 0 where that may be something else.

    A shell takes `$((` for arithmetic where its parentheses pair up. Only what no list of commands looks like is
    taken for it here: numbers, names and operators, and no two words beside one another."""
    if not text.startswith("((", start):
        return 0
    depth, at = 0, start + 2
    while match := _PIECE.match(text, at):
        if match[0] == ")" and not depth:
            ends = text.startswith("))", at) and not _TWO_WORDS.search(text, start, at)
            return at + 2 if ends else 0
        depth += (match[0] == "(") - (match[0] == ")")
        at = match.end()
    return 0
