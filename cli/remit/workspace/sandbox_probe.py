"""Finding out what a machine lends to confine commands: by putting it all on and running nothing."""

from __future__ import annotations

import errno
import os
import shutil
import signal

import msgspec

from remit.base.errors import PreflightFault
from remit.workspace.launcher_request import Request
from remit.workspace.process_launch import START_SECONDS, NotStarted, by_door, launch_once
from remit.workspace.sandbox import Facilities, Grounds, Sandbox
from remit.workspace.sandbox_filters import network_sockets, no_sockets
from remit.workspace.sandbox_rights import landlock_abi, limits, may_mount
from remit.workspace.sandbox_secrets import WorkspaceSecrets

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

_OF_OTHERS = ("exec", "door", "listen")
"""Steps that fail where a program of others does not work here, and nothing else is wrong."""

_PASSING = frozenset(
    {errno.EAGAIN, errno.EINTR, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ETIMEDOUT}
)
"""What the system says where it could, were there more left: this is no refusal."""

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
    "launcher": "what starts commands",
    "private": "the directory of what replaces others",
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
    trying out where that program makes the namespaces.

    Raises PreflightFault where trying it out fails for another reason than that the system refuses a facility: what
    it could do is not known then, and commands must not run as if it could do nothing."""
    try:
        return _probe(grounds, secrets, wish, bubblewrap, opens)
    except OSError as problem:
        raise _not_tried(NotStarted("private", problem.errno or 0, str(problem))) from problem


def _probe(
    grounds: Grounds, secrets: WorkspaceSecrets | None, wish: Facilities, bubblewrap: str, opens: bool
) -> Sandbox:
    have = wish
    while problem := _refused(sandbox := Sandbox(have, grounds, secrets)):
        less = without(have, problem)
        if less is None:
            raise _not_tried(problem)
        have = less
    if have.mounts or not bubblewrap:
        return sandbox
    confined, why = _by_bubblewrap(bubblewrap, have, grounds, secrets)
    if why:
        reason = "; ".join(filter(None, (have.why.get("mounts"), f"bubblewrap {why}")))
        return Sandbox(msgspec.structs.replace(have, why={**have.why, "mounts": reason}), grounds, secrets)
    return _opened(confined, grounds, secrets) if opens else confined


def without(have: Facilities, problem: NotStarted) -> Facilities | None:
    """The facilities less the one that the system refused; None when none of them is to blame."""
    lost = _LOST.get(problem.step)
    if lost is None or problem.number in _PASSING or not any(getattr(have, name) for name in lost):
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
) -> tuple[Sandbox, str]:
    """A sandbox made by bwrap, with filters of calls where it takes them; and why that does not work here, or ""."""
    sandbox, why = Sandbox(have, grounds, secrets), ""
    for families in dict.fromkeys((bool(network_sockets()), False)):
        sandbox = Sandbox(Facilities(bubblewrap=program, families=families, why=have.why), grounds, secrets)
        why = _fails(sandbox)
        if not why:
            break
    return sandbox, why


def _opened(sandbox: Sandbox, grounds: Grounds, secrets: WorkspaceSecrets | None) -> Sandbox:
    """The same with a way out, if that can be had; else with the reason."""
    have = msgspec.structs.replace(sandbox.facilities, door=True)
    why = _fails(Sandbox(have, grounds, secrets))
    if why:
        told = f"what would lead there from inside bubblewrap {why}"
        have = msgspec.structs.replace(have, door=False, why={**have.why, "door": told})
    return Sandbox(have, grounds, secrets)


def _refused(sandbox: Sandbox) -> NotStarted | None:
    """What did not hold of a sandbox by our own means."""
    try:
        code, _ = _try(sandbox)
    except NotStarted as problem:
        return problem
    return NotStarted("launcher", 0, f"it ended with {code}") if code else None


def _fails(sandbox: Sandbox) -> str:
    """How a sandbox made by a program of others fails, or "". Raises PreflightFault where it is not to blame."""
    try:
        code, printed = _try(sandbox)
    except NotStarted as problem:
        if problem.step not in _OF_OTHERS or problem.number in _PASSING:
            raise _not_tried(problem) from None
        return f"says {problem.text}"
    if code == -signal.SIGKILL:
        raise _not_tried(NotStarted("launcher", 0, "it was killed"))
    if code:
        return f"ends with exit code {code}"
    return "" if printed or sandbox.facilities.door else "does not run what it is given"


def _try(sandbox: Sandbox) -> tuple[int, bytes]:
    """What comes of running nothing in this sandbox, its exit code and output. No program of the system is needed for
    it, except for the one that makes the namespaces, where that is not us: it tells its version from inside."""
    door, program = sandbox.door(), sandbox.facilities.bubblewrap
    nothing = door or ((program, "--version") if program else ())
    request = Request(
        argv=[os.fsencode(word) for word in sandbox.wrap(nothing, "/")],
        environment={b"PATH": b"/usr/local/bin:/usr/bin:/bin"},
        directory="/",
        identity=None,
        grace=0.0,
        limits=limits(),
        jail=sandbox.jail(),
    )
    if door:
        request = by_door(request, [], _PORT)
    try:
        ended, printed = launch_once(request, START_SECONDS)
    except OSError as problem:
        raise NotStarted("launcher", problem.errno or 0, problem.strerror or str(problem)) from None
    return ended.code, printed


def _not_tried(problem: NotStarted) -> PreflightFault:
    name = _NAMES.get(problem.step, f"the step `{problem.step}`")
    return PreflightFault(
        f"what this machine lends to confine commands cannot be found out: {name} fails: {problem.text}",
        where="sandbox",
        hint='see to that and try again; `[sandbox] mode` "off" runs commands unconfined',
        kind="sandbox",
    )


def _said(problem: NotStarted) -> str:
    name = _NAMES.get(problem.step, problem.step)
    return f"the system refuses {name}: {problem.text}"
