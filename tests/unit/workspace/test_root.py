from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.unprivileged import unprivileged
from remit.base.errors import ErrorCode, Failure, UsageFault
from remit.workspace.beneath import KernelOpener, StepOpener, fd_path, relative_to
from remit.workspace.root import Root

OpenRoot = Callable[[Path], Root]


def read(root: Root, name: str) -> bytes:
    fd, _ = root.open_file(name)
    with os.fdopen(fd, "rb") as file:
        return file.read()


def refused(root: Root, name: str) -> ErrorCode:
    """The code with which reading, looking and resolving refuse a name alike."""
    with pytest.raises(Failure) as caught:
        root.open_file(name)
    with pytest.raises(Failure) as looked:
        root.look(name)
    assert looked.value.code is caught.value.code
    return caught.value.code


def open_fds() -> int:
    return len(os.listdir("/proc/self/fd"))


# what stays inside


def test_files_and_directories(open_root: OpenRoot, workspace: Path) -> None:
    root = open_root(workspace)
    assert read(root, "a.txt") == b"alpha"
    assert read(root, "docs/b.txt") == b"beta"
    assert root.look("docs").is_directory
    assert root.look("docs/b.txt") == root.look("docs/b.txt")
    assert root.look(".").real == "."
    assert root.look("docs/b.txt").real == "docs/b.txt"


@pytest.mark.parametrize(
    ("link", "target", "real"),
    [
        ("l", "a.txt", "a.txt"),
        ("l", "./docs/./b.txt", "docs/b.txt"),
        ("l", "docs//b.txt", "docs/b.txt"),
        ("docs/l", "../a.txt", "a.txt"),
        ("docs/l", "../docs/../docs/b.txt", "docs/b.txt"),
        ("docs/deep/l", "../../a.txt", "a.txt"),
    ],
)
def test_inner_links_are_followed(open_root: OpenRoot, workspace: Path, link: str, target: str, real: str) -> None:
    (workspace / "docs/deep").mkdir()
    (workspace / link).symlink_to(target)
    root = open_root(workspace)
    assert root.look(link).real == real
    assert root.resolve(link) == real
    assert read(root, link) == (workspace / real).read_bytes()


@pytest.mark.parametrize("target", ["docs", "docs/", "./docs/.", "docs/deep/.."])
def test_links_to_directories(open_root: OpenRoot, workspace: Path, target: str) -> None:
    (workspace / "docs/deep").mkdir()
    (workspace / "l").symlink_to(target)
    root = open_root(workspace)
    assert root.look("l").real == "docs"
    assert root.look("l/b.txt").real == "docs/b.txt"
    assert read(root, "l/b.txt") == b"beta"
    fd, found = root.open_directory("l")
    os.close(fd)
    assert found.real == "docs"


def test_an_absolute_link_that_stays_inside_is_followed(workspace: Path) -> None:
    (workspace / "l").symlink_to(workspace / "docs")
    for opener in (KernelOpener(), StepOpener()):
        with Root(workspace, opener=opener) as root:
            assert root.look("l/b.txt").real == "docs/b.txt"
            assert read(root, "l/b.txt") == b"beta"


def test_without_descriptor_paths_an_absolute_link_is_refused(workspace: Path) -> None:
    (workspace / "l").symlink_to(workspace / "docs")
    with Root(workspace, opener=StepOpener(lambda fd: None), path_of=lambda fd: None) as root:
        assert refused(root, "l/b.txt") is ErrorCode.PATH_REFUSED


def test_chains_of_links(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l0").symlink_to("a.txt")
    for step in range(1, 40):
        (workspace / f"l{step}").symlink_to(f"l{step - 1}")
    root = open_root(workspace)
    assert root.look("l39").real == "a.txt"
    (workspace / "l40").symlink_to("l39")
    assert refused(root, "l40") is ErrorCode.PATH_REFUSED


def test_hard_links_are_files_of_their_own_name(open_root: OpenRoot, workspace: Path) -> None:
    os.link(workspace / "a.txt", workspace / "docs/same.txt")
    root = open_root(workspace)
    assert root.look("docs/same.txt").real == "docs/same.txt"
    assert read(root, "docs/same.txt") == b"alpha"


def test_unicode_forms_are_names_of_their_own(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "caf\u00e9.txt").write_text("composed")
    (workspace / "cafe\u0301.txt").write_text("decomposed")
    root = open_root(workspace)
    assert read(root, "caf\u00e9.txt") == b"composed"
    assert read(root, "cafe\u0301.txt") == b"decomposed"
    assert root.look("cafe\u0301.txt").real == "cafe\u0301.txt"


def test_names_that_are_not_utf8(open_root: OpenRoot, workspace: Path) -> None:
    raw = os.fsencode(workspace) + b"/caf\xe9.txt"
    Path(os.fsdecode(raw)).write_text("latin")
    root = open_root(workspace)
    assert read(root, "caf\udce9.txt") == b"latin"
    assert root.look("caf\udce9.txt").real == "caf\udce9.txt"


def test_200_levels(open_root: OpenRoot, workspace: Path) -> None:
    deep = "/".join("d" * 200)
    (workspace / deep).mkdir(parents=True)
    (workspace / deep / "x.txt").write_text("deep")
    (workspace / deep / "up").symlink_to("../" * 200 + "a.txt")
    root = open_root(workspace)
    assert read(root, f"{deep}/x.txt") == b"deep"
    assert root.look(f"{deep}/up").real == "a.txt"
    (workspace / deep / "out").symlink_to("../" * 201 + "outside/secret.txt")
    assert refused(root, f"{deep}/out") is ErrorCode.PATH_REFUSED


def test_a_name_that_ends_like_a_deleted_one(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "x (deleted)").write_text("here")
    root = open_root(workspace)
    assert root.look("x (deleted)").real == "x (deleted)"
    assert read(root, "x (deleted)") == b"here"


# what leaves


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("l", "../outside/secret.txt"),
        ("l", "docs/../../outside/secret.txt"),
        ("l", "../ws/../outside/secret.txt"),
        ("l", "/etc/passwd"),
        ("l", "/"),
        ("l", ".."),
        ("docs/l", "../../outside/secret.txt"),
        ("docs/l", "../../outside/missing.txt"),
        ("l", "/nowhere/at/all"),
    ],
)
def test_links_that_leave_are_refused(open_root: OpenRoot, workspace: Path, link: str, target: str) -> None:
    (workspace / link).symlink_to(target)
    root = open_root(workspace)
    assert refused(root, link) is ErrorCode.PATH_REFUSED
    with pytest.raises(Failure) as caught:
        root.resolve(link)
    assert caught.value.code is ErrorCode.PATH_REFUSED
    assert "out of the workspace" in caught.value.message


def test_leaving_and_coming_back_is_leaving(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("../ws/a.txt")
    assert refused(open_root(workspace), "l") is ErrorCode.PATH_REFUSED


@pytest.mark.parametrize("name", ["l/secret.txt", "l/missing", "l2/secret.txt", "docs/l3/secret.txt"])
def test_directories_that_lead_out(open_root: OpenRoot, workspace: Path, name: str) -> None:
    (workspace / "l").symlink_to("../outside")
    (workspace / "l2").symlink_to("l")
    (workspace / "docs/l3").symlink_to("../l2")
    root = open_root(workspace)
    assert refused(root, name) is ErrorCode.PATH_REFUSED
    with pytest.raises(Failure) as caught:
        root.resolve(name)
    assert caught.value.code is ErrorCode.PATH_REFUSED


def test_a_neighbour_with_the_same_prefix_is_outside(open_root: OpenRoot, workspace: Path) -> None:
    neighbour = workspace.with_name("ws-other")
    neighbour.mkdir()
    (neighbour / "x.txt").write_text("outside")
    (workspace / "l").symlink_to(neighbour / "x.txt")
    assert refused(open_root(workspace), "l") is ErrorCode.PATH_REFUSED


@pytest.mark.parametrize("name", ["cwd", "exe", "root/etc/passwd", "fd/0"])
def test_magic_links_of_proc_are_refused(open_root: OpenRoot, name: str) -> None:
    root = open_root(Path(f"/proc/{os.getpid()}"))
    with pytest.raises(Failure) as caught:
        root.open_file(name)
    assert caught.value.code in (ErrorCode.PATH_REFUSED, ErrorCode.NOT_FOUND)


@pytest.mark.parametrize(("link", "target"), [("loop", "loop"), ("loop", "pool"), ("loop", "docs/../loop")])
def test_loops(open_root: OpenRoot, workspace: Path, link: str, target: str) -> None:
    (workspace / link).symlink_to(target)
    (workspace / "pool").symlink_to("loop")
    root = open_root(workspace)
    assert refused(root, link) is ErrorCode.PATH_REFUSED
    with pytest.raises(Failure, match="loop of links"):
        root.resolve(link)


# what is not there, or is no file


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("missing", ErrorCode.NOT_FOUND),
        ("missing/x", ErrorCode.NOT_FOUND),
        ("docs/missing", ErrorCode.NOT_FOUND),
        ("dangling", ErrorCode.NOT_FOUND),
        ("a.txt/x", ErrorCode.NOT_A_DIRECTORY),
        ("slash", ErrorCode.NOT_A_DIRECTORY),
        ("x" * 256, ErrorCode.PATH_REFUSED),
    ],
)
def test_absent(open_root: OpenRoot, workspace: Path, name: str, code: ErrorCode) -> None:
    (workspace / "dangling").symlink_to("docs/none")
    (workspace / "slash").symlink_to("a.txt/")
    assert refused(open_root(workspace), name) is code


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("missing", "missing"),
        ("docs/missing", "docs/missing"),
        ("missing/x/y", "missing/x/y"),
        ("l/missing/x", "docs/missing/x"),
        ("dangling", "docs/none"),
        ("dangling/x", "docs/none/x"),
        ("back", "new"),
        ("a.txt/x", "a.txt/x"),
    ],
)
def test_the_real_name_of_what_does_not_exist(open_root: OpenRoot, workspace: Path, name: str, real: str) -> None:
    (workspace / "l").symlink_to("docs")
    (workspace / "dangling").symlink_to("l/none")
    (workspace / "back").symlink_to("docs/none/../../new")
    assert open_root(workspace).resolve(name) == real


def test_a_dangling_link_whose_rest_climbs_out_is_refused(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("none/../../outside/secret.txt")
    with pytest.raises(Failure) as caught:
        open_root(workspace).resolve("l")
    assert caught.value.code is ErrorCode.PATH_REFUSED


def test_what_is_no_regular_file_is_not_opened(open_root: OpenRoot, workspace: Path) -> None:
    os.mkfifo(workspace / "fifo.txt")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(workspace)
    try:
        server.bind("socket.txt")
    finally:
        os.chdir(here)
        server.close()
    (workspace / "pipe-link.txt").symlink_to("fifo.txt")
    root = open_root(workspace)
    said = {}
    for name in ("fifo.txt", "socket.txt", "pipe-link.txt", "docs"):
        with pytest.raises(Failure) as caught:
            root.open_file(name)
        assert caught.value.code is ErrorCode.NOT_A_FILE
        said[name] = caught.value.message
    assert "named pipe" in said["fifo.txt"]
    assert "socket" in said["socket.txt"]
    assert "directory" in said["docs"]


def test_devices_are_not_opened(open_root: OpenRoot) -> None:
    with pytest.raises(Failure, match="'null' is a device") as caught:
        open_root(Path("/dev")).open_file("null")
    assert caught.value.code is ErrorCode.NOT_A_FILE


def test_a_pipe_does_not_wake_its_writer(workspace: Path) -> None:
    """Opening a pipe for reading lets a writer go on; looking at it must not."""
    os.mkfifo(workspace / "fifo.txt")
    with Root(workspace) as root, pytest.raises(Failure):
        root.open_file("fifo.txt")
    with pytest.raises(OSError, match="No such device") as caught:
        os.open(workspace / "fifo.txt", os.O_WRONLY | os.O_NONBLOCK)
    assert caught.value.errno == errno.ENXIO


def test_a_directory_is_listed_only_if_it_is_one(open_root: OpenRoot, workspace: Path) -> None:
    with pytest.raises(Failure) as caught:
        open_root(workspace).open_directory("a.txt")
    assert caught.value.code is ErrorCode.NOT_A_DIRECTORY


def test_unreadable(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "a.txt").chmod(0)
    (workspace / "docs").chmod(0)
    root = open_root(workspace)
    with unprivileged():
        for act in (root.open_file, root.open_directory, root.look):
            with pytest.raises(Failure, match="permission denied") as caught:
                act("docs/b.txt")
            assert caught.value.code is ErrorCode.IO_ERROR
        with pytest.raises(Failure, match="permission denied"):
            root.open_file("a.txt")
        assert root.resolve("docs/b.txt") == "docs/b.txt"
    (workspace / "docs").chmod(0o755)


# the root itself


@pytest.mark.parametrize("name", ["none", "a.txt"])
def test_the_workspace_must_be_a_directory(workspace: Path, name: str) -> None:
    with pytest.raises(UsageFault) as caught:
        Root(workspace / name)
    assert name in caught.value.what
    assert caught.value.hint


def test_the_workspace_may_be_a_link_and_may_be_moved(open_root: OpenRoot, workspace: Path) -> None:
    way = workspace.with_name("way")
    way.symlink_to("ws")
    root = open_root(way)
    workspace.rename(workspace.with_name("moved"))
    assert read(root, "docs/b.txt") == b"beta"
    assert root.look("docs/b.txt").real == "docs/b.txt"


def test_the_whole_file_system_as_workspace(open_root: OpenRoot) -> None:
    root = open_root(Path("/"))
    assert root.look("etc/passwd").real == "etc/passwd"
    assert root.look(".").real == "."


def test_no_descriptor_is_left_open(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "out").symlink_to("../outside")
    (workspace / "l").symlink_to("docs/../docs/b.txt")
    (workspace / "loop").symlink_to("loop")
    os.mkfifo(workspace / "fifo")
    root = open_root(workspace)
    before = open_fds()
    for name in ("a.txt", "l", "out", "out/secret.txt", "loop", "fifo", "docs", "none/x", "a.txt/x"):
        for act in (read, Root.look, Root.resolve):
            try:
                act(root, name)
            except Failure:
                continue
    assert open_fds() == before
    fd, _ = root.open_file("a.txt")
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_close_gives_the_descriptor_back(workspace: Path) -> None:
    before = open_fds()
    with Root(workspace) as root:
        assert stat.S_ISDIR(os.fstat(root.fd).st_mode)
    root.close()
    assert open_fds() == before


# races


def swapping(first: Path, second: Path, stop: threading.Event) -> threading.Thread:
    """A thread that makes `first` and `second` change places, over and over."""
    spare = first.with_name("spare")

    def run() -> None:
        while not stop.is_set():
            first.rename(spare)
            second.rename(first)
            spare.rename(second)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("name", ["dir/secret.txt", "sub/dir/secret.txt"])
def test_a_directory_swapped_for_a_link_never_leads_out(open_root: OpenRoot, workspace: Path, name: str) -> None:
    folder = (workspace / name).parent
    folder.mkdir(parents=True)
    (folder / "secret.txt").write_text("inside")
    evil = folder.with_name("evil")
    evil.symlink_to(workspace.parent / "outside")
    root = open_root(workspace)
    stop = threading.Event()
    thread = swapping(folder, evil, stop)
    seen = set()
    try:
        for _ in range(1500):
            try:
                seen.add(read(root, name))
            except Failure as failure:
                seen.add(failure.code)
    finally:
        stop.set()
        thread.join()
    assert b"outside" not in seen
    assert ErrorCode.PATH_REFUSED in seen or ErrorCode.NOT_FOUND in seen
    assert ErrorCode.INTERNAL not in seen


def test_a_file_swapped_for_a_link_never_leads_out(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "evil").symlink_to("../outside/secret.txt")
    root = open_root(workspace)
    stop = threading.Event()
    thread = swapping(workspace / "a.txt", workspace / "evil", stop)
    seen = set()
    try:
        for _ in range(1500):
            try:
                seen.add(read(root, "a.txt"))
            except Failure:
                continue
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"alpha"}


class Meddling:
    """An opener before which something happens, once, at the chosen open."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self._left = at
        self._act = act
        self._opener = KernelOpener()

    def open(self, root: int, name: str, flags: int) -> int:
        self._left -= 1
        if self._left == 0:
            self._act()
        return self._opener.open(root, name, flags)


def test_a_file_that_becomes_a_pipe_between_check_and_use_is_not_read(workspace: Path) -> None:
    def swap() -> None:
        (workspace / "a.txt").unlink()
        os.mkfifo(workspace / "a.txt")

    before = open_fds()
    with Root(workspace, opener=Meddling(2, swap)) as root, pytest.raises(Failure) as caught:
        root.open_file("a.txt")
    assert caught.value.code is ErrorCode.NOT_A_FILE
    assert open_fds() == before


def test_a_file_that_vanishes_between_check_and_use(workspace: Path) -> None:
    with Root(workspace, opener=Meddling(2, (workspace / "a.txt").unlink)) as root, pytest.raises(Failure) as caught:
        root.open_file("a.txt")
    assert caught.value.code is ErrorCode.NOT_FOUND


class Afterwards:
    """An opener after which something happens, at each open."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._opener = KernelOpener()

    def open(self, root: int, name: str, flags: int) -> int:
        fd = self._opener.open(root, name, flags)
        self._act()
        return fd


def test_a_file_deleted_right_after_it_was_opened(workspace: Path) -> None:
    with Root(workspace, opener=Afterwards((workspace / "a.txt").unlink)) as root, pytest.raises(Failure) as caught:
        root.look("a.txt")
    assert caught.value.code is ErrorCode.FILE_CHANGED


def test_a_hard_link_deleted_right_after_it_was_opened(workspace: Path) -> None:
    os.link(workspace / "a.txt", workspace / "other.txt")
    with Root(workspace, opener=Afterwards((workspace / "a.txt").unlink)) as root, pytest.raises(Failure) as caught:
        root.look("a.txt")
    assert caught.value.code in (ErrorCode.FILE_CHANGED, ErrorCode.NOT_FOUND)


def test_a_deleted_name_is_not_taken_for_a_link_that_carries_its_mark(workspace: Path) -> None:
    os.link(workspace / "a.txt", workspace / "other.txt")

    def trick() -> None:
        (workspace / "a.txt").unlink()
        (workspace / "a.txt (deleted)").symlink_to("other.txt")

    with Root(workspace, opener=Afterwards(trick)) as root, pytest.raises(Failure) as caught:
        root.look("a.txt")
    assert caught.value.code is ErrorCode.FILE_CHANGED


def test_without_descriptor_paths_a_file_replaced_after_it_was_opened(workspace: Path) -> None:
    def replace() -> None:
        (workspace / "new").write_text("another")
        (workspace / "new").rename(workspace / "docs/b.txt")

    os.link(workspace / "docs/b.txt", workspace / "kept")
    opener = Afterwards(replace)
    with Root(workspace, opener=opener, path_of=lambda fd: None) as root, pytest.raises(Failure) as caught:
        root.look("docs/b.txt")
    assert caught.value.code is ErrorCode.FILE_CHANGED


def test_a_directory_moved_out_right_after_it_was_opened(workspace: Path) -> None:
    def move() -> None:
        (workspace / "docs").rename(workspace.parent / "outside/docs")

    with Root(workspace, opener=Afterwards(move)) as root, pytest.raises(Failure) as caught:
        root.open_directory("docs")
    assert caught.value.code is ErrorCode.PATH_REFUSED


# the kernel's answers


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM, errno.EXDEV])
def test_steps_stand_in_where_the_kernel_will_not(workspace: Path, code: int) -> None:
    with Root(workspace, opener=KernelOpener(openat2=lambda root, name, flags: -code)) as root:
        assert read(root, "docs/b.txt") == b"beta"


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EINTR])
@pytest.mark.parametrize("times", [1, 63, 1000])
def test_interrupted_opens_are_retried_and_then_done_by_steps(workspace: Path, code: int, times: int) -> None:
    asked = []

    def interrupted(root: int, name: bytes, flags: int) -> int:
        asked.append(name)
        if len(asked) <= times:
            return -code
        return os.open(name, flags, dir_fd=root)

    fd = os.open(workspace, os.O_RDONLY)
    try:
        os.close(KernelOpener(openat2=interrupted).open(fd, "a.txt", os.O_RDONLY))
    finally:
        os.close(fd)
    assert len(asked) == min(times + 1, 64)


def test_other_errors_of_the_kernel_are_told(workspace: Path) -> None:
    opener = KernelOpener(openat2=lambda root, name, flags: -errno.EMFILE)
    with Root(workspace, opener=opener) as root, pytest.raises(Failure, match="Too many open files") as caught:
        root.look("a.txt")
    assert caught.value.code is ErrorCode.IO_ERROR


def test_the_kernel_contains_by_itself(workspace: Path) -> None:
    """On this system the real call answers, not its stand-in."""

    class Never:
        def open(self, root: int, name: str, flags: int) -> int:
            raise AssertionError("the steps were asked")

    with Root(workspace, opener=KernelOpener(fallback=Never())) as root:
        assert read(root, "docs/b.txt") == b"beta"
        assert refused(root, "none") is ErrorCode.NOT_FOUND


# paths of descriptors


def test_fd_path(workspace: Path) -> None:
    fd = os.open(workspace / "docs", os.O_RDONLY)
    try:
        assert fd_path(fd) == str((workspace / "docs").resolve())
    finally:
        os.close(fd)
    assert fd_path(1 << 20) is None


@pytest.mark.parametrize(
    ("top", "path", "name"),
    [
        ("/a", "/a", "."),
        ("/a", "/a/b/c", "b/c"),
        ("/a", "/ab", None),
        ("/", "/a", "a"),
        ("/", "/", "."),
        ("/a", "/", None),
    ],
)
def test_relative_to(top: str, path: str, name: str | None) -> None:
    assert relative_to(top, path) == name
