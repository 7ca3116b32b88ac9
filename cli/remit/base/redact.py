"""Secrets out of what is written down: by value, by the name they stand under, by their shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

REDACTED = "[redacted]"

MIN_VALUE_CHARS = 8
"""A shorter value is not searched for: placeholders such as `none` or `EMPTY` are words of the language."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:(?:api|auth|service|account|db|database|priv|private|client|access|secret|signing)_?key"
    r"|(?:db|database|key)_?pass|password|passwd|pwd|secret|token|credentials?|bearer|(?:set_)?cookie"
    r"|session|dsn|connection_?string|(?:proxy_)?authorization)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_SHAPES = re.compile(
    r"(?P<scheme>\bBearer\s+)(?=\S*\d)[A-Za-z0-9._~+/=-]{8,}"
    r"|(?P<user>://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\bxox[abpr]-[A-Za-z0-9-]{10,}",
    re.ASCII,
)


def is_secret_name(name: str) -> bool:
    """Whether a key, header or variable of this name holds a secret. `max_tokens` and `session_id` do not."""
    return _SECRET_NAME.search(_CAMEL.sub("_", name).replace("-", "_").lower()) is not None


class Redactor:
    """values: the secrets that were read in this process. Applying it twice changes nothing more."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        wanted = {value for value in values if len(value) >= MIN_VALUE_CHARS}
        # A secret also hides in its JSON spelling, where quotes and backslashes are escaped.
        wanted |= {json.dumps(value)[1:-1] for value in wanted}
        longest_first = sorted(wanted, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The text without secret values and without what has the shape of a key."""
        if self._values is not None:
            text = self._values.sub(REDACTED, text)
        return _SHAPES.sub(_replace_shape, text)

    def data(self, value: Any) -> Any:
        """JSON builtins without secrets: texts as in `text`, and each string that stands under a
        secret's name. A text that is itself a JSON object or array is looked into; it stays as it
        was spelled when there is nothing to hide."""
        if isinstance(value, str):
            return self._nested(value)
        if isinstance(value, dict):
            return {key: self._entry(key, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value

    def _entry(self, key: Any, item: Any) -> Any:
        if item and isinstance(item, str) and isinstance(key, str) and is_secret_name(key):
            return REDACTED
        return self.data(item)

    def _nested(self, text: str) -> str:
        if text[:1] in ("{", "["):
            try:
                inner = json.loads(text)
                cleaned = self.data(inner)
            except (ValueError, RecursionError):
                return self.text(text)
            if cleaned != inner:
                # As compact as a tool's own result: what is cleaned and spelled again stays as it is.
                return json.dumps(cleaned, ensure_ascii=False, separators=(",", ":"))
        return self.text(text)


def _replace_shape(found: re.Match[str]) -> str:
    return f"{found['scheme'] or found['user'] or ''}{REDACTED}"


MIN_KEY_CHARS = 16
"""A shorter key is a placeholder that people write for servers that take any: it may be a word of the texts."""


class KeyGuard:
    """Keeps the keys of model providers out of whatever a run writes, tells and sends. Unlike a Redactor
    it looks for nothing else, because a run's own texts must reach the model as they are."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: set[str] = set()
        self._in_text: re.Pattern[str] | None = None
        self._in_json: re.Pattern[bytes] | None = None
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """One more key, such as one that was renewed on the way."""
        if len(key) >= MIN_KEY_CHARS and key not in self._keys:
            self._keys.add(key)
            longest_first = sorted(self._keys, key=len, reverse=True)
            self._in_text = re.compile("|".join(map(re.escape, longest_first)))
            spelled = (re.escape(json.dumps(each)[1:-1].encode()) for each in longest_first)
            self._in_json = re.compile(b"|".join(spelled))

    @property
    def active(self) -> bool:
        return self._in_json is not None

    def finds(self, line: bytes) -> bool:
        """Whether a key stands in this JSON."""
        return self._in_json is not None and self._in_json.search(line) is not None

    def clean(self, value: Any) -> Any:
        """A Struct without the keys in any of its texts."""
        return msgspec.convert(self._cleaned(msgspec.to_builtins(value)), type(value))

    def data(self, value: Any) -> Any:
        """JSON builtins without the keys in any of their texts."""
        return self._cleaned(value)

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._in_text.sub(REDACTED, value) if self._in_text is not None else value
        if isinstance(value, dict):
            return {self._cleaned(key): self._cleaned(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._cleaned(item) for item in value]
        return value
