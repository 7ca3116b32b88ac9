"""What a call touches, in words policy can judge."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec


class Effect(StrEnum):
    """What a call does to the world. A tool may have several."""

    NONE = "none"
    STATE = "state"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    MESSAGE = "message"
    SPEND = "spend"
    AGENT = "agent"


ResourceKind = Literal["path", "tree", "url", "host", "command", "state", "artifact", "topic", "agent"]


class Resource(msgspec.Struct, frozen=True):
    """One thing a call touches.

    kind: `path` a file or directory itself · `tree` a directory and all below it · `url` ·
    `host` where a command that runs wants to connect to · `command` one command line ·
    `state` a store the run owns · `artifact` a name in the artifact store · `topic` · `agent`.
    name: as the model spelled it, normalised: workspace-relative POSIX for paths ("." is the
    workspace itself), absolute outside of it; a URL in its normal form; a host as `HOST:PORT`, or as
    the URL where that is known; a command as typed.
    real: the real path behind `name` after links, the same form; "" where there is none.
    effect: what the call does to it.
    inside: whether a path or tree lies inside the workspace, by its real path.
    cwd: of a command, the directory it starts in, workspace-relative POSIX; "" is the workspace itself.
    """

    kind: ResourceKind
    name: str
    effect: Effect
    real: str = ""
    inside: bool = True
    cwd: str = ""

    def names(self) -> tuple[str, ...]:
        """Every name a rule has to be held against: the spelled one and the real one."""
        if self.real and self.real != self.name:
            return (self.name, self.real)
        return (self.name,)
