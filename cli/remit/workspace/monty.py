"""Scripts in an isolated interpreter: a worker process of its own for each, with nothing to reach from inside.

The interpreter is the extra `python`. A worker starts in milliseconds, so that none is kept: no state goes
from one script to the next, and a script that is cancelled or out of time takes its worker with it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import Any

from remit.base.errors import ErrorCode, Failure
from remit.base.extras import installing
from remit.base.limits import KIB, MIB
from remit.base.ports import Evaluated, Raised
from remit.base.text import clip, scrub
from remit.workspace.bundled import bundled
from remit.workspace.monty_guard import WorkerGuard
from remit.workspace.monty_value import valued

MAX_WORKERS = 2
MAX_MEMORY_BYTES = 256 * MIB
MAX_STREAM_BYTES = 256 * KIB
MAX_TRACEBACK_BYTES = 16 * KIB
MAX_MESSAGE_BYTES = 4 * KIB
CHECK_SECONDS = 10.0
"""What the type check of a script may take, before its own time begins."""

INSTALL = installing("python")

_STUBS = """
from typing import Any, Callable, Iterable
def map(function: Callable[..., Any], *iterables: Iterable[Any]) -> Any: ...
def filter(function: Callable[[Any], Any] | None, iterable: Iterable[Any]) -> Any: ...
def getattr(thing: object, name: str, default: Any = None) -> Any: ...
def hasattr(thing: object, name: str) -> bool: ...
def setattr(thing: object, name: str, value: Any) -> None: ...
def format(value: object, spec: str = "") -> str: ...
"""
"""Builtins that the interpreter has and its type checker does not know."""

_CLOCK = "there is no clock here: put the time or date that you mean into the script"
_CHANCE = "there is no chance here: seed it, with random.seed(1) or random.Random(1)"
_REFUSED = {
    "datetime.now": _CLOCK,
    "date.today": _CLOCK,
    "time.time": _CLOCK,
    "time.sleep": "there is no sleep here: a script only computes",
    "asyncio.sleep": "there is no sleep here: a script only computes",
    "os.urandom": _CHANCE,
}
_NO_SYSTEM = "there are no files, network, environment or processes here: put the data into the script"

_LIMITS: tuple[tuple[str, str, str], ...] = (
    ("TimeoutError", "feed time limit exceeded", "time"),
    ("MemoryError", "memory limit exceeded", "memory"),
    ("MemoryError", "the worker exceeded its memory limit", "memory"),
    ("RecursionError", "maximum recursion depth exceeded", "recursion"),
)
"""How the interpreter words what its limits ended; a script may raise the same types for its own reasons."""


def find_worker(given: str = "") -> str:
    """The worker program, absolute, or "" where there is none. given: one that replaces that of the extra."""
    if given:
        return given if os.path.isfile(given) and os.access(given, os.X_OK) else ""
    if found := bundled("monty"):
        return found
    import sysconfig

    places = (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"))
    return shutil.which("monty", path=os.pathsep.join(places)) or ""


def missing_interpreter(given: str = "") -> str:
    """Why no script can run on this machine, or ""."""
    from importlib.util import find_spec

    if find_spec("pydantic_monty") is None:
        return f"the isolated interpreter is not installed: {INSTALL}"
    if not find_worker(given):
        return f"{given} is no program that can be run" if given else f"the interpreter's worker is missing: {INSTALL}"
    return ""


class MontyInterpreter:
    """base.ports.Interpreter. At most MAX_WORKERS scripts run at once, the others wait."""

    def __init__(self, worker: str) -> None:
        """worker: absolute path of the worker program."""
        self._worker = worker
        self._slots = asyncio.Semaphore(MAX_WORKERS)

    async def run(self, code: str, *, seconds: float) -> Evaluated:
        """Type-check the script, then run it for at most `seconds`. What goes wrong in it is a result.
        Raises Failure(command_failed) when its worker cannot be started or dies."""
        monty = await asyncio.to_thread(_load)
        streams = {"stdout": _Stream(), "stderr": _Stream()}
        async with self._slots:
            try:
                ended = valued(await self._feed(monty, code, seconds, streams))
            except monty.MontyTypingError as error:
                ended = _untyped(error.display())
            except monty.MontyCrashedError as error:
                ended = _crashed(error)
            except monty.MontyError as error:
                ended = _raised(error)
            except (OSError, RuntimeError) as problem:
                message = f"the isolated interpreter cannot be started: {problem}"
                raise Failure(ErrorCode.COMMAND_FAILED, message) from None
        out, err = streams["stdout"], streams["stderr"]
        return Evaluated(
            **ended,
            stdout=out.text(),
            stderr=err.text(),
            stdout_truncated=out.truncated,
            stderr_truncated=err.truncated,
        )

    async def _feed(self, monty: Any, code: str, seconds: float, streams: dict[str, _Stream]) -> Any:
        limits = {"max_feed_duration_secs": seconds, "max_memory": MAX_MEMORY_BYTES}
        by_us = {"datetime": "call_host", "sleep": "call_host", "random_start": "call_host"}
        # The worker's own limits come first; a worker that is deaf to them is killed.
        with WorkerGuard(self._worker) as program:
            pool = monty.AsyncMonty(
                binary_path=program, min_processes=1, max_processes=1, request_timeout=seconds + CHECK_SECONDS
            )
            async with (
                pool,
                pool.checkout(
                    script_name="script.py",
                    limits=limits,
                    type_check=True,
                    type_check_stubs=_STUBS,
                    type_check_format="concise",
                    os_policy=by_us,
                ) as session,
            ):
                return await session.feed_run(
                    code, print_callback=lambda name, text: streams[name].take(text), os=_refuse_system
                )


def _load() -> Any:
    import pydantic_monty

    return pydantic_monty


def _refuse_system(*, name: str, **_: Any) -> Any:
    """Answers every call of a script to the system. The script may catch the error, as it may any other."""
    raise PermissionError(_REFUSED.get(name, _NO_SYSTEM))


class _Stream:
    """The first bytes of a stream, in whole characters."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.truncated = False

    def take(self, text: str) -> None:
        chunk = text.encode("utf-8", "replace")
        room = MAX_STREAM_BYTES - len(self._data)
        self._data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room

    def text(self) -> str:
        return self._data.decode("utf-8", "ignore" if self.truncated else "replace")


# -- how it ended ------------------------------------------------------------------------------


def _untyped(diagnostics: str) -> dict[str, Any]:
    shown = clip(scrub(diagnostics.strip()), MAX_TRACEBACK_BYTES)[0]
    return {"outcome": "error", "raised": Raised("TypeCheckError", shown)}


def _crashed(error: Any) -> dict[str, Any]:
    """Raises Failure(command_failed) unless it was killed for its time."""
    if error.timed_out:
        return {"outcome": "limited", "limit": "time", "raised": Raised("TimeoutError", "the script was ended")}
    message = f"the isolated interpreter died: {clip(scrub(str(error)), MAX_MESSAGE_BYTES)[0]}"
    raise Failure(ErrorCode.COMMAND_FAILED, message)


def _raised(error: Any) -> dict[str, Any]:
    name = type(error.exception()).__name__
    message = clip(scrub(error.display("msg")), MAX_MESSAGE_BYTES)[0]
    shown = error.display("traceback").replace('File "<python-input-0>"', 'File "script.py"')
    raised = Raised(name, message, clip(scrub(shown), MAX_TRACEBACK_BYTES)[0])
    limit = next((word for kind, start, word in _LIMITS if kind == name and message.startswith(start)), "")
    return {"outcome": "limited" if limit else "error", "limit": limit, "raised": raised}
