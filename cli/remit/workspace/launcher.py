"""The process between remit and its commands: starts them, outlives them, and leaves nothing of them behind.

It runs as `python -I -S -c "..." FD`, or as `remit __exec FD` where remit is one frozen program. FD is a
socket on which each command comes as three descriptors: a socket of its own, its stdout and its stderr. A fourth,
where there is one, is the door: a socket for what listens in the network namespace of the command, the way out of it.
A child of the launcher serves it: through that socket a request comes in (length and `marshal`, see
`launcher_request`), and lines go out:

    failed STEP ERRNO TEXT      the command was not started
    started PID                 the command's process, and its group; 0 where it has a PID namespace
    exited STATUS               wait status of the command; all it started has ended too
    outlived STATUS             the same, but something could not be ended

Later a byte on the socket asks everything to end, with a grace; its end is the end of remit, or of its
interest, and kills everything at once. From our side the socket ends when the last process has ended.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import sys
import time

from remit.workspace.launcher_door import hand_out_listener
from remit.workspace.launcher_jail import Refused, attempt, enter, restrict, show_own_processes
from remit.workspace.launcher_kernel import Kernel
from remit.workspace.process_tree import Descendants, OwnNamespace, Reaper, end_all, quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import NoReturn

    from remit.workspace.launcher_request import Inside, Request

KILL_SECONDS = 5.0
"""To end a tree that has to go."""

REAP_SECONDS = 1.0
"""Between looks for orphans that ended, while the command runs."""

_SIGTERM, _SIGPIPE, _SIGXFSZ = 15, 13, 25
_MAX_FD = 1 << 20
_PAUSE = 0.01
_LENT = 20


def main(arguments: list[str]) -> NoReturn:
    """Serve the commands that come through the socket arguments[0], until that ends."""
    import socket

    fd = int(arguments[0])
    # What remit was started with is nothing to commands.
    os.closerange(3, fd)
    os.closerange(fd + 1, _MAX_FD)
    os.setsid()
    with socket.socket(fileno=fd) as calls:
        calls.set_inheritable(False)
        while True:
            word, fds, _, _ = socket.recv_fds(calls, 1, 4)
            if not word:
                break
            _serve_apart(calls, fds)
    os._exit(0)


def _serve_apart(calls: socket.socket, fds: list[int]) -> None:
    """Serve one command in a child."""
    control, stdout, stderr, *rest = fds
    try:
        child = os.fork()
    except OSError as problem:
        _tell(control, f"failed fork {problem.errno} {problem.strerror}")
        child = -1
    if child == 0:
        calls.close()
        # The command must not get hold of these: what it says there would be taken for ours.
        os.set_inheritable(control, False)
        for fd in rest:
            os.set_inheritable(fd, False)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.close(stdout)
        os.close(stderr)
        _serve_one(control, rest[0] if rest else -1)
    for fd in fds:
        os.close(fd)
    # Those that ended meanwhile; the last ones go with the launcher.
    quietly(_reap)


def _reap() -> None:
    while os.waitpid(-1, os.WNOHANG)[0]:
        continue


def _serve_one(control: int, door: int) -> NoReturn:
    try:
        request = marshal.loads(_message(control))
    except EOFError:
        # Nothing was asked: the interest was gone before the request.
        os._exit(0)
    try:
        _serve(control, door, request)
    except Refused as refused:
        _tell(control, f"failed {refused.step} {refused.problem.errno or 0} {refused.problem.strerror}")
    os._exit(0)


def _serve(control: int, door: int, request: Request) -> None:
    kernel = Kernel() if sys.platform == "linux" else None
    jail = request["jail"]
    if kernel is not None:
        attempt("tree", kernel.adopt_orphans)
        if os.geteuid() != 0:
            attempt("rights", kernel.lend_nothing)
    if jail is None or kernel is None:
        _supervise(control, request, kernel, Descendants(), door)
        return
    enter(kernel, jail)
    if jail["listen"]:
        attempt("listen", hand_out_listener, jail["listen"], door)
    _close(door)
    if not jail["pid"]:
        _supervise(control, request, kernel, Descendants())
        return
    first = attempt("pid", os.fork)
    if first:
        # When the first process of a PID namespace is gone, the system has killed all others in it.
        _silence()
        os.waitpid(first, 0)
        return
    attempt("pid", kernel.die_with_parent)
    if jail["proc"]:
        show_own_processes(kernel, jail["mounts"] is not None and jail["mounts"]["read_only"])
    _supervise(control, request, kernel, OwnNamespace())


def _supervise(
    control: int, request: Request, kernel: Kernel | None, tree: OwnNamespace | Descendants, door: int = -1
) -> None:
    """Start the command, wait for its end, and end all the rest. door: for the program that opens a way out."""
    child = attempt("fork", os.fork)
    if child == 0:
        _become(control, request, kernel, isinstance(tree, Descendants), door)
    _close(door)
    _silence()
    _tell(control, f"started {child if isinstance(tree, Descendants) else 0}")
    reaper = Reaper(child)
    _wait(control, child, reaper, tree, request["grace"])
    all_ended = end_all(tree, reaper, KILL_SECONDS)
    _tell(control, f"{'exited' if all_ended else 'outlived'} {9 if reaper.status is None else reaper.status}")


def _wait(control: int, child: int, reaper: Reaper, tree: OwnNamespace | Descendants, grace: float) -> None:
    """Until the command has ended, or must. Once asked to end, everything has the grace to do so."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    watch = _watch(child)
    if watch >= 0:
        poll.register(watch, select.POLLIN)
    pause = REAP_SECONDS if watch >= 0 else _PAUSE
    deadline = None
    while True:
        left = reaper.reap()
        if reaper.status is not None and (deadline is None or not left):
            return
        wait = pause if deadline is None else min(_PAUSE, deadline - time.monotonic())
        if wait <= 0:
            return
        ready = [fd for fd, _ in poll.poll(wait * 1000)]
        if deadline is not None and watch in ready:
            # It has ended, and would wake us without end.
            poll.unregister(watch)
            watch = -1
        if control in ready:
            if not _received(control, 1):
                return
            if deadline is None:
                tree.signal(_SIGTERM)
                deadline = time.monotonic() + grace


def _watch(child: int) -> int:
    """A descriptor that is readable once the child has ended; -1 where the system has none."""
    if sys.platform == "linux":
        try:
            return os.pidfd_open(child)
        except (AttributeError, OSError):
            pass
    return -1


def _become(control: int, request: Request, kernel: Kernel | None, dies_with_parent: bool, door: int) -> NoReturn:
    """Turn this process into the command."""
    try:
        os.setsid()
        attempt("directory", _change_directory, request)
        attempt("limits", _limit, request["limits"])
        attempt("stdin", _feed, request.get("stdin", b""))
        if "inside" in request:
            attempt("door", _lend, request, request["inside"], door)
        if kernel is not None:
            if dies_with_parent:
                attempt("tree", kernel.die_with_parent)
            if request["jail"] is not None:
                restrict(kernel, request["jail"])
            # Python ignores these; a program expects them as the system has them.
            kernel.default_signal(_SIGPIPE)
            kernel.default_signal(_SIGXFSZ)
        if not request["argv"]:
            os._exit(0)
        attempt("exec", os.execvpe, request["argv"][0], request["argv"], request["environment"])
    except Refused as refused:
        _tell(control, f"failed {refused.step} {refused.problem.errno or 0} {refused.problem.strerror}")
    except ValueError as problem:
        _tell(control, f"failed exec 22 {problem}")
    os._exit(127)


def _change_directory(request: Request) -> None:
    os.chdir(request["directory"])
    here = os.stat(".")
    if request["identity"] not in (None, (here.st_dev, here.st_ino)):
        raise FileNotFoundError(2, "it was moved or replaced", request["directory"])


def _feed(data: bytes) -> None:
    """Put what the command is told on its standard input, in a file that has no name: it need not be read."""
    if not data:
        return
    fd = _filled(data)
    os.dup2(fd, 0)
    os.close(fd)


def _lend(request: Request, inside: Inside, door: int) -> None:
    """Have the first program inside inherit the door and a file with the command, and tell it which they are."""
    import fcntl

    told = _filled(marshal.dumps(dict(inside)))
    lent = [fcntl.fcntl(fd, fcntl.F_DUPFD, _LENT) for fd in (door, told)]
    request["argv"] += [str(fd).encode() for fd in lent]


def _filled(data: bytes) -> int:
    fd = _unnamed()
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _unnamed() -> int:
    if sys.platform == "linux":
        return os.memfd_create("stdin")
    path = f"/tmp/remit-stdin-{os.getpid()}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return fd


def _limit(limits: list[tuple[int, int]]) -> None:
    for number, most in limits:
        _, hard = resource.getrlimit(number)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (bound, bound))


def _silence() -> None:
    os.dup2(0, 1)
    os.dup2(0, 2)


def _close(fd: int) -> None:
    if fd >= 0:
        os.close(fd)


def _message(control: int) -> bytes:
    size = int.from_bytes(_received(control, 4), "big")
    return _received(control, size)


def _received(control: int, size: int) -> bytes:
    parts = []
    while size > 0:
        try:
            part = os.read(control, size)
        except OSError:
            part = b""
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _tell(control: int, line: str) -> None:
    # Perhaps nobody listens any more.
    quietly(os.write, control, line.encode("utf-8", "replace") + b"\n")
