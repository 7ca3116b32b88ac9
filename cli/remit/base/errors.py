"""How things end: verdicts and exit codes, errors for people, failures for the model.

Three audiences, three types. `Failure` is what a tool or one of its hands raises for an expected
failure: the model reads it. `RemitError` is for the person who started the run: what was seen,
where, and what to do. Any other exception is a bug of ours.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """How a prompt ended. One value decides the result line and the exit code."""

    DONE = "done"
    BUG = "bug"
    USAGE = "usage"
    UNMET = "unmet"
    REFUSED = "refused"
    PROVIDER = "provider"
    BUSY = "busy"
    BUDGET = "budget"
    PREFLIGHT = "preflight"
    ENVIRONMENT = "environment"
    STOPPED = "stopped"


EXIT_CODES: dict[Verdict, int] = {
    Verdict.DONE: 0,
    Verdict.BUG: 1,
    Verdict.USAGE: 2,
    Verdict.UNMET: 3,
    Verdict.REFUSED: 4,
    Verdict.PROVIDER: 5,
    Verdict.BUSY: 6,
    Verdict.BUDGET: 7,
    Verdict.PREFLIGHT: 8,
    Verdict.ENVIRONMENT: 9,
}

SIGHUP_EXIT = 129
SIGINT_EXIT = 130
SIGPIPE_EXIT = 141
SIGTERM_EXIT = 143

EXIT_MEANINGS: dict[int, str] = {
    0: "the model finished and all that the task promised holds",
    1: "an internal error; the journal has it",
    2: "bad flag, prompt or file, unknown tool; no model was asked",
    3: "a promised artifact, schema, check or plan does not hold",
    4: "stopped on an ask, or a call was refused with on_deny: fail",
    5: "the model cannot be used: auth, bad request, retries spent",
    6: "rate limited or overloaded; the result has the reset time",
    7: "a limit of the run is spent; the result names it",
    8: "model, key, price or workspace missing; no model was asked",
    9: "disk full or directory not writable, while running",
    SIGHUP_EXIT: "SIGHUP, after a clean end",
    SIGINT_EXIT: "SIGINT, after a clean end",
    SIGPIPE_EXIT: "the reader of stdout went away",
    SIGTERM_EXIT: "SIGTERM, after a clean end",
}
"""Every exit code and what it says. At most 60 characters each: help and manual print them as a table."""


class ErrorCode(StrEnum):
    """Every code a tool result can carry. Closed: clients switch on it."""

    # what the model asked for
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    PATH_REFUSED = "path_refused"
    FILE_REFUSED = "file_refused"
    NOT_FOUND = "not_found"
    NOT_A_FILE = "not_a_file"
    NOT_A_DIRECTORY = "not_a_directory"
    UNSUPPORTED_FORMAT = "unsupported_format"
    BINARY_CONTENT = "binary_content"
    INVALID_ENCODING = "invalid_encoding"
    FILE_TOO_LARGE = "file_too_large"
    FILE_CHANGED = "file_changed"
    OFFSET_PAST_END = "offset_past_end"
    # pictures
    PICTURE_INVALID = "picture_invalid"
    PICTURE_TOO_LARGE = "picture_too_large"
    # changes of files
    TEXT_NOT_FOUND = "text_not_found"
    TEXT_AMBIGUOUS = "text_ambiguous"
    PATCH_INVALID = "patch_invalid"
    ALREADY_EXISTS = "already_exists"
    # tables
    EMPTY_FILE = "empty_file"
    CSV_INVALID = "csv_invalid"
    TOO_MANY_ROWS = "too_many_rows"
    TOO_MANY_COLUMNS = "too_many_columns"
    # artifacts
    INVALID_NAME = "invalid_name"
    INVALID_JSON = "invalid_json"
    ARTIFACT_TOO_LARGE = "artifact_too_large"
    # web
    URL_REFUSED = "url_refused"
    PORT_REFUSED = "port_refused"
    ADDRESS_REFUSED = "address_refused"
    REDIRECT_REFUSED = "redirect_refused"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    DNS_FAILED = "dns_failed"
    CONNECT_FAILED = "connect_failed"
    TLS_FAILED = "tls_failed"
    HTTP_ERROR = "http_error"
    RESPONSE_TOO_LARGE = "response_too_large"
    RESPONSE_INVALID = "response_invalid"
    # memory, schema
    TOO_MANY_PROPOSALS = "too_many_proposals"
    SCHEMA_MISMATCH = "schema_mismatch"
    # gate, budget, life of a call
    DENIED = "denied"
    APPROVAL_REQUIRED = "approval_required"
    UNDECLARED = "undeclared"
    BUDGET_SPENT = "budget_spent"
    REPEATED_CALL = "repeated_call"
    UNANSWERED = "unanswered"
    TASK_FAILED = "task_failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    IO_ERROR = "io_error"
    COMMAND_FAILED = "command_failed"
    INTERNAL = "internal"


class Failure(Exception):
    """An expected failure of a tool call. Dispatch turns it into the error outcome the model sees."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class RemitError(Exception):
    """An error for the person who started the run.

    what: what was seen, one sentence. where: `file:line` or "". hint: what to do, or "".
    kind: a short machine word for the result line (`auth`, `script`, `disk_full`, ...).
    """

    verdict = Verdict.BUG

    def __init__(self, what: str, *, where: str = "", hint: str = "", kind: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint
        self.kind = kind or self.verdict.value

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        tail = f"\nhint: {self.hint}" if self.hint else ""
        return f"{place}{self.what}{tail}"


class UsageFault(RemitError):
    """A bad flag, prompt, task, policy or approvals file: exit 2, before any model call."""

    verdict = Verdict.USAGE


class Fault(msgspec.Struct, frozen=True):
    """One fault of a file. `where` is `file:line`; `seen` the value found there, shortened."""

    message: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        tail = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{tail}"


class Faults(UsageFault):
    """All faults of one or more files at once."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__("\n".join(str(fault) for fault in faults))


class PreflightFault(RemitError):
    """Something the run needs is missing (model, key, price, sandbox): exit 8, before any model call."""

    verdict = Verdict.PREFLIGHT


class EnvironmentFault(RemitError):
    """Disk full, directory not writable, file system gone: exit 9."""

    verdict = Verdict.ENVIRONMENT


class BudgetSpent(RemitError):
    """A limit of the run was reached: exit 7. `limit` names it as the task file does."""

    verdict = Verdict.BUDGET

    def __init__(self, limit: str, what: str, *, hint: str = "") -> None:
        super().__init__(what, hint=hint, kind=limit)
        self.limit = limit


class Refused(RemitError):
    """The run stopped on an ask, or on a refusal with `on_deny: fail`: exit 4."""

    verdict = Verdict.REFUSED


INTERRUPTED = "interrupted"
"""Kind of a Stopped that ends one prompt, and not the session."""


class Stopped(RemitError):
    """A signal, a client or a closed stdout ended the run. `exit_code` is 130, 141 or 143."""

    verdict = Verdict.STOPPED

    def __init__(self, what: str, exit_code: int, *, kind: str) -> None:
        super().__init__(what, kind=kind)
        self.exit_code = exit_code


class ProviderFault(RemitError):
    """The model could not be used: exit 5. Kinds: auth, quota, bad_request, not_found,
    context_overflow, refused, malformed, network, cut (after the first part), loop, script, replay."""

    verdict = Verdict.PROVIDER


class ProviderBusy(ProviderFault):
    """Rate limit or overload past the retry budget: exit 6. `reset_at` is ISO 8601 UTC or ""."""

    verdict = Verdict.BUSY

    def __init__(self, what: str, *, hint: str = "", kind: str = "rate_limited", reset_at: str = "") -> None:
        super().__init__(what, hint=hint, kind=kind)
        self.reset_at = reset_at


def exit_code(error: RemitError | None) -> int:
    """The exit code of a run that ended with this error (None: done)."""
    if error is None:
        return EXIT_CODES[Verdict.DONE]
    if isinstance(error, Stopped):
        return error.exit_code
    return EXIT_CODES[error.verdict]


def exit_word(code: int) -> str:
    """The verdict that ends in this exit code."""
    return next((verdict.value for verdict, each in EXIT_CODES.items() if each == code), Verdict.STOPPED.value)


def exit_table() -> str:
    """Every exit code with its word, in one line; codes of one verdict stand together."""
    codes: dict[str, list[str]] = {}
    for code in EXIT_MEANINGS:
        codes.setdefault(exit_word(code), []).append(str(code))
    return ", ".join(f"{'/'.join(each)} {word}" for word, each in codes.items())
