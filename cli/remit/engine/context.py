"""What a running call holds: its grants, a way off the loop, and a cancel flag."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import (
    Agents,
    Artifacts,
    Edits,
    Files,
    Interpreter,
    Jobs,
    MachineSurvey,
    Principal,
    Process,
    Questions,
    RunState,
    SourceCode,
    Web,
)

Grant = TypeVar("Grant")


class CallContext(msgspec.Struct):
    """Implements ToolContext. A grant left None was not declared. marks: of the files that the model has
    seen; calls of one run share them."""

    key: str
    tool: str
    granted_files: Files | None = None
    granted_edits: Edits | None = None
    granted_web: Web | None = None
    granted_artifacts: Artifacts | None = None
    granted_state: RunState | None = None
    granted_process: Process | None = None
    granted_python: Interpreter | None = None
    granted_machine: MachineSurvey | None = None
    granted_code: SourceCode | None = None
    granted_questions: Questions | None = None
    granted_agents: Agents | None = None
    granted_jobs: Jobs | None = None
    granted_principal: Principal | None = None
    marks: MutableMapping[str, str] = msgspec.field(default_factory=dict)
    _cancelled: threading.Event = msgspec.field(default_factory=threading.Event)

    @property
    def files(self) -> Files:
        return self._declared(self.granted_files, "files")

    @property
    def edits(self) -> Edits:
        return self._declared(self.granted_edits, "files to write")

    @property
    def web(self) -> Web:
        return self._declared(self.granted_web, "the network")

    @property
    def artifacts(self) -> Artifacts:
        return self._declared(self.granted_artifacts, "artifacts")

    @property
    def state(self) -> RunState:
        return self._declared(self.granted_state, "run state")

    @property
    def process(self) -> Process:
        return self._declared(self.granted_process, "processes")

    @property
    def python(self) -> Interpreter:
        return self._declared(self.granted_python, "the interpreter")

    @property
    def machine(self) -> MachineSurvey:
        return self._declared(self.granted_machine, "the machine")

    @property
    def code(self) -> SourceCode:
        return self._declared(self.granted_code, "source code")

    @property
    def questions(self) -> Questions:
        return self._declared(self.granted_questions, "questions")

    @property
    def agents(self) -> Agents:
        return self._declared(self.granted_agents, "agents")

    @property
    def jobs(self) -> Jobs:
        return self._declared(self.granted_jobs, "work in the background")

    @property
    def principal(self) -> Principal:
        return self._declared(self.granted_principal, "the agent it works for")

    def seen(self, path: str) -> str:
        return self.marks.get(path, "")

    def saw(self, path: str, mark: str) -> dict[str, str]:
        # At once, not when the call is settled: the next call of the turn may be about the same file.
        self.marks[path] = mark
        return {"path": path, "mark": mark}

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise Failure(ErrorCode.CANCELLED, f"{self.tool} was cancelled")

    def cancel(self) -> None:
        """Tell work that runs off the loop to stop at its next check."""
        self._cancelled.set()

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` in a thread of its own that never keeps the process alive.

        A daemon thread, not the loop's executor: a stuck one must not hold the end of the run.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def work() -> None:
            result, error = None, None
            try:
                result = function(*args)
            except BaseException as caught:
                error = caught
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=work, name=f"{self.tool}:{self.key}", daemon=True).start()
        return await future

    def _declared(self, grant: Grant | None, what: str) -> Grant:
        if grant is None:
            raise Failure(ErrorCode.UNDECLARED, f"{self.tool} reached for {what} without declaring it")
        return grant
