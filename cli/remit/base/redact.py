"""Secrets out of what is written down: by value, by the name they stand under, by their shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

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
            except (ValueError, RecursionError):
                return self.text(text)
            cleaned = self.data(inner)
            if cleaned != inner:
                return json.dumps(cleaned, ensure_ascii=False)
        return self.text(text)


def _replace_shape(found: re.Match[str]) -> str:
    return f"{found['scheme'] or found['user'] or ''}{REDACTED}"
