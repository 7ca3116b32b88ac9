"""The plan of a session: one document in the directory of its run."""

from __future__ import annotations

import errno
import os
import stat

from remit.base.errors import ErrorCode, Failure
from remit.store.durable import DIRECTORY, replace_file, telling

PLAN_FILE = "plan.md"
MAX_PLAN_BYTES = 256 * 1024


class PlanDocument:
    """run_dir: absolute. People may edit the file too: what is there is held to the same bounds as what is written."""

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir

    def read(self) -> str:
        """Raises Failure: not_found where nothing was written, file_refused for what is no plan."""
        try:
            run = os.open(self._run_dir, DIRECTORY)
            try:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(PLAN_FILE, flags, dir_fd=run), "rb") as file:
                    regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                    content = file.read(MAX_PLAN_BYTES + 1) if regular else None
            finally:
                os.close(run)
        except FileNotFoundError:
            raise Failure(ErrorCode.NOT_FOUND, "the plan is empty: nothing was written yet") from None
        except OSError as problem:
            what = "a link stands in its place" if problem.errno == errno.ELOOP else problem.strerror
            raise Failure(ErrorCode.FILE_REFUSED, f"the plan cannot be read: {what}") from None
        if content is None:
            raise Failure(ErrorCode.FILE_REFUSED, "the plan cannot be read: what stands in its place is no file")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise Failure(ErrorCode.FILE_REFUSED, "the plan is not UTF-8") from None
        hold_plan(text, ErrorCode.FILE_REFUSED)
        return text

    def there(self) -> bool:
        """Whether there is one, by whoever wrote it."""
        return os.path.lexists(os.path.join(self._run_dir, PLAN_FILE))

    def write(self, content: str) -> bytes:
        """Replace it, whole or not at all; what was written. Raises Failure(invalid_arguments), EnvironmentFault."""
        data = hold_plan(content, ErrorCode.INVALID_ARGUMENTS)
        with telling(self._run_dir, "write the plan"):
            run = os.open(self._run_dir, DIRECTORY)
            try:
                # The name itself is replaced, also where somebody made a link of it.
                replace_file(run, PLAN_FILE, data, mode=0o600)
            finally:
                os.close(run)
        return data

    def remove(self) -> None:
        """Raises EnvironmentFault."""
        with telling(self._run_dir, "remove the plan"):
            try:
                os.unlink(os.path.join(self._run_dir, PLAN_FILE))
            except FileNotFoundError:
                return


def hold_plan(content: str, code: ErrorCode) -> bytes:
    """Raises Failure for what can be no plan."""
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise Failure(code, "the plan holds characters that UTF-8 has no bytes for") from None
    if not content.strip():
        raise Failure(code, "the plan is blank")
    if "\0" in content:
        raise Failure(code, "the plan holds a NUL character")
    if len(data) > MAX_PLAN_BYTES:
        raise Failure(code, f"the plan has {len(data):,} bytes; {MAX_PLAN_BYTES:,} are allowed")
    return data
