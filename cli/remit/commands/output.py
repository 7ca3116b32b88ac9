"""How errors reach people and programs: text on stderr, and in the JSON formats one result line too."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence

from remit.base.errors import EnvironmentFault, RemitError, UsageFault, exit_code
from remit.base.text import visible
from remit.store.durable import scarce_fault

STDOUT, STDERR = 1, 2

JSON_FORMATS = frozenset({"json", "stream-json"})


class Stdout(io.TextIOWrapper):
    """Standard output. Raises EnvironmentFault where it cannot be written: a full disk, a closed descriptor."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as problem:
            raise _unwritable(problem) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as problem:
            raise _unwritable(problem) from None


class Stderr(io.TextIOWrapper):
    """Standard error, for want of which nothing fails."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            _sink(STDERR)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _sink(STDERR)


def guard_standard_streams() -> None:
    """Put these on the standard descriptors, which may be full, or closed from the start."""
    for name, kind, fd in (("stdout", Stdout, STDOUT), ("stderr", Stderr, STDERR)):
        given = getattr(sys, name)
        stream = kind(
            io.BufferedWriter(io.FileIO(fd, "w", closefd=False)),
            encoding=given.encoding if given else "utf-8",
            errors=given.errors if given else "backslashreplace",
            line_buffering=given.line_buffering if given else False,
        )
        setattr(sys, name, stream)


def _unwritable(problem: OSError) -> Exception:
    _sink(STDOUT)
    if isinstance(problem, BrokenPipeError):
        return problem
    if problem.errno == errno.EBADF:
        return EnvironmentFault("stdout is closed", hint="give it a stdout, or >/dev/null", kind="stdout_closed")
    kind = "disk_full" if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "io_error"
    return EnvironmentFault(f"cannot write to stdout: {problem.strerror}", kind=kind)


def _sink(fd: int) -> None:
    """What is left in the buffer goes nowhere: Python would complain of it once more at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, fd)
    os.close(devnull)


def report_error(error: RemitError, argv: Sequence[str]) -> int:
    """Print an error that ended the command before a prompt started; the exit code."""
    write_stderr(visible(f"error: {error}\n", keep="\n\t"))
    code = exit_code(error)
    if wants_json(argv):
        _write_result(error)
    return code


def report_usage(what: str, argv: Sequence[str]) -> None:
    """The result line of a bad command line; its text is on stderr already."""
    if wants_json(argv):
        _write_result(UsageFault(what, hint=f"see `remit {argv[0]} --help`"))


def report_bug(bug: Exception, argv: Sequence[str]) -> int:
    """Print the traceback of a fault of ours that no run could tell of, or what the system is out of; the exit
    code."""
    import traceback

    if (fault := scarce_fault(bug)) is not None:
        return report_error(fault, argv)

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
    import uuid

    from remit.base.events import Result
    from remit.stream.writer import encode_line

    result = Result(
        session_id=str(uuid.uuid4()),
        uuid=str(uuid.uuid4()),
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
    except (OSError, ValueError, EnvironmentFault):
        return
