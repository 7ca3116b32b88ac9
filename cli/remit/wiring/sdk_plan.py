"""What a session for a client of Claude Code goes by: its command line, and what the client says first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.client_hooks import Matcher
from remit.store.run_list import RunEntry
from remit.tools.harness.client_tool import ClientTool
from remit.wiring.rewind import Point
from remit.wiring.sdk_agents import SdkAgent


class Wanted(msgspec.Struct):
    """What a client says before its first message, beside the flags. None: nothing."""

    system: str | None = None
    append: str | None = None
    schema: dict[str, Any] | None = None
    model: str | None = None
    mode: str | None = None
    effort: Any = msgspec.UNSET
    matchers: dict[str, list[Matcher]] = {}
    agents: dict[str, SdkAgent] = {}


class Place(msgspec.Struct, frozen=True):
    """Where the session goes on. entry: the run that is taken up, None for a new one; with `fork` it is copied.
    session_id: of a new one, "" for any. missing: the id that was asked for and is not there. point: the message that
    it goes on from, None for the last."""

    entry: RunEntry | None = None
    fork: bool = False
    session_id: str = ""
    missing: str = ""
    point: Point | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The command line, made into what a session needs. make_spec: from what the client wants and the tools that it
    offers. prompt: None where messages come as lines. servers: names of MCP servers that live in the client.
    left_out: whether a tool of theirs is not offered. directories: beside the working directory, that are read.
    agents: those of the flags. notices: what has no effect here, told once."""

    settings: Settings
    environ: Mapping[str, str]
    cwd: str
    make_spec: Callable[[Wanted, Sequence[ClientTool]], RunSpec]
    place: Place
    prompt: str | None = None
    servers: tuple[str, ...] = ()
    left_out: Callable[[ClientTool, Sequence[ClientTool]], bool] = lambda *_: False
    directories: tuple[str, ...] = ()
    asks: bool = False
    may_bypass: bool = False
    partial: bool = False
    replay: bool = False
    ephemeral: bool = False
    mode: str = "default"
    agents: Mapping[str, SdkAgent] = {}
    notices: tuple[str, ...] = ()
