"""The text of `$'...'`."""

from __future__ import annotations

import re

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})"
    r"|(?:u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8}))|(?P<simple>.))",
    re.DOTALL,
)


def decoded(body: str) -> str | None:
    """What stands between the quotes, escapes undone; None where that depends on more than the text."""
    pieces: list[str] = []
    at = 0
    for match in _ESCAPE.finditer(body):
        char = _char(match)
        if char is None:
            return None
        pieces += [body[at : match.start()], char]
        at = match.end()
    return "".join([*pieces, body[at:]])


def _char(match: re.Match[str]) -> str | None:
    if match["simple"] is not None:
        return _SIMPLE.get(match["simple"])
    digits = match["hex"] or match["short"] or match["long"]
    code = int(digits, 16) if digits else int(match["octal"], 8)
    # A NUL ends the text, and what is no ASCII depends on the locale.
    return chr(code) if 0 < code < 128 else None
