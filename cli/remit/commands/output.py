"""How errors reach people and programs: text on stderr, and in the JSON formats one result line too."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from remit.base.errors import RemitError, UsageFault, exit_code

JSON_FORMATS = frozenset({"json", "stream-json"})


def report_error(error: RemitError, argv: Sequence[str]) -> int:
    """Print an error that ended the command before a prompt started; the exit code."""
    write_stderr(f"error: {error}\n")
    code = exit_code(error)
    if wants_json(argv):
        _write_result(error)
    return code


def report_usage(what: str, argv: Sequence[str]) -> None:
    """The result line of a bad command line; its text is on stderr already."""
    if wants_json(argv):
        _write_result(UsageFault(what, hint=f"see `remit {argv[0]} --help`"))


def report_bug(bug: Exception, argv: Sequence[str]) -> int:
    """Print the traceback of a fault of ours that no run could tell of; the exit code."""
    import traceback

    write_stderr("".join(traceback.format_exception(bug)))
    what = f"a fault of remit itself: {type(bug).__name__}: {bug}"
    return report_error(RemitError(what, hint="please report it with the traceback above", kind="bug"), argv)


def write_stderr(text: str) -> None:
    """Write to stderr; a closed stderr is no reason to fail."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return


def wants_json(argv: Sequence[str]) -> bool:
    """Whether a run's command line asks for a JSON format, read without parsing it."""
    if not argv or argv[0] not in {"run", "resume"}:
        return False
    for index, word in enumerate(argv):
        name, _, value = word.partition("=")
        if name == "--output-format":
            value = value or (argv[index + 1] if index + 1 < len(argv) else "")
            return value in JSON_FORMATS
    return False


def _write_result(error: RemitError) -> None:
    from remit.base.events import Result
    from remit.stream.writer import encode_line

    result = Result(
        subtype="error_during_execution",
        is_error=True,
        verdict=error.verdict.value,
        exit_code=exit_code(error),
        duration_ms=0,
        duration_api_ms=0,
        num_turns=0,
        errors=str(error).split("\nhint: ")[0].splitlines(),
        error_kind=error.kind,
        hint=error.hint,
        terminal_reason=error.verdict.value,
    )
    try:
        sys.stdout.buffer.write(encode_line(result) + b"\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        return
