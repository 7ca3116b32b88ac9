"""Finding out what a machine lends to confine commands: by putting it all on and running nothing."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

import msgspec

from remit.workspace.launcher_request import Request
from remit.workspace.process_launch import NotStarted, by_door, launch_once
from remit.workspace.sandbox import Facilities, Grounds, Sandbox
from remit.workspace.sandbox_filters import network_sockets, no_sockets
from remit.workspace.sandbox_rights import landlock_abi, limits, may_mount
from remit.workspace.sandbox_secrets import WorkspaceSecrets

SECONDS = 10.0
"""For one try."""

_NOTHING = ("true",)
_PORT = 1024
_SYSTEM_PROGRAMS = "/usr/local/bin:/usr/bin:/bin"

_LOST: dict[str, tuple[str, ...]] = {
    "user": ("user", "mounts", "read_only", "devices", "pid", "proc", "net"),
    "mounts": ("mounts", "read_only", "devices", "proc"),
    "read_only": ("read_only",),
    "devices": ("devices",),
    "pid": ("pid", "proc"),
    "proc": ("proc",),
    "net": ("net",),
    "landlock": ("landlock",),
    "seccomp": ("seccomp", "families"),
}
"""By the step that failed: what is done without."""

_NAMES = {
    "user": "user namespaces",
    "mounts": "mount namespaces",
    "read_only": "read-only mounts",
    "devices": "devices in a mount namespace",
    "pid": "PID namespaces",
    "proc": "a /proc of its own",
    "net": "network namespaces",
    "landlock": "Landlock",
    "seccomp": "seccomp",
}


def wished() -> Facilities:
    """All that this system could have, before anything is tried."""
    user = not may_mount()
    abi = landlock_abi()
    why = {} if abi else {"landlock": "this kernel has no Landlock, or it is off"}
    return Facilities(
        user=user,
        mounts=True,
        read_only=True,
        devices=True,
        pid=True,
        proc=True,
        net=True,
        landlock=abi,
        families=bool(network_sockets()),
        why=why,
    )


def find_bubblewrap() -> str:
    """The program bwrap of this system, or "". Only where the system keeps programs: that of a workspace, or of
    a directory that anybody writes to, would confine nothing."""
    return shutil.which("bwrap", path=_SYSTEM_PROGRAMS) or ""


def probe(
    grounds: Grounds, secrets: WorkspaceSecrets | None, wish: Facilities, bubblewrap: str = "", *, opens: bool = False
) -> Sandbox:
    """A sandbox of all that can be had of `wish`, all of it tried out together. bubblewrap: the program that is
    tried where nothing can be hidden by our own means, or "". opens: commands are to be given a way out, which takes
    trying out where that program makes the namespaces."""
    have = wish
    while True:
        sandbox = Sandbox(have, grounds, secrets)
        try:
            _try(sandbox)
        except NotStarted as problem:
            less = without(have, problem)
            if less is None:
                return Sandbox(Facilities(why={"landlock": _said(problem), "pid": _said(problem)}), grounds, secrets)
            have = less
        else:
            break
    if have.mounts or not bubblewrap:
        return sandbox
    confined = _by_bubblewrap(bubblewrap, have, grounds, secrets)
    if confined is None:
        return sandbox
    return _opened(confined, grounds, secrets) if opens else confined


def without(have: Facilities, problem: NotStarted) -> Facilities | None:
    """The facilities less the one that the system refused; None when none of them is to blame."""
    lost = _LOST.get(problem.step)
    if lost is None or not any(getattr(have, name) for name in lost):
        return None
    changes = {name: type(getattr(have, name))() for name in lost}
    less = msgspec.structs.replace(have, **changes, why={**have.why, **{name: _said(problem) for name in lost}})
    if not less.net and problem.step != "seccomp" and "seccomp" not in less.why and no_sockets():
        less = msgspec.structs.replace(less, seccomp=True)
    if less.user and not (less.mounts or less.pid or less.net):
        less = msgspec.structs.replace(less, user=False)
    return less


def _by_bubblewrap(
    program: str, have: Facilities, grounds: Grounds, secrets: WorkspaceSecrets | None
) -> Sandbox | None:
    """A sandbox made by bwrap, if that works here; with filters of calls where it takes them."""
    for families in dict.fromkeys((bool(network_sockets()), False)):
        sandbox = Sandbox(Facilities(bubblewrap=program, families=families, why=have.why), grounds, secrets)
        with suppress(NotStarted):
            if _try(sandbox) == 0:
                return sandbox
    return None


def _opened(sandbox: Sandbox, grounds: Grounds, secrets: WorkspaceSecrets | None) -> Sandbox:
    """The same with a way out, if that can be had; else with the reason."""
    have = msgspec.structs.replace(sandbox.facilities, door=True)
    try:
        code = _try(Sandbox(have, grounds, secrets))
        why = f"ends with exit code {code}" if code else ""
    except NotStarted as problem:
        why = f"says {problem.text}"
    if why:
        told = f"what would lead there from inside bubblewrap {why}"
        have = msgspec.structs.replace(have, door=False, why={**have.why, "door": told})
    return Sandbox(have, grounds, secrets)


def _try(sandbox: Sandbox) -> int:
    door = sandbox.door()
    request = Request(
        argv=[os.fsencode(word) for word in sandbox.wrap(door or _NOTHING, "/")],
        environment={b"PATH": b"/usr/local/bin:/usr/bin:/bin"},
        directory="/",
        identity=None,
        grace=0.0,
        limits=limits(),
        jail=sandbox.jail(),
    )
    if door:
        request = by_door(request, [os.fsencode(word) for word in _NOTHING], _PORT)
    return launch_once(request, SECONDS).code


def _said(problem: NotStarted) -> str:
    name = _NAMES.get(problem.step, problem.step)
    return f"the system refuses {name}: {problem.text}"
