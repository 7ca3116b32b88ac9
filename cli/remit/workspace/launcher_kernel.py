"""The Linux system calls that Python has no name for. For the launcher alone: whatever the standard
library loads beyond `ctypes` is time that every command waits."""

from __future__ import annotations

import ctypes
import os
import struct

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 36, 38
PR_CAP_AMBIENT = 47
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_FROM_FD, _MOVE_TO_FD = 0x4, 0x40
_MOUNT_ATTR_RDONLY = 1
_SIGKILL = 9
_CLEAR_ALL = 4
_AF_INET, _SOCK_DGRAM, _SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 2, 2, 0x8914, 0x1, 0x40
_CAPABILITY_VERSION = 0x20080522
_SECCOMP_MODE_FILTER = 2


class Kernel:
    """Every method raises OSError when the system refuses."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.syscall.restype = ctypes.c_long

    def _checked(self, answer: int) -> int:
        if answer < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return answer

    def _syscall(self, number: int, *arguments: object) -> int:
        return self._checked(self._libc.syscall(ctypes.c_long(number), *arguments))

    def _prctl(self, option: int, argument: int) -> None:
        zero = ctypes.c_ulong(0)
        self._checked(self._libc.prctl(option, ctypes.c_ulong(argument), zero, zero, zero))

    def adopt_orphans(self) -> None:
        """What our descendants leave behind becomes our child, never that of the system's first process."""
        self._prctl(PR_SET_CHILD_SUBREAPER, 1)

    def die_with_parent(self) -> None:
        self._prctl(PR_SET_PDEATHSIG, _SIGKILL)

    def lend_nothing(self) -> None:
        """No program started from here on inherits a capability that we were lent."""
        self._checked(self._libc.prctl(PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0))

    def gain_nothing(self) -> None:
        """No program started from here on has more rights than its caller (set-uid, capabilities)."""
        self._prctl(PR_SET_NO_NEW_PRIVS, 1)

    def default_signal(self, number: int) -> None:
        self._libc.signal.restype = ctypes.c_void_p
        self._libc.signal(number, None)

    def unshare(self, flags: int) -> None:
        self._checked(self._libc.unshare(flags))

    def mount(self, source: str, target: str, kind: str, flags: int, options: str) -> None:
        """kind "": change the mount that is there."""
        words = [word.encode("utf-8", "surrogateescape") or None for word in (source, target, kind)]
        self._checked(self._libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None))

    def clone_tree(self, path: str, folder: int = _AT_FDCWD) -> int:
        """A copy of what is mounted at `path` and below, not yet to be seen anywhere: a descriptor."""
        return self._syscall(_OPEN_TREE, folder, os.fsencode(path), _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE)

    def attach(self, tree: int, target: int) -> None:
        """Show a copy at the place that the descriptor `target` is open on."""
        self._syscall(_MOVE_MOUNT, tree, b"", target, b"", _MOVE_FROM_FD | _MOVE_TO_FD)

    def make_read_only(self, tree: int) -> None:
        """The mount that this descriptor is open on, and all below it."""
        attributes = struct.pack("=QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
        self._syscall(
            _MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes, ctypes.c_size_t(len(attributes))
        )

    def raise_loopback(self) -> None:
        """Let the processes of a new network namespace reach one another."""
        fd = self._checked(self._libc.socket(_AF_INET, _SOCK_DGRAM | os.O_CLOEXEC, 0))
        try:
            request = ctypes.create_string_buffer(struct.pack("16sh22x", b"lo", _IFF_UP | _IFF_RUNNING))
            self._checked(self._libc.ioctl(fd, ctypes.c_ulong(_SIOCSIFFLAGS), request))
        finally:
            os.close(fd)

    def keep_capabilities(self, kept: frozenset[int]) -> None:
        """Give up all capabilities but these, for good."""
        mask = sum(1 << number for number in kept)
        for number in range(64):
            if number not in kept and self._libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
                break
        low, high = mask & 0xFFFFFFFF, mask >> 32
        header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        held = _held_capabilities()
        low, high = low & held, high & (held >> 32)
        self._checked(self._libc.capset(header, struct.pack("=6I", low, low, 0, high, high, 0)))

    def landlock_abi(self) -> int:
        """The version of Landlock. Raises OSError where there is none, or it is switched off."""
        return self._syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)

    def landlock(self, files: int, scopes: int, rules: list[tuple[int, int]]) -> None:
        """Deny the `files` rights everywhere but below the directories (descriptor, rights) of `rules`, and what
        `scopes` names, to this process and all it starts. Needs `gain_nothing`."""
        attributes = struct.pack("=QQQ", files, 0, scopes)[: 24 if scopes else 8]
        ruleset = self._syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
        try:
            for fd, rights in rules:
                self._syscall(_LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, fd), 0)
            self._syscall(_LANDLOCK_RESTRICT, ruleset, 0)
        finally:
            os.close(ruleset)

    def filter_calls(self, program: bytes) -> None:
        """A seccomp filter for this process and all it starts. Needs `gain_nothing`."""
        code = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
        self._checked(self._libc.prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0))


def _held_capabilities() -> int:
    """The capabilities we may use, as a bit set; 0 where the system does not tell."""
    try:
        with open("/proc/self/status", "rb") as status:
            line = next((line for line in status if line.startswith(b"CapPrm:")), b"CapPrm: 0")
    except OSError:
        return 0
    return int(line.split()[1], 16)
