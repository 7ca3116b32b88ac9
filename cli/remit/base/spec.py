"""A run, resolved: all that task file, flags, settings and rule files said, with nothing left to read.

The journal's first record holds it, so that a resume needs none of the files again.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from remit.base.calls import Decide
from remit.base.limits import Limits


class Source(msgspec.Struct, frozen=True):
    """A file as it was read. path: as the user named it; text: the whole content."""

    path: str
    text: str


class PolicySource(msgspec.Struct, frozen=True):
    """A rule file and its standing: `user` and `project` always hold, `policy` is rank 2."""

    kind: Literal["user", "project", "policy"]
    path: str
    text: str


class Tick(msgspec.Struct, frozen=True):
    """One entry of the task's `tools:`. hosts: only for tools that reach the network.
    where: `file:line`, or the flag."""

    decide: Decide
    hosts: tuple[str, ...] = ()
    where: str = ""


class Expect(msgspec.Struct, frozen=True):
    """What the task promises. schema: the JSON Schema itself; schema_path names its file.
    checks: command lines; check_seconds the time of each."""

    artifacts: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    schema_path: str = ""
    checks: tuple[str, ...] = ()
    check_seconds: float = 60.0
    checks_where: str = ""


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """workspace: absolute. model: `provider/name`, or "" when none was named. prompt: final, inputs
    filled in and stdin appended. ticks: the tools the model gets. task: path of the task file, or "".
    files: every file read for this spec with its sha256, to say later what changed. memory: accepted
    notes of earlier runs. command: the flags as given and the directory they were given in."""

    name: str = "run"
    task: str = ""
    prompt: str
    workspace: str
    model: str = ""
    system: str = ""
    ticks: dict[str, Tick] = {}
    limits: Limits = Limits()
    memory_enabled: bool = False
    memory_proposals: bool = False
    expect: Expect = Expect()
    on_ask: Literal["deny", "stop"] = "deny"
    on_deny: Literal["continue", "fail"] = "continue"
    policies: tuple[PolicySource, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    approvals: Source | None = None
    stdin: Literal["none", "read", "skipped", "ignored"] = "none"
    fetch_allowed_ports: tuple[int, ...] = (80, 443)
    retry_seconds: float = 300.0
    prices: dict[str, Price] = {}
    files: dict[str, str] = {}
    memory: tuple[str, ...] = ()
    command: dict[str, Any] = {}
