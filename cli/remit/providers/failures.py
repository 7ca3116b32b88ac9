"""What a failed request to a model API means: its kind, whether to try again, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from remit.base.errors import ProviderBusy, ProviderFault
from remit.base.text import head, scrub

MAX_QUOTE_BYTES = 300

_BUSY_KINDS = frozenset({"rate_limited", "overloaded"})
_RETRYABLE_KINDS = _BUSY_KINDS | {"network"}

_STATUS_KINDS = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "overloaded",
    409: "overloaded",
    413: "context_overflow",
    429: "rate_limited",
}

_WORD_KINDS = {
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "request_too_large": "context_overflow",
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "content_filter": "refused",
    "content_policy_violation": "refused",
    "rate_limit_exceeded": "rate_limited",
    "rate_limit_error": "rate_limited",
    "invalid_request_error": "bad_request",
    "bad_request": "bad_request",
}
# A status says rate limit or overload more surely than a word does; these words know better.
_WORDS_OVER_STATUS = frozenset({"context_overflow", "quota", "not_found", "refused"})

_OVERFLOW = re.compile(
    r"context (?:length|window|size)|maximum context|prompt is too long|input (?:token count|length).{0,40}exceed"
    r"|too many (?:input )?tokens|reduce the length of the (?:messages|prompt)",
    re.IGNORECASE,
)
_OVERFLOW_STATUSES = frozenset({400, 413, 422})

_ADVICE = {
    "bad_request": "the server does not take this request: check the model's name and what it can do",
    "context_overflow": "give the task less text, or a model with a larger context window",
    "not_found": "check the model's name and the base URL",
    "quota": "the account has no credit left for this model",
    "malformed": "check that the base URL is that of the API, version included",
}


class AttemptFailed(Exception):
    """One request that failed. status: HTTP, or None. hint: seconds the server asks to wait, or None."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        hint: float | None = None,
        final: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.hint = hint
        self.retryable = kind in _RETRYABLE_KINDS and not final

    def fault(self, provider: str, *, reset_at: str = "", advice: str = "") -> ProviderFault:
        """The error that ends the request."""
        what = f"{provider}: {self.message}"
        advice = advice or _ADVICE.get(self.kind, "")
        if self.kind in _BUSY_KINDS:
            return ProviderBusy(what, hint=advice, kind=self.kind, reset_at=reset_at)
        return ProviderFault(what, hint=advice, kind=self.kind)


def from_response(status: int, headers: Mapping[str, str], body: bytes, now: float) -> AttemptFailed:
    """An answer that is not a success. headers: names in lower case, or a case-blind mapping. now: Unix seconds."""
    words, message = _read_body(body)
    kind = _STATUS_KINDS.get(status, "overloaded" if status >= 500 else "bad_request")
    told = _kind_of(words)
    if told in _WORDS_OVER_STATUS:
        kind = told
    elif status in _OVERFLOW_STATUSES and _OVERFLOW.search(message):
        kind = "context_overflow"
    if 300 <= status < 400:
        message = f"redirects to {headers.get('location', 'nowhere')!r}, which is not followed"
    return AttemptFailed(
        kind,
        f"HTTP {status}: {quote(message) or 'no message'}",
        status=status,
        hint=_bounded(server_hint(status, headers, now)),
        final=headers.get("x-should-retry") == "false",
    )


def from_stream(error: Any) -> AttemptFailed:
    """An error object inside a stream that had begun as a success."""
    words, message = _words_of(error), _message_of(error)
    status = next((int(word) for word in words if re.fullmatch(r"[45]\d\d", word)), None)
    kind = _kind_of(words)
    if not kind and _OVERFLOW.search(message):
        kind = "context_overflow"
    if not kind and status is not None:
        kind = _STATUS_KINDS.get(status, "overloaded" if status >= 500 else "bad_request")
    return AttemptFailed(kind or "overloaded", f"error in the stream: {quote(message) or 'no message'}", status=status)


def quote(message: str) -> str:
    """A server's words on one line, shortened."""
    return head(" ".join(scrub(message).split()), MAX_QUOTE_BYTES)


def _read_body(body: bytes) -> tuple[list[str], str]:
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return [], body.decode("utf-8", "replace")
    if isinstance(found, list) and found:
        found = found[0]
    error = found.get("error", found) if isinstance(found, dict) else found
    return _words_of(error), _message_of(error)


def _words_of(error: Any) -> list[str]:
    if not isinstance(error, dict):
        return []
    found = (error.get(key) for key in ("code", "type", "status"))
    return [str(word).lower() for word in found if isinstance(word, (str, int))]


def _message_of(error: Any) -> str:
    if isinstance(error, dict):
        found = next((error[key] for key in ("message", "detail", "error", "type") if error.get(key)), error)
        return _message_of(found) if isinstance(found, dict) and found is not error else _as_text(found)
    return _as_text(error)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _kind_of(words: list[str]) -> str:
    return next((_WORD_KINDS[word] for word in words if word in _WORD_KINDS), "")


# -- when to come back -------------------------------------------------------------------------------

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_HINT_SECONDS = 366 * 86400.0
_SPENT = ("requests", "tokens")


def server_hint(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asks to wait, or None. Read from `retry-after-ms`, `retry-after` (seconds or
    a date) and, with 429, from `x-ratelimit-reset*` of the limit that is spent."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after")
    if after is not None:
        seconds = _number(after)
        return seconds if seconds is not None else _until_date(after, now)
    return _rate_limit_reset(headers, now) if status == 429 else None


def _bounded(hint: float | None) -> float | None:
    # No calendar holds every number of seconds that a header can.
    return None if hint is None else min(hint, _LONGEST_HINT_SECONDS)


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"\s*\d{1,15}(\.\d{1,9})?\s*", text, re.ASCII):
        return None
    return float(text)


def _until_date(text: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _rate_limit_reset(headers: Mapping[str, str], now: float) -> float | None:
    plain = headers.get("x-ratelimit-reset")
    if plain is not None:
        return _until(plain, now)
    waits = [
        _until(headers.get(f"x-ratelimit-reset-{what}", ""), now)
        for what in _SPENT
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _until(text: str, now: float) -> float | None:
    """`20s`, `6m0s`, `120ms`; a bare number is seconds from now, or since 1970 in seconds or milliseconds."""
    number = _number(text)
    if number is None:
        parts = _DURATION.findall(text)
        return sum(float(count) * _UNIT_SECONDS[unit] for count, unit in parts) if parts else None
    if number > 1e11:
        number /= 1000
    return max(0.0, number - now) if number > 1e9 else number
