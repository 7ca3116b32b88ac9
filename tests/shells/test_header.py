"""The script in front of the one-file program, with a small program behind it: what it does in all shells, with other
systems' tools, and wherever it may be started."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import remit
from fakes.programs import needs
from fakes.unprivileged import NOBODY, become_nobody

PACKAGE = Path(__file__).resolve().parents[2] / "cli" / "package"
SOURCE = Path(remit.__file__).parent.parent
SHELLS = {
    "dash": ["dash"],
    "bash": ["bash"],
    "posix bash": ["bash", "--posix"],
    "zsh": ["zsh"],
    "ksh": ["ksh"],
    "mksh": ["mksh"],
    "busybox": ["busybox", "sh"],
}
NEEDED = {"cat", "chmod", "gzip", "id", "mkdir", "mktemp", "rm", "stat", "tail", "tar", "wc", "xargs"}
HARD = ["two  words", "a\nb", "*", "'\"$HOME`", "", "-n", "\\t"]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change owners and mount file systems")

# Tells how it was started; waits in `--version`, the last step before it settles, where a test wants it to.
PROGRAM = """#!/bin/sh
case $1 in
__settle) shift; exec {python} -I -c 'import sys; sys.path.insert(0, {source}); \
from remit.commands.settle import main; main(*sys.argv[1:])' "$@" ;;
--version) [ -z "$TEST_WAIT" ] || cat "$TEST_WAIT" >/dev/null; [ -z "$TEST_FAILS" ] || {{ echo "out"; echo "$TEST_FAILS
more" >&2; exit 127; }}; exit 0 ;;
esac
printf '%s\\0' "$0" "$REMIT_STARTED_AS" "${{PATH-unset}}" "$(umask)" "$(/bin/pwd 2>/dev/null)" "$(cat)" "$@"
exit 7
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    folder = place / "folder"
    (folder / "_internal" / "deep").mkdir(parents=True)
    program = folder / "remit"
    program.write_text(PROGRAM.format(python=shlex.quote(sys.executable), source=json.dumps(str(SOURCE))))
    program.chmod(0o755)
    (folder / "_internal" / "library.so").write_bytes(os.urandom(300_000))
    (folder / "_internal" / "deep" / "a+b=c,d@e.txt").write_text("text")
    (folder / "_internal" / "link.so").symlink_to("library.so")
    code = "import sys; from pathlib import Path; from join import join; join(*map(Path, sys.argv[1:]))"
    target = place / "remit"
    subprocess.run([sys.executable, "-c", code, folder, target], cwd=PACKAGE, check=True)
    return target


class Told:
    """What the program says of how it was started."""

    def __init__(self, ran: subprocess.CompletedProcess[bytes]) -> None:
        assert (ran.returncode, ran.stderr) == (7, b""), ran
        self.program, self.started_as, self.path, self.umask, self.cwd, self.stdin, *self.args = (
            ran.stdout.decode().split("\0")[:-1]
        )


class Place:
    """A user's home and temporary directory."""

    def __init__(self, place: Path) -> None:
        self.path, self.home, self.temp = place, place / "home", place / "tmp"
        for folder in (self.home, self.temp):
            folder.mkdir(mode=0o700)
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temp)}

    def start(
        self, *command: str | Path, environ: Mapping[str, str | None] = {}, **keys: object
    ) -> subprocess.CompletedProcess[bytes]:
        changed = {name: value for name, value in {**self.environ, **environ}.items() if value is not None}
        keys = {"input": b"", "cwd": self.path, "timeout": 60, **keys}
        return subprocess.run(command, env=changed, capture_output=True, check=False, **keys)  # type: ignore[call-overload,no-any-return]

    @property
    def base(self) -> Path:
        return self.home / ".cache" / "remit"

    def unpacked(self, base: Path | None = None) -> list[Path]:
        """Directories in the cache; whatever else is there is litter."""
        found = sorted((base or self.base).iterdir())
        assert all(each.name.startswith("rt-") or each.name == ".settling" for each in found), found
        return [each for each in found if each.name.startswith("rt-")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_starts_it(shell: str, made: Path, place: Place) -> None:
    needs(SHELLS[shell][0])
    for _ in range(2):
        told = Told(place.start(*SHELLS[shell], made, *HARD, input=b"what comes in", umask=0o027))
        (unpacked,) = place.unpacked()
        assert told.program == str(unpacked / "remit")
        assert (told.args, told.stdin, told.cwd) == (HARD, "what comes in", str(place.path))
        assert (told.path, int(told.umask, 8), told.started_as) == (place.environ["PATH"], 0o027, str(made))
        assert unpacked.stat().st_mode & 0o077 == place.base.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("size", [0.02, 0.3, 0.6, 0.99])
def test_a_header_that_was_cut_does_nothing(shell: str, size: float, made: Path, place: Place) -> None:
    needs(SHELLS[shell][0])
    header = made.read_bytes().partition(b"\n}\n\x1f\x8b")[0]
    cut = place.path / "cut"
    cut.write_bytes(header[: int(len(header) * size)])
    ran = place.start(*SHELLS[shell], cut, "x")
    # Of two lines of comment nothing can be told.
    assert (ran.returncode != 0) == (size > 0.1)
    assert not list(place.home.iterdir()) and not ran.stdout


@pytest.fixture
def tools() -> Iterator[Path]:
    """A directory as long by name as what it takes the place of."""
    folder = Path(tempfile.mkdtemp(prefix="", dir="/tmp"))
    assert len(str(folder)) == len("/usr/bin:/bin")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", ["busybox", "bsdtar"])
def test_tools_of_other_systems(kind: str, tools: Path, made: Path, place: Place) -> None:
    other = needs(kind)
    for name in NEEDED:
        target = other if kind == "busybox" or name == "tar" else needs(name)
        (tools / name).symlink_to(target)
    changed = place.path / "remit"
    changed.write_bytes(made.read_bytes().replace(b"/usr/bin:/bin", str(tools).encode(), 1))
    for _ in range(2):
        told = Told(place.start("sh", changed, "x", environ={"PATH": "/usr/bin"}))
    (unpacked,) = place.unpacked()
    assert told.program == str(unpacked / "remit")
    assert os.readlink(unpacked / "_internal" / "link.so") == "library.so"


@pytest.mark.parametrize("path", [None, "", ".", "hostile:/usr/bin:/bin"])
def test_any_path(path: str | None, made: Path, place: Place) -> None:
    (place.path / "hostile").mkdir()
    for folder in ("hostile", "."):
        for name in ("tar", "stat", "cat", "id", "tail"):
            (place.path / folder / name).write_text("#!/bin/sh\necho hostile >&2; exit 99\n")
            (place.path / folder / name).chmod(0o755)
    # The program of this test needs tools too: it has those of the PATH, or none.
    for _ in range(2):
        ran = place.start("/bin/dash", made, "x", environ={"PATH": path})
    assert len(place.unpacked()) == 1
    if path is not None:
        assert ran.stdout.split(b"\0")[2].decode() == path


@pytest.mark.parametrize("name", ["with  spaces", "new\nline", "'\"quotes$(id)`", "-n", "ünï", "*"])
def test_any_home(name: str, made: Path, place: Place) -> None:
    home = place.path / name
    home.mkdir()
    for _ in range(2):
        told = Told(place.start(made, "x", environ={"HOME": str(home)}))
    (unpacked,) = place.unpacked(home / ".cache" / "remit")
    assert told.program == str(unpacked / "remit")


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({"HOME": None}, "temp"),
        ({"HOME": ""}, "temp"),
        ({"HOME": "relative"}, "temp"),
        ({"HOME": "/nowhere/at/all"}, "temp"),
        ({"HOME": "/proc"}, "temp"),
        ({"HOME": "/dev/null"}, "temp"),
        ({"XDG_CACHE_HOME": ""}, "home"),
        ({"XDG_CACHE_HOME": "relative"}, "home"),
        ({"XDG_CACHE_HOME": "/proc/nowhere"}, "temp"),
        ({"TAR_OPTIONS": "--exclude=*.so", "GZIP": "-v", "POSIXLY_CORRECT": "1", "LS_BLOCK_SIZE": "7"}, "home"),
        (
            {"CDPATH": "/", "IFS": "/", "LC_ALL": "nowhere", "SHELLOPTS": "nounset:noclobber", "ENV": "/dev/null"},
            "home",
        ),
    ],
)
def test_any_environment(environ: dict[str, str | None], where: str, made: Path, place: Place) -> None:
    for _ in range(2):
        told = Told(place.start(made, "x", environ=environ))
    base = place.base if where == "home" else place.temp / f"remit-{os.geteuid()}"
    assert told.program == str(place.unpacked(base)[0] / "remit")
    assert not (place.path / "relative").exists() and not Path("/nowhere").exists()


def test_a_cache_of_ones_own(made: Path, place: Place) -> None:
    Told(place.start(made, environ={"XDG_CACHE_HOME": str(place.path / "new" / "cache")}))
    assert len(place.unpacked(place.path / "new" / "cache" / "remit")) == 1


@as_root
def test_nothing_of_roots_is_left_in_the_home_of_another(made: Path, place: Place) -> None:
    os.chown(place.home, NOBODY, NOBODY)
    told = Told(place.start(made))
    assert told.program.startswith(str(place.temp))
    assert not list(place.home.iterdir())


@as_root
@pytest.mark.parametrize("held", ["base", "link", "link to ours"])
def test_a_cache_that_another_holds_is_left_alone(held: str, made: Path, place: Place) -> None:
    elsewhere = place.path / "elsewhere"
    elsewhere.mkdir()
    place.base.parent.mkdir()
    if held == "base":
        place.base.mkdir()
    else:
        place.base.symlink_to(elsewhere)
    if held != "link to ours":
        os.chown(place.base, NOBODY, NOBODY, follow_symlinks=False)
        os.chown(elsewhere, NOBODY, NOBODY)
    told = Told(place.start(made))
    assert told.program.startswith(str(place.temp))
    assert not list(elsewhere.iterdir()) and not list(place.base.iterdir())


@pytest.mark.parametrize("name", ["remit", "remit-sdk", "-x", "a b"])
@pytest.mark.parametrize("kind", ["link", "copy"])
def test_any_name(kind: str, name: str, made: Path, place: Place) -> None:
    there = place.path / name
    if kind == "link":
        there.symlink_to(made)
    else:
        shutil.copy(made, there)
    told = Told(place.start(there, "x"))
    assert (told.started_as, told.args) == (str(there), ["x"])


def test_it_is_found_on_the_path(made: Path, place: Place) -> None:
    environ = {"PATH": f"{made.parent}:/usr/bin:/bin"}
    told = Told(place.start("sh", "-c", "cd /; remit x", environ=environ))
    assert (told.started_as, told.cwd) == (str(made), "/")
    assert Told(place.start("bash", "remit", "x", environ=environ)).args == ["x"]


def test_from_a_directory_that_is_gone(made: Path, place: Place) -> None:
    script = f'mkdir gone; cd gone; rmdir ../gone; exec "{made}" x'
    for _ in range(2):
        ran = place.start("bash", "-c", script)
        # dash says so by itself.
        ran.stderr = b"".join(line for line in ran.stderr.splitlines() if b"getcwd() failed" not in line)
        assert Told(ran).args == ["x"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_with_standard_streams_closed(closed: str, made: Path, place: Place) -> None:
    for _ in range(2):
        ran = place.start("sh", "-c", f'"{made}" x {closed}')
        assert ran.returncode == 7 or ">&-" in closed
    assert len(place.unpacked()) == 1


@pytest.mark.parametrize("at_once", [6])
def test_many_first_runs_at_once(at_once: int, made: Path, place: Place) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        told = [Told(ran) for ran in pool.map(lambda _: place.start(made, "x"), range(at_once))]
    (unpacked,) = place.unpacked()
    assert {each.program for each in told} == {str(unpacked / "remit")}


@pytest.mark.parametrize(
    "harm",
    ["cut", "gone", "replaced", "mode", "program", "link", "notes", "half the notes", "names", "directory", "file"],
)
def test_a_damaged_cache_is_unpacked_anew(harm: str, made: Path, place: Place) -> None:
    Told(place.start(made))
    (unpacked,) = place.unpacked()
    library, program = unpacked / "_internal" / "library.so", unpacked / "remit"
    content = library.read_bytes()
    harms = {
        "cut": lambda: library.write_bytes(content[:9]),
        "gone": library.unlink,
        "replaced": lambda: library.write_bytes(b"x" * len(content)),
        "mode": lambda: library.chmod(0),
        "program": lambda: program.write_text("#!/bin/sh\nexit 0\n"),
        "link": (unpacked / "_internal" / "link.so").unlink,
        "notes": (unpacked / ".whole").unlink,
        "half the notes": lambda: (unpacked / ".whole").write_text("a 1 2 3\n"),
        "names": lambda: (unpacked / ".files").write_text("remit\n"),
        "directory": lambda: shutil.rmtree(unpacked / "_internal"),
        "file": lambda: (shutil.rmtree(unpacked), unpacked.write_text("")),
    }
    harms[harm]()
    for _ in range(2):
        assert Told(place.start(made, "x")).program == str(program)
    assert library.read_bytes() == content
    assert os.readlink(unpacked / "_internal" / "link.so") == "library.so"
    assert place.unpacked() == [unpacked]


@pytest.mark.parametrize("harm", ["cut", "one bit", "empty"])
def test_a_bad_download_is_told(harm: str, made: Path, place: Place) -> None:
    content = bytearray(made.read_bytes())
    start = content.index(b"\n}\n\x1f\x8b") + 3
    if harm == "one bit":
        # In the middle of what does not compress: tar sees nothing of it.
        content[start + (len(content) - start) // 2] ^= 1
    else:
        del content[start if harm == "empty" else -1000 :]
    bad = place.path / "bad"
    bad.write_bytes(content)
    bad.chmod(0o755)
    ran = place.start(bad, "x")
    assert (ran.returncode, ran.stdout) == (9, b"")
    size = made.stat().st_size
    cut = f", or was not downloaded whole: {len(content)} of {size} bytes"
    changed = f": its {size} bytes are not those that it was made of"
    assert ran.stderr.decode() == (
        f"error: {bad} is damaged{changed if harm == 'one bit' else cut}\n"
        "hint: download it again, and compare its sha256\n"
    )
    assert not place.unpacked()


def test_a_file_that_was_exchanged_while_it_is_read_is_not_taken_for_the_old(made: Path, place: Place) -> None:
    content = made.read_bytes()
    start = content.index(b"name=rt-") + 8
    other = place.path / "other"
    other.write_bytes(content[:start] + b"0" * 16 + content[start + 16 :])
    assert place.start("sh", other, environ={"TMPDIR": "/proc"}).returncode == 9
    assert not place.unpacked()


@pytest.mark.parametrize(("sent", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_first_run_that_is_stopped_leaves_nothing(sent: str, code: int, made: Path, place: Place) -> None:
    fifo = place.path / "wait"
    os.mkfifo(fifo)
    with subprocess.Popen([made], env={**place.environ, "TEST_WAIT": str(fifo)}) as process:
        # Open when the program reads it.
        with fifo.open("wb"):
            process.send_signal(getattr(signal, sent))
        assert process.wait(30) == code
    assert not place.unpacked()


def test_what_a_killed_first_run_left_goes_with_a_later_one(made: Path, place: Place) -> None:
    fifo = place.path / "wait"
    os.mkfifo(fifo)
    with subprocess.Popen([made], env={**place.environ, "TEST_WAIT": str(fifo)}, start_new_session=True) as process:
        with fifo.open("wb"):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    (litter,) = place.base.glob(".new.*")
    Told(place.start(made))
    # Another process may be at work there.
    assert litter.exists()
    os.utime(litter, (0, 0))
    shutil.rmtree(next(place.base.glob("rt-*")))
    Told(place.start(made))
    assert not litter.exists()


@as_root
@pytest.mark.parametrize("options", ["size=200k", "noexec", "ro"])
def test_a_home_that_is_full_or_runs_nothing_or_is_read_only(options: str, made: Path, place: Place) -> None:
    script = (
        f'mount -t tmpfs -o {options} none "$HOME" && "{made}" x; code=$?; ls -A "$HOME/.cache/remit" >&3; exit $code'
    )
    listing = place.path / "listing"
    told = Told(place.start("unshare", "--mount", "sh", "-c", f'exec 3>"{listing}" 2>&1; {{ {script}; }} 2>/dev/null'))
    assert told.program.startswith(str(place.temp))
    assert ".new" not in listing.read_text()


@as_root
def test_where_no_directory_will_do(made: Path, place: Place) -> None:
    mounts = " && ".join(f"mount -t tmpfs -o noexec none {folder}" for folder in ("/tmp", "/var/tmp"))
    # The program lies below /tmp.
    script = f'cp "{made}" "$KEPT/remit" && {mounts} && "$KEPT/remit" x'
    with tempfile.TemporaryDirectory(dir="/var") as kept:
        environ = {"HOME": "/proc/nowhere", "TMPDIR": "/proc/nowhere", "KEPT": kept}
        ran = place.start("unshare", "--mount", "sh", "-c", script, environ=environ)
    assert (ran.returncode, ran.stdout) == (9, b"")
    assert ran.stderr.decode().startswith(
        "error: remit cannot unpack itself: no directory that takes 1 MB and may be run from"
    )
    assert "XDG_CACHE_HOME" in ran.stderr.decode() and "Permission denied" in ran.stderr.decode()


def test_a_program_that_does_not_start_says_why(made: Path, place: Place) -> None:
    why = "remit: error while loading shared libraries: libz.so.1: cannot open shared object file"
    ran = place.start(made, "x", environ={"TEST_FAILS": why})
    told, hint = ran.stderr.decode().splitlines()
    assert (ran.returncode, ran.stdout) == (9, b"")
    assert told == f"error: remit is unpacked whole, but does not start on this system: {why}"
    assert (
        hint == f"hint: this file needs {os.uname().sysname} on {os.uname().machine}; elsewhere install remit with pip"
    )
    assert not place.unpacked() and not list(place.temp.iterdir())


@pytest.mark.parametrize("missing", [["gzip"], ["tar"], ["stat"], ["xargs", "mktemp"]])
def test_tools_that_are_missing_are_named(missing: list[str], tools: Path, made: Path, place: Place) -> None:
    for name in NEEDED - {*missing}:
        (tools / name).symlink_to(needs(name))
    changed = place.path / "remit"
    changed.write_bytes(made.read_bytes().replace(b"/usr/bin:/bin", str(tools).encode(), 1))
    ran = place.start("/bin/sh", changed, "x", environ={"PATH": "/nowhere"})
    assert ran.returncode == 9
    # In the order in which they are needed.
    told = ran.stderr.decode().splitlines()[-2]
    assert told == f"error: remit needs {', '.join(missing)} to unpack itself, not found in {tools}:/nowhere"


def test_what_it_needs_is_read_from_its_libraries(tmp_path: Path) -> None:
    """The newest C library that any file asks for, by number and not by letter."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "remit").write_bytes(b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.9\0GLIBC_2.17\0")
    (folder / "other").write_bytes(b"\x7fELF\0GLIBC_2.4\0 GLIBC_2.99 is a word\0")
    code = "import sys; from pathlib import Path; from join import join; join(*map(Path, sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", code, folder, tmp_path / "made"], cwd=PACKAGE, check=True)
    assert b" with glibc 2.17 or newer;" in (tmp_path / "made").read_bytes()


def test_its_own_libraries_come_first_from_the_start(made: Path, place: Place) -> None:
    Told(place.start(made))
    (unpacked,) = place.unpacked()
    for given, seen in ((None, ""), ("/one:/two", ":/one:/two")):
        # What the unpacked program is handed is what the loader of the system looks at.
        ran = place.start("sh", "-x", made, environ={"LD_LIBRARY_PATH": given})
        assert f"LD_LIBRARY_PATH={unpacked}/_internal{seen}\n" in ran.stderr.decode().replace("'", "")


@as_root
def test_for_a_user_without_a_home(made: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        shutil.copy(made, f"{folder}/remit")
        environ = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TMPDIR": folder}
        ran = subprocess.run(
            [f"{folder}/remit", "--version"], env=environ, preexec_fn=become_nobody, capture_output=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert Path(folder, f"remit-{NOBODY}").stat().st_uid == NOBODY
