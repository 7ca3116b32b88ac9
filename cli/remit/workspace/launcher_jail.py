"""Confinement of one command, put on inside the launcher.

Two halves: `enter` changes what the command will see (namespaces and mounts), `restrict` takes rights
away from the process that becomes the command. All of it holds, or `Refused` says which step did not.
"""

from __future__ import annotations

import os
import stat

from remit.workspace.launcher_kernel import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    Kernel,
)
from remit.workspace.process_tree import quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from remit.workspace.launcher_request import Attach, Jail, Mounts

MAX_PROCESSES = 8192
MASK_FILE = "file"

_PATH = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_QUIET = MS_NOSUID | MS_NOEXEC
_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)


class Refused(Exception):
    """A step that the system refused. step: which. problem: with what."""

    def __init__(self, step: str, problem: OSError) -> None:
        super().__init__(step, problem)
        self.step = step
        self.problem = problem


def attempt(step: str, do: Callable[..., Any], *arguments: Any) -> Any:
    """Call it; an OSError becomes Refused."""
    try:
        return do(*arguments)
    except OSError as problem:
        raise Refused(step, problem) from None


def enter(kernel: Kernel, jail: Jail) -> None:
    """Leave the namespaces of the system, as far as one process can do that for itself."""
    if jail["user"]:
        attempt("user", _enter_user, kernel)
    if jail["mounts"] is not None:
        attempt("mounts", kernel.unshare, CLONE_NEWNS)
        _build(kernel, jail["mounts"])
    if jail["net"]:
        attempt("net", kernel.unshare, CLONE_NEWNET | CLONE_NEWIPC)
        attempt("net", kernel.raise_loopback)
    if jail["pid"]:
        attempt("pid", kernel.unshare, CLONE_NEWPID)


def show_own_processes(kernel: Kernel, read_only: bool) -> None:
    """As first process of a PID namespace: a /proc of our own, with a bound on how many there can be."""
    attempt("proc", kernel.mount, "proc", "/proc", "proc", _QUIET | MS_NODEV, "")
    # Systems before Linux 6.14 have one bound for all namespaces, which is not ours to set.
    quietly(_write, "/proc/sys/kernel/pid_max", str(MAX_PROCESSES))
    if read_only:
        attempt("proc", _on, "/proc", kernel.make_read_only)


def restrict(kernel: Kernel, jail: Jail) -> None:
    """The last step before the command: no way back from here."""
    attempt("rights", kernel.gain_nothing)
    attempt("rights", kernel.keep_capabilities, frozenset(jail["capabilities"]))
    if jail["landlock"] is not None:
        attempt("landlock", _landlock, kernel, jail["landlock"])
    for program in jail["seccomp"]:
        attempt("seccomp", kernel.filter_calls, program)


def _enter_user(kernel: Kernel) -> None:
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(CLONE_NEWUSER)
    # Without this a process could give up a group that a file's mode shuts out.
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def _build(kernel: Kernel, mounts: Mounts) -> None:
    attempt("mounts", kernel.mount, "none", "/", "", MS_REC | MS_PRIVATE, "")
    # Copies of what stays writable are taken before all else turns read only.
    trees = [attempt("mounts", _tree, kernel, path, fixed) for path, fixed in mounts["trees"]]
    devices = [(name, tree) for name in mounts["devices"] if (tree := _device(kernel, name)) >= 0]
    masks = attempt("mounts", _masks, kernel, mounts)
    if mounts["read_only"]:
        attempt("read_only", _on, "/", kernel.make_read_only)
    shown = [
        attempt("mounts", kernel.clone_tree, each["mask"], masks) if each["mask"] else trees[each["tree"]]
        for each in mounts["attach"]
    ]
    if devices:
        attempt("devices", _devices, kernel, devices)
    for each, tree in zip(mounts["attach"], shown, strict=True):
        attempt("mounts", _attach, kernel, each, tree)
    # Held open, a copy from the old view would be a door back into it.
    for fd in {masks, *trees, *shown, *(tree for _, tree in devices)}:
        os.close(fd)


def _tree(kernel: Kernel, path: str, read_only: bool) -> int:
    tree = kernel.clone_tree(path)
    if read_only:
        kernel.make_read_only(tree)
    return tree


def _device(kernel: Kernel, name: str) -> int:
    try:
        return kernel.clone_tree(f"/dev/{name}")
    except OSError:
        return -1


def _masks(kernel: Kernel, mounts: Mounts) -> int:
    """The mask directory, filled: what will be seen in the place of what is hidden."""
    kernel.mount("masks", mounts["mask_dir"], "tmpfs", _QUIET | MS_NODEV, "size=1m,nr_inodes=8k,mode=700")
    masks = os.open(mounts["mask_dir"], _PATH | os.O_DIRECTORY)
    make_unreadable(MASK_FILE, masks)
    for name, below in mounts["folders"]:
        for path in (name, *(f"{name}/{inner}" for inner in below)):
            _make_folders(path, masks)
        if not below:
            os.chmod(name, 0, dir_fd=masks)
    return masks


def make_unreadable(name: str, folder: int) -> None:
    """Something in the place of a file that nobody reads, where devices are not opened: not even root, whom the mode
    of a file does not stop. A program that would read it fails, rather than take it for an empty file."""
    try:
        os.mknod(name, stat.S_IFCHR, 0, dir_fd=folder)
    except OSError:
        # Systems before Linux 5.8 lend this device to root alone, and some file systems to nobody.
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0, dir_fd=folder))


def _make_folders(path: str, folder: int) -> None:
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        if not os.access(path, os.F_OK, dir_fd=folder):
            os.mkdir(path, 0o755, dir_fd=folder)


def _devices(kernel: Kernel, devices: list[tuple[str, int]]) -> None:
    """A /dev with harmless devices, terminals and shared memory of its own."""
    kernel.mount("devices", "/dev", "tmpfs", _QUIET, "size=64k,mode=755")
    for name, tree in devices:
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_CLOEXEC, 0o666))
        _show(kernel, tree, f"/dev/{name}")
    for link, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"/dev/{link}")
    os.mkdir("/dev/shm")
    kernel.mount("memory", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=1g,mode=1777")
    os.mkdir("/dev/pts")
    kernel.mount("terminals", "/dev/pts", "devpts", _QUIET, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")


def _attach(kernel: Kernel, each: Attach, tree: int) -> None:
    if not each["mask"]:
        _make_place(each["target"])
    try:
        _show(kernel, tree, each["target"], each["identity"])
    except _ABSENT:
        if each["mask"] and each["identity"] is None:
            # What is not there, or not to be reached, needs no mask.
            return
        raise


def _show(kernel: Kernel, tree: int, target: str, identity: tuple[int, int] | None = None) -> None:
    place = os.open(target, _PATH)
    try:
        facts = os.fstat(place)
        if identity not in (None, (facts.st_dev, facts.st_ino)):
            raise FileNotFoundError(2, "it was moved", target)
        kernel.attach(tree, place)
    finally:
        os.close(place)


def _make_place(path: str) -> None:
    """A kept directory may lie in one that shows something else now."""
    if not os.path.exists(path):
        os.makedirs(path)


def _landlock(kernel: Kernel, landlock: Any) -> None:
    rules = []
    try:
        for path, rights in landlock["rules"]:
            try:
                rules.append((os.open(path, _PATH), rights))
            except FileNotFoundError:
                continue
        kernel.landlock(landlock["files"], landlock["scopes"], rules)
    finally:
        for fd, _ in rules:
            os.close(fd)


def _on(path: str, do: Callable[[int], Any]) -> None:
    fd = os.open(path, _PATH)
    try:
        do(fd)
    finally:
        os.close(fd)


def _write(path: str, text: str) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(text.encode())
