"""Line files beside the journal that others read: they follow it, and can be made anew from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from remit.base.records import CallChecked, Record
from remit.base.text import scrub_tree
from remit.store.durable import DIRECTORY, replace_file, telling, write_all

_TAIL = 1 << 16


class LineFile:
    """A file of JSON lines, opened for appending. A line cut short by a dead process is cut off."""

    def __init__(self, path: str) -> None:
        """Open or create. Raises EnvironmentFault."""
        self.path = path
        with telling(path, "open the file"):
            self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            _cut_torn_line(self._fd)

    def append(self, line: bytes) -> None:
        """Write one line, given without its newline. Raises EnvironmentFault."""
        with telling(self.path, "write the file"):
            write_all(self._fd, line + b"\n")

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Put these lines in the place of all there are, whole or not at all. Raises EnvironmentFault."""
        content = b"".join(line + b"\n" for line in lines)
        folder, name = os.path.split(self.path)
        with telling(self.path, "write the file"):
            directory = os.open(folder or ".", DIRECTORY)
            try:
                replace_file(directory, name, content)
            finally:
                os.close(directory)
            os.close(self._fd)
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class DecisionLog:
    """`decisions.jsonl`: what the gate said of each call. A follower of the journal."""

    def __init__(self, path: str) -> None:
        """Raises EnvironmentFault."""
        self._file = LineFile(path)

    def __call__(self, record: Record, agent: str = "") -> None:
        """Hear of a record that was journaled. agent: whose journal it went into, "" for the run's own. Raises
        EnvironmentFault."""
        if isinstance(record, CallChecked):
            self._file.append(decision_line(record, agent))

    def rebuild(self, records: Iterable[Record], agents: Mapping[str, Iterable[Record]] = {}) -> None:
        """Make the file anew from the journal, and those of agents by their task ids. Raises EnvironmentFault."""
        self._file.rewrite(
            decision_line(record, agent)
            for agent, journal in [("", records), *agents.items()]
            for record in journal
            if isinstance(record, CallChecked)
        )

    def close(self) -> None:
        self._file.close()


def decision_line(record: CallChecked, agent: str = "") -> bytes:
    """One decision as JSON: call, id, tool, allowed, decide, rule{source, where, why}, resource,
    resources, approval, and the agent where it is not the main one's."""
    decision = record.decision
    line: dict[str, object] = {
        "call": record.key,
        "id": record.id,
        "tool": record.tool,
        "allowed": record.allowed,
        "decide": decision.decide,
        "rule": decision.rule,
        "resource": decision.resource,
        "resources": record.resources,
        "approval": record.approval,
    }
    line |= {"agent": agent} if agent else {}
    try:
        return msgspec.json.encode(line)
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub_tree(msgspec.to_builtins(line)))


def _cut_torn_line(fd: int) -> None:
    end = size = os.fstat(fd).st_size
    while end:
        start = max(0, end - _TAIL)
        last = os.pread(fd, end - start, start).rfind(b"\n")
        if last >= 0:
            end = start + last + 1
            break
        end = start
    if end != size:
        os.ftruncate(fd, end)
