"""What a failed request to a model API means: its kind, whether to try again, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from remit.base.errors import ProviderBusy, ProviderFault
from remit.base.lazy_pattern import lazy_pattern
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
    "billing_error": "quota",
    "contract_spend_limit_reached": "quota",
    "enforced_spend_limit_reached": "quota",
    "linked_organization_spend_limit_reached": "quota",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "content_filter": "refused",
    "content_policy_violation": "refused",
    "image_content_policy_violation": "refused",
    "misalignment_policy_violation": "refused",
    "bio_policy": "refused",
    "invalid_prompt": "refused",
    "rate_limit_exceeded": "rate_limited",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "invalid_request_error": "bad_request",
    "bad_request": "bad_request",
    "data_residency_mismatch": "bad_request",
    "invalid_image": "bad_request",
    "invalid_image_format": "bad_request",
    "invalid_image_mode": "bad_request",
    "invalid_base64_image": "bad_request",
    "image_too_large": "bad_request",
    "image_too_small": "bad_request",
    "image_parse_error": "bad_request",
    "image_file_too_large": "bad_request",
    "unsupported_image_media_type": "bad_request",
    "empty_image_file": "bad_request",
    "api_key_invalid": "auth",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "not_found": "not_found",
    "resource_exhausted": "rate_limited",
    "unavailable": "overloaded",
    "deadline_exceeded": "overloaded",
    "internal": "overloaded",
    "invalid_argument": "bad_request",
    "failed_precondition": "bad_request",
}
# A status says rate limit or overload more surely than a word does; these words know better.
_WORDS_OVER_STATUS = frozenset({"context_overflow", "quota", "not_found", "refused"})
# A status of 400 says nothing about the key, and some servers say no more about a wrong one.
_WORDS_OVER_400 = _WORDS_OVER_STATUS | {"auth"}

_OVERFLOW = lazy_pattern(
    r"context (?:length|window|size)|maximum context|prompt is too long|input (?:token count|length).{0,40}exceed"
    r"|exceeds? the maximum number of tokens|too many (?:input )?tokens|reduce the length of the (?:messages|prompt)",
    re.IGNORECASE,
)
_OVERFLOW_STATUSES = frozenset({400, 413, 422})

_QUOTA = lazy_pattern(
    r"credit balance is too low|(?:insufficient|not enough) (?:account )?(?:balance|credits?|funds)"
    r"|(?:run|ran) out of (?:credits?|funds)|no credits? (?:left|remaining)|requires more credits",
    re.IGNORECASE,
)
# Google says this of a limit that ends in a minute too, and then tells when.
_QUOTA_OR_RATE = lazy_pattern(r"exceeded your current quota|check your plan and billing", re.IGNORECASE)
_QUOTA_KINDS = frozenset({"", "bad_request", "auth", "rate_limited"})
"""What servers without a word of their own for it call an account that is spent."""

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
    error = _error_in(body)
    words, message = _words_of(error), _message_of(error)
    kind = _STATUS_KINDS.get(status, "overloaded" if status >= 500 else "bad_request")
    told = _kind_of(words)
    if told in (_WORDS_OVER_400 if status == 400 else _WORDS_OVER_STATUS):
        kind = told
    elif status in _OVERFLOW_STATUSES and _OVERFLOW.search(message):
        kind = "context_overflow"
    if 300 <= status < 400:
        message = f"redirects to {headers.get('location', 'nowhere')!r}, which is not followed"
    hint = server_hint(status, headers, now)
    hint = _retry_delay(error) if hint is None else hint
    return AttemptFailed(
        _spent(kind, message, hint),
        f"HTTP {status}: {quote(message) or 'no message'}",
        status=status,
        hint=hint,
        final=headers.get("x-should-retry") == "false",
    )


def from_stream(error: Any) -> AttemptFailed:
    """An error object inside a stream that had begun as a success."""
    words, message = _words_of(error), _message_of(error)
    status = next((int(word) for word in words if re.fullmatch(r"[45]\d\d", word)), None)
    kind = _kind_of(words)
    if kind in ("", "bad_request") and _OVERFLOW.search(message):
        kind = "context_overflow"
    if not kind and status is not None:
        kind = _STATUS_KINDS.get(status, "overloaded" if status >= 500 else "bad_request")
    hint = _retry_delay(error)
    return AttemptFailed(
        _spent(kind, message, hint) or "overloaded",
        f"error in the stream: {quote(message) or 'no message'}",
        status=status,
        hint=hint,
    )


def hinted(failure: Exception, headers: Mapping[str, str], now: float) -> Exception:
    """The failure of a stream, with the hint of its headers where it is busy and tells none itself."""
    if isinstance(failure, AttemptFailed) and failure.kind in _BUSY_KINDS and failure.hint is None:
        failure.hint = server_hint(200, headers, now)
    return failure


def _spent(kind: str, message: str, hint: float | None) -> str:
    """The kind, or `quota` where the message says so."""
    if kind not in _QUOTA_KINDS:
        return kind
    said = _QUOTA.search(message) or (hint is None and _QUOTA_OR_RATE.search(message))
    return "quota" if said else kind


def quote(message: str) -> str:
    """A server's words on one line, shortened."""
    return head(" ".join(scrub(message).split()), MAX_QUOTE_BYTES)


def _error_in(body: bytes) -> Any:
    """The error object of a body, or what else stands there."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace")
    if isinstance(found, list) and found:
        found = found[0]
    return found.get("error", found) if isinstance(found, dict) else found


def _words_of(error: Any) -> list[str]:
    if not isinstance(error, dict):
        return []
    # The narrower words first: a spend limit that is reached has the type of any rate limit, and a wrong
    # key the status of any bad request.
    found = [detail.get(key) for detail in _details_of(error) for key in ("error_code", "reason")]
    found += [error.get(key) for key in ("code", "type", "status")]
    return [str(word).lower() for word in found if isinstance(word, (str, int))]


def _details_of(error: Any) -> list[dict[str, Any]]:
    """Anthropic's details are one object, Google's are a list of them."""
    details = error.get("details") if isinstance(error, dict) else None
    listed = details if isinstance(details, list) else [details]
    return [detail for detail in listed if isinstance(detail, dict)]


def _message_of(error: Any) -> str:
    while isinstance(error, dict):
        found = next((error[key] for key in ("message", "detail", "error", "type") if error.get(key)), None)
        if found is None:
            break
        error = found
    return _as_text(error)


def _as_text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    except RecursionError:
        return "an error that is nested too deep"


def _kind_of(words: list[str]) -> str:
    return next((_WORD_KINDS[word] for word in words if word in _WORD_KINDS), "")


# -- when to come back -------------------------------------------------------------------------------

_DURATION = lazy_pattern(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST_HINT_SECONDS = 366 * 86400.0
"""A longer wait is believed, but not told as the time when it ends: no calendar holds every number."""

_SPENT = ("requests", "tokens")
_SPENT_OF_ANTHROPIC = (*_SPENT, "input-tokens", "output-tokens")


def server_hint(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asks to wait, or None. Read from `retry-after-ms`, `retry-after` (seconds or
    a date) and, with 429, from `x-ratelimit-reset*` and `anthropic-ratelimit-*-reset` (a moment of
    RFC 3339) of the limit that is spent."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after")
    if after is not None:
        seconds = _number(after)
        return seconds if seconds is not None else _until_date(after, now)
    return _rate_limit_reset(headers, now) if status == 429 else None


def _retry_delay(error: Any) -> float | None:
    """Seconds to wait as Google's RetryInfo tells them in the body: `"retryDelay": "34.07s"`."""
    delays = (detail.get("retryDelay") for detail in _details_of(error))
    return next((wait for delay in delays if isinstance(delay, str) and (wait := _duration(delay)) is not None), None)


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"\s*\d+(\.\d+)?\s*", text, re.ASCII):
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
    waits += [
        _until_moment(headers.get(f"anthropic-ratelimit-{what}-reset", ""), now)
        for what in _SPENT_OF_ANTHROPIC
        if headers.get(f"anthropic-ratelimit-{what}-remaining") == "0"
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _until_moment(text: str, now: float) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _until(text: str, now: float) -> float | None:
    """`20s`, `6m0s`, `120ms`; a bare number is seconds from now, or since 1970 in seconds or milliseconds."""
    number = _number(text)
    if number is None:
        return _duration(text)
    if number > 1e11:
        number /= 1000
    return max(0.0, number - now) if number > 1e9 else number


def _duration(text: str) -> float | None:
    parts = _DURATION.findall(text)
    return sum(float(count) * _UNIT_SECONDS[unit] for count, unit in parts) if parts else None
