"""Secrets out of what is written down: by value, by the name they stand under, by their shape."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any

import msgspec

from remit.base.lazy_pattern import lazy_pattern

REDACTED = "[redacted]"

MIN_VALUE_CHARS = 8
"""A shorter value is not searched for: placeholders such as `none` or `EMPTY` are words of the language."""

_NO_SECRETS = frozenset({"PWD", "OLDPWD"})
"""Variables that sound like secrets. Each shell sets them."""

_SECRET_NAME = lazy_pattern(
    r"(?:^|_)(?:(?:api|auth|service|account|db|database|priv|private|client|access|secret|signing)_?key"
    r"|(?:db|database|key)_?pass|password|passwd|pwd|secret|token|credentials?|bearer|(?:set_)?cookie"
    r"|session|dsn|connection_?string|(?:proxy_)?authorization)$"
)
_CAMEL = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")

_SHAPES = lazy_pattern(
    r"(?P<scheme>\bBearer\s+)(?=\S*\d)[A-Za-z0-9._~+/=-]{8,}"
    r"|(?P<user>://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\bxox[abpr]-[A-Za-z0-9-]{10,}",
    re.ASCII,
)

_STRING = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = lazy_pattern(
    rf"(?P<name>{_STRING})(?P<colon>\s*+:\s*+)(?P<value>{_STRING})?|(?P<string>{_STRING})|(?P<number>-?\d[\d.eE+-]*+)",
    re.DOTALL,
)
"""The strings and numbers of a JSON text, a string together with the name it stands under."""


def is_secret_name(name: str) -> bool:
    """Whether a key, header or variable of this name holds a secret. `max_tokens` and `session_id` do not,
    nor does `PWD`."""
    if name in _NO_SECRETS:
        return False
    return _SECRET_NAME.search(_CAMEL.sub("_", name).replace("-", "_").lower()) is not None


def secrets_of(environ: Mapping[str, str], names: Iterable[str] = (), known: Iterable[str] = ()) -> list[str]:
    """The values of these variables and of all whose names are those of secrets, but for those that can be
    none: an absolute path that exists, and what is part of a `known` text, such as the workspace."""
    wanted = frozenset(names)
    texts = [text for text in known if len(text) >= MIN_VALUE_CHARS]
    found = [value for name, value in environ.items() if name in wanted or is_secret_name(name)]
    return [value for value in found if not _is_place(value) and not any(value in text for text in texts)]


def _is_place(value: str) -> bool:
    return value.startswith("/") and "\0" not in value and os.path.exists(value)


# -- values, however they are spelled ---------------------------------------------------------------

MAX_SPELLED_CHARS = 1024
"""Of longer values only the usual spellings are known."""

_SHORT = {'"': '"', "/": "/", "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_SLASHES = r"\\(?:\\|u005[cC]){0,15}"
"""A backslash as JSON in JSON spells it, up to four texts deep."""


class Values:
    """Finds values in texts also where JSON, or JSON in JSON, spells them with escapes. What is hidden
    already is not looked at again."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = sorted({value for value in values if not _marks(value)}, key=len, reverse=True)
        odd = any(not value.isascii() or not value.isprintable() or set(value) & set('"\\/') for value in self._values)
        # An ASCII character of a key can be spelled in another way only as \u00XX.
        self._sign = "\\" if odd else "\\u00"

    def __bool__(self) -> bool:
        return bool(self._values)

    @cached_property
    def _raw(self) -> list[bytes]:
        return [value.encode("utf-8", "surrogatepass") for value in self._values]

    @cached_property
    def _spelled(self) -> re.Pattern[str]:
        return re.compile("|".join([re.escape(REDACTED), *map(_spellings, self._values)]))

    def found_in(self, text: str) -> bool:
        if not self._values:
            return False
        return any(value in text for value in self._values) or (self._sign in text and self._is_spelled_in(text))

    def found_in_json(self, line: bytes) -> bool:
        """The same of JSON in bytes, UTF-8."""
        if not self._values:
            return False
        if any(raw in line for raw in self._raw):
            return True
        return self._sign.encode() in line and self._is_spelled_in(line.decode("utf-8", "replace"))

    def hide(self, text: str) -> str:
        """The text without them. All else keeps its spelling, so that JSON stays the JSON it was."""
        return self._spelled.sub(REDACTED, text) if self.found_in(text) else text

    def _is_spelled_in(self, text: str) -> bool:
        return any(found[0] != REDACTED for found in self._spelled.finditer(text))


def _marks(value: str) -> bool:
    """Whether it cannot be told from the mark that stands where something was hidden."""
    return not value or value in REDACTED or REDACTED in value


def _spellings(value: str) -> str:
    """A pattern of all spellings of a value."""
    if len(value) > MAX_SPELLED_CHARS:
        once = json.dumps(value)[1:-1]
        return "|".join(re.escape(each) for each in dict.fromkeys((json.dumps(once)[1:-1], once, value)))
    return "".join(_spelled(char, len(list(run))) for char, run in groupby(value))


def _spelled(char: str, times: int) -> str:
    if char == "\\":
        return rf"(?:\\(?:\\|u005[cC]){{{times - 1},{16 * times}}})"
    units = char.encode("utf-16-be", "surrogatepass")
    code = "".join(f"{_SLASHES}u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2))
    short = rf"|\\{{1,16}}{_SHORT[char]}" if char in _SHORT else ""
    one = f"(?:{re.escape(char)}{short}|{code})"
    return one if times == 1 else f"{one}{{{times}}}"


# -- all kinds of secrets ---------------------------------------------------------------------------


class Redactor:
    """values: the secrets that were read in this process. Applying it twice changes nothing more."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = Values(value for value in values if len(value) >= MIN_VALUE_CHARS)

    def text(self, text: str) -> str:
        """The text without secret values and without what has the shape of a key."""
        return _SHAPES.sub(_replace_shape, self._values.hide(text))

    def data(self, value: Any) -> Any:
        """JSON builtins without secrets: texts as in `text`, and each string that stands under a secret's
        name. A text that is itself a JSON object or array is looked into; all of it that is not hidden
        stays as it was spelled."""
        if isinstance(value, str):
            return self._nested(value)
        if isinstance(value, dict):
            return {self._key(key): self._entry(key, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value

    def _key(self, key: Any) -> Any:
        """A word is the name of a field, whatever else it may be."""
        if not isinstance(key, str) or key.replace("_", "").isalpha():
            return key
        return self._values.hide(key)

    def _entry(self, key: Any, item: Any) -> Any:
        if item and isinstance(item, str) and isinstance(key, str) and is_secret_name(key):
            return REDACTED
        return self.data(item)

    def _nested(self, text: str) -> str:
        if text.lstrip()[:1] not in ("{", "["):
            return self.text(text)
        cleaned = _TOKEN.sub(self._token, text)
        # What is no JSON is not all tokens.
        return cleaned if _is_json(text) else self.text(cleaned)

    def _token(self, found: re.Match[str]) -> str:
        if found["number"] is not None:
            return f'"{REDACTED}"' if self._values.found_in(found["number"]) else found[0]
        if found["string"] is not None:
            return self._string(found["string"])
        name, value = found["name"], found["value"] or ""
        if len(value) > 2 and is_secret_name(_decoded(name)):
            value = f'"{REDACTED}"'
        return f"{self._name(name)}{found['colon']}{self._string(value) if value else ''}"

    def _name(self, token: str) -> str:
        inner = _decoded(token)
        cleaned = self._key(inner)
        return token if cleaned == inner else _encoded(cleaned)

    def _string(self, token: str) -> str:
        """A string of a JSON text, spelled anew only where something in it is hidden."""
        inner = _decoded(token)
        cleaned = self._nested(inner)
        return token if cleaned == inner else _encoded(cleaned)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _decoded(token: str) -> str:
    """What a string of a JSON text means; "" where it is none."""
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return ""


def _encoded(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def _replace_shape(found: re.Match[str]) -> str:
    return f"{found['scheme'] or found['user'] or ''}{REDACTED}"


# -- keys of models ---------------------------------------------------------------------------------

MIN_KEY_CHARS = 8
MIN_WORDS_CHARS = 16
_WORDS = lazy_pattern(r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[-_. ](?:[A-Z]?[a-z]+|[A-Z]+))*")


def is_hidden_key(key: str) -> bool:
    """Whether a key is kept out of texts: one of 8 characters or more. One of 8 to 15 is not where it is
    plain words, such as `lm-studio` or `NOT_NEEDED`: people write them for servers that take any key, and
    they are words of the texts as well."""
    return len(key) >= MIN_WORDS_CHARS or (len(key) >= MIN_KEY_CHARS and _WORDS.fullmatch(key) is None)


class KeyGuard:
    """Keeps the keys of model providers out of whatever a run writes, tells and sends. Unlike a Redactor
    it looks for nothing else, because a run's own texts must reach the model as they are."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: set[str] = set()
        self._values = Values()
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """One more key, such as one that was renewed on the way."""
        if is_hidden_key(key) and key not in self._keys:
            self._keys.add(key)
            self._values = Values(self._keys)

    @property
    def active(self) -> bool:
        return bool(self._values)

    def finds(self, line: bytes) -> bool:
        """Whether a key stands in this JSON, or in JSON that is a text of it, however it is spelled."""
        return self._values.found_in_json(line)

    def clean(self, value: Any) -> Any:
        """A Struct without the keys in any of its texts."""
        return msgspec.convert(self.data(msgspec.to_builtins(value)), type(value))

    def data(self, value: Any) -> Any:
        """JSON builtins without the keys in any of their texts. Calls' arguments and other texts that are
        JSON keep their spelling but for the keys in them."""
        if isinstance(value, str):
            return self._values.hide(value)
        if isinstance(value, dict):
            return {self.data(key): self.data(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value
