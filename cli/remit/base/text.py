"""Text that stays whole: no lone surrogates, no cut characters."""

from __future__ import annotations

import unicodedata
from datetime import date, time
from typing import Any


def scrub(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD; the same object when there is none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # A surrogate pair written as two escapes is one character; what is left alone is not text.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_name(name: str) -> str:
    """A name as model providers take those of tools: other characters than letters, digits, `-` and `_` become `_`.
    `*` stays, as patterns of names are made plain too."""
    return "".join(each if each in "-_*" or (each.isascii() and each.isalnum()) else "_" for each in name)


def scrub_tree(value: Any) -> Any:
    """A value of JSON builtins with every text in it scrubbed, keys included."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub_tree(key): scrub_tree(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub_tree(item) for item in value]
    return value


# Bidirectional controls reorder what a reader sees; the rest of these move the cursor or end a line.
_HIDDEN = frozenset("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def visible(text: str, keep: str = "") -> str:
    """Untrusted text for a terminal: controls, separators and lone surrogates as escapes (`\\x1b`,
    `\\u202e`). keep: control characters to leave alone, such as "\\n"."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep else _shown(char) for char in text)


def _shown(char: str) -> str:
    if char in _HIDDEN or unicodedata.category(char) in {"Cc", "Cs"}:
        return char.encode("unicode_escape").decode("ascii")
    return char


def _safe_end(text: str, end: int) -> int:
    """The nearest cut at or before `end` that does not split a base character from what modifies it."""
    while 0 < end < len(text):
        here, before = text[end], text[end - 1]
        joined = unicodedata.combining(here) or here in "\u200d\ufe0e\ufe0f" or before == "\u200d"
        if not (joined or "\U0001f3fb" <= here <= "\U0001f3ff"):
            break
        end -= 1
    return end


def head(text: str, max_bytes: int) -> str:
    """The longest start of `text` of at most `max_bytes` UTF-8 bytes that ends on a whole character."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    kept = raw[: max(0, max_bytes)].decode("utf-8", "ignore")
    return text[: _safe_end(text, len(kept))]


def tail(text: str, max_bytes: int) -> str:
    """The longest end of `text` of at most `max_bytes` UTF-8 bytes that starts on a whole character."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    kept = raw[len(raw) - max(0, max_bytes) :].decode("utf-8", "ignore")
    start = len(text) - len(kept)
    while start < len(text) and _safe_end(text, start) != start:
        start += 1
    return text[start:]


def clip(text: str, max_bytes: int) -> tuple[str, int]:
    """Head and tail of `text` within `max_bytes`, and how many UTF-8 bytes were left out (0: none)."""
    size = len(text.encode("utf-8", "replace"))
    if size <= max_bytes:
        return text, 0
    room = max(0, max_bytes - 80)
    first, last = head(text, room * 2 // 3), tail(text, room // 3)
    cut = size - len(first.encode("utf-8", "replace")) - len(last.encode("utf-8", "replace"))
    return f"{first}\n[... {cut} bytes left out ...]\n{last}", cut


def shorten(value: object, width: int = 60) -> str:
    """A value on one line for a message: as files have it, else its repr, cut in the middle to `width`
    characters."""
    shown = _spelled(value)
    if len(shown) <= width:
        return shown
    keep = width - 3
    return f"{shown[: keep * 2 // 3]}...{shown[-(keep // 3) :]}"


def _spelled(value: object) -> str:
    """Truth values, null, dates and times as TOML, YAML and JSON write them, all else as Python does."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (date, time)):
        return value.isoformat().replace("+00:00", "Z")
    return repr(value)
