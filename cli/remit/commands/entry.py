"""From a command line to its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from remit.base.errors import SIGINT_EXIT, SIGPIPE_EXIT, RemitError
from remit.commands.plain import plain_run


def run_app(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code. Errors for people are printed here, once."""
    try:
        given = plain_run(argv[1:]) if argv[:1] == ["run"] else None
        if given is not None:
            from remit.commands.begin import begin

            begin(given)
        else:
            from remit.commands.app import root

            root(args=list(argv), prog_name="remit")
    except RemitError as error:
        from remit.commands.output import report_error

        return report_error(error, argv)
    except SystemExit as end:
        causes = tuple(_causes(end))
        if any(isinstance(cause, BrokenPipeError) for cause in causes):
            return _reader_gone()
        if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
            return SIGINT_EXIT
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
        if code == 2:
            from remit.commands.output import report_usage

            said = (cause.format_message() for cause in causes if hasattr(cause, "format_message"))
            report_usage(next(said, "bad command line"), argv)
        return code
    except BrokenPipeError:
        return _reader_gone()
    except KeyboardInterrupt:
        return SIGINT_EXIT
    except Exception as bug:
        from remit.commands.output import report_bug

        return report_bug(bug, argv)
    return 0


def _causes(end: BaseException) -> Iterator[BaseException]:
    """What led to an exit: typer itself ends with code 1 on an interrupt and a closed pipe."""
    cause = end.__context__
    while cause is not None:
        yield cause
        cause = cause.__context__


def _reader_gone() -> int:
    """The reader of stdout is gone; Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return SIGPIPE_EXIT
