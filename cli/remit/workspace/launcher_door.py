"""The way out of a network namespace: what listens in there is handed to those outside, who take what connects.

As a program it is the first one in namespaces that were made for a command by others, such as `bwrap`, and turns into
the command. It runs as `python -I -S THIS_FILE DOOR TOLD`, or as `remit __door DOOR TOLD` where remit is one frozen
program. TOLD is a file that holds the command (`marshal`, see `launcher_request.Inside`). Through the socket DOOR goes
the listening socket, with an empty line, and

    failed STEP ERRNO TEXT      the command was not started

The command gets hold of neither. Nothing of remit is loaded, and little else: every command waits for it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` takes longer than all the rest
import _socket
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

BACKLOG = 128

_MAX_FD = 1 << 20
_FD_BYTES = 4


def hand_out_listener(port: int, door: int) -> None:
    """Listen in our network namespace for those at the other end of a door, which stays open: a socket stays in the
    namespace that it was made in, whoever holds it."""
    listener, way = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM), _socket.socket(fileno=door)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(BACKLOG)
        fd = listener.fileno().to_bytes(_FD_BYTES, sys.byteorder)
        way.sendmsg([b"\n"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd)])
    finally:
        way.detach()
        listener.close()


def main(arguments: list[str]) -> NoReturn:
    """Open the way out, and turn into the command."""
    door, told = (int(each) for each in arguments)
    with open(told, "rb") as file:
        command = marshal.load(file)
    os.set_inheritable(door, False)
    os.closerange(3, door)
    os.closerange(door + 1, _MAX_FD)
    step = "listen"
    try:
        hand_out_listener(command["port"], door)
        # Python ignores these; a program expects them as the system has them.
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        if not command["argv"]:
            os._exit(0)
        step = "exec"
        os.execvpe(command["argv"][0], command["argv"], command["environment"])
    except OSError as problem:
        failure = f"failed {step} {problem.errno or 0} {problem.strerror}\n"
    except ValueError as problem:
        failure = f"failed {step} 22 {problem}\n"
    os.write(door, failure.encode("utf-8", "replace"))
    os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
