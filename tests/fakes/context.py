"""A tool call without an engine: real grants in a real context, and no rules but those of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from remit.base.calls import Outcome, err
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Artifacts, Edits, Files, Process, RunState, SourceCode, Web
from remit.base.resources import Effect, Resource
from remit.net.guard import DEFAULT_PORTS, check_url
from remit.tools.contract import Tool
from remit.wiring.source import Source, SourceGrant
from remit.workspace.edit import EditsGrant
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld


class Context:
    """base.ports.ToolContext with the grants given; reaching for another is Failure(undeclared)."""

    def __init__(
        self,
        *,
        key: str = "t1.c1",
        files: Files | None = None,
        edits: Edits | None = None,
        web: Web | None = None,
        artifacts: Artifacts | None = None,
        state: RunState | None = None,
        process: Process | None = None,
        code: SourceCode | None = None,
        marks: dict[str, str] | None = None,
    ) -> None:
        self.key = key
        self._files = files
        self._edits = edits
        self._web = web
        self._artifacts = artifacts
        self._state = state
        self._process = process
        self._code = code
        self._marks = {} if marks is None else marks
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True

    def check_cancelled(self) -> None:
        if self._cancelled:
            raise Failure(ErrorCode.CANCELLED, "the call was cancelled")

    @property
    def files(self) -> Files:
        return _given(self._files, "files")

    @property
    def edits(self) -> Edits:
        return _given(self._edits, "edits")

    def seen(self, path: str) -> str:
        return self._marks.get(path, "")

    def saw(self, path: str, mark: str) -> dict[str, str]:
        self._marks[path] = mark
        return {"path": path, "mark": mark}

    @property
    def web(self) -> Web:
        return _given(self._web, "web")

    @property
    def artifacts(self) -> Artifacts:
        return _given(self._artifacts, "artifacts")

    @property
    def state(self) -> RunState:
        return _given(self._state, "state")

    @property
    def process(self) -> Process:
        return _given(self._process, "process")

    @property
    def code(self) -> SourceCode:
        return _given(self._code, "source code")

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.to_thread(function, *args)


class NothingRead:
    """base.ports.SourceCode where no language can be read."""

    def answers(self, name: str) -> Any:
        raise Failure(ErrorCode.UNDECLARED, "the call was granted no trees of source")

    def facts(self, name: str, source: bytes) -> Any:
        return None


def _given(grant: Any, name: str) -> Any:
    if grant is None:
        raise Failure(ErrorCode.UNDECLARED, f"the call was granted no {name}")
    return grant


class World(WorkspaceWorld):
    """The names a tool may ask for, with URLs checked for the ports given."""

    def __init__(self, root: Root, ports: Collection[int] = DEFAULT_PORTS) -> None:
        super().__init__(root)
        self._ports = ports

    def url(self, spelled: str, effect: Effect) -> Resource:
        return Resource("url", check_url(spelled, self._ports).url, effect)


def nothing() -> None:
    """In place of a check whether a call was cancelled."""


def allow_all(entry: Resource) -> bool:
    return True


def call(
    tool: Tool,
    arguments: dict[str, Any] | str,
    root: Root,
    *,
    entry_allowed: Callable[[Resource], bool] = allow_all,
    between: Callable[[], None] | None = None,
    source: Source | None = None,
    **grants: Any,
) -> Outcome:
    """One call on a workspace from JSON arguments to its outcome, with exactly the declared files.

    between: runs after the resources were named and before the tool does, as a policy would.
    source: what reads the source of declared trees. grants: further grants of the context.
    """
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()

    async def run() -> Outcome:
        try:
            params = tool.parse(text)
            resources: Sequence[Resource] = tool.resources(params, World(root))
            if between is not None:
                between()
            files, edits = FilesGrant(root, resources, entry_allowed), EditsGrant(root, resources)
            code = NothingRead() if source is None else SourceGrant(source, files, nothing)
            context = Context(files=files, edits=edits, **{"code": code, **grants})
            return await tool.run(params, context)
        except Failure as failure:
            return err(failure.code, failure.message)

    return asyncio.run(run())
