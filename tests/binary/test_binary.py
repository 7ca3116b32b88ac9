"""The one-file program unpacks itself once, and is then what the source is. What may be in the way of that is in
`tests/shells/test_header.py`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.unprivileged import become_nobody

MIB = 1 << 20


class Cache:
    """A user's place for the program."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.temp = place / "tmp"
        for folder in (self.home, self.temp):
            folder.mkdir(mode=0o700)
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temp)}

    def run(self, program: Path, *args: str, environ: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *args],
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @property
    def unpacked(self) -> list[Path]:
        return sorted((self.home / ".cache" / "remit").glob("rt-*"))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


def says_version(ran: subprocess.CompletedProcess[str]) -> bool:
    return (ran.returncode, ran.stdout[:6], ran.stderr) == (0, "remit ", "")


def test_it_is_small_enough(program: Path) -> None:
    assert program.stat().st_size <= 40 * MIB


def test_it_unpacks_once(program: Path, cache: Cache) -> None:
    assert says_version(cache.run(program, "--version"))
    (first,) = cache.unpacked
    made = first.stat().st_mtime_ns
    assert first.stat().st_mode & 0o077 == 0
    assert says_version(cache.run(program, "--version"))
    assert [(each, each.stat().st_mtime_ns) for each in cache.unpacked] == [(first, made)]


def test_two_first_runs_at_once(program: Path, cache: Cache) -> None:
    with ThreadPoolExecutor(3) as pool:
        ran = list(pool.map(lambda _: cache.run(program, "--version"), range(3)))
    assert all(map(says_version, ran))
    assert len(cache.unpacked) == 1
    assert not list((cache.home / ".cache" / "remit").glob(".new*"))


@pytest.mark.parametrize("harm", ["replaced", "program"])
def test_a_damaged_cache_is_unpacked_anew(program: Path, cache: Cache, harm: str) -> None:
    cache.run(program, "--version")
    (place,) = cache.unpacked
    victim = place / "remit" if harm == "program" else next(place.rglob("base_library.zip"))
    content = victim.read_bytes()
    victim.write_bytes(content[: len(content) // 2] if harm == "program" else b"x" * len(content))
    assert says_version(cache.run(program, "--version"))
    assert victim.read_bytes() == content
    assert len(cache.unpacked) == 1


def test_a_run_that_was_killed_while_it_unpacked_leaves_nothing_in_the_way(program: Path, cache: Cache) -> None:
    process = subprocess.Popen([program, "--version"], env=cache.environ, start_new_session=True)
    base = cache.home / ".cache" / "remit"
    deadline = time.monotonic() + 20
    while not list(base.glob(".new*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert says_version(cache.run(program, "--version"))
    assert len(cache.unpacked) == 1


def test_old_versions_go_unless_they_are_in_use(program: Path, cache: Cache) -> None:
    base = cache.home / ".cache" / "remit"
    for name in ("rt-old", "rt-new", ".new.litter"):
        (base / name).mkdir(parents=True)
    old = time.time() - 30 * 86_400
    for name in ("rt-old", ".new.litter"):
        os.utime(base / name, (old, old))
    assert says_version(cache.run(program, "--version"))
    assert not (base / "rt-old").exists()
    assert not (base / ".new.litter").exists()
    assert (base / "rt-new").exists()


def test_what_a_killed_unpacking_left_goes_at_any_later_start(program: Path, cache: Cache) -> None:
    base = cache.home / ".cache" / "remit"
    assert says_version(cache.run(program, "--version"))
    for name, age in ((".new.killed", 3600), (".new.begun", 1)):
        (base / name / "lib").mkdir(parents=True)
        os.utime(base / name, (time.time() - age,) * 2)
    assert says_version(cache.run(program, "--version"))
    assert [path.name for path in base.glob(".new.*")] == [".new.begun"]


def test_it_starts_on_a_directory_as_standard_input(program: Path, cache: Cache) -> None:
    ran = subprocess.run(
        ["sh", "-c", '"$0" --version </', program], env=cache.environ, capture_output=True, text=True, check=False
    )
    assert says_version(ran)


def test_arguments_streams_and_exit_codes_pass_through(program: Path, home: Home) -> None:
    script = home.script({"text": "A  B"})
    environ = {**home.environ, "HOME": str(home.path / "home")}
    ran = subprocess.run(
        [program, "run", "-m", script, "two  words", "--output-format", "json"],
        cwd=home.work,
        env=environ,
        input=b"",
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["result"] == "A  B"
    ran = subprocess.run(
        [program, "run", "--nope"], env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert ran.returncode == 2


def test_the_tools_are_those_of_the_source(program: Path, home: Home) -> None:
    def told(*command: str | Path) -> object:
        ran = subprocess.run(
            [*command, "tools", "--json"], env=home.environ, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        return [(each["name"], each["schema"], each["description"]) for each in json.loads(ran.stdout)]

    assert told(program) == told(sys.executable, "-m", "remit")


def test_every_part_is_in_it(program: Path, home: Home) -> None:
    """Search, shell, the interpreter, pictures, grammars, TLS: each is used for real."""
    from PIL import Image

    Image.new("RGB", (8, 8)).save(home.work / "a.png")
    home.write("a.py", "def f():\n    return g()\n\ndef g():\n    return 1\n")
    wanted: dict[str, dict[str, object]] = {
        "file_grep": {"pattern": "return"},
        "file_index": {"path": "a.py"},
        "code_refs": {"symbol": "g"},
        "python_execution": {"code": "6 * 7"},
        "shell": {"command": "echo from $BASH_VERSION"},
        "view_image": {"path": "a.png"},
        "analyze_csv": {"path": "a.csv"},
    }
    home.write("a.csv", "a,b\n1,2\n")
    script = home.script(
        {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in wanted.items()]}, {"text": "Done."}
    )
    ticks = ",".join(f"{tool}=auto" for tool in wanted)
    ran = subprocess.run(
        [program, "run", "-m", script, "go", "--output-format", "stream-json", f"--tools={ticks}"],
        cwd=home.work,
        env=home.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    results = {
        event["tool_result_meta"][0]["tool"]: event["message"]["content"][0]
        for event in events
        if event["type"] == "user"
    }
    assert {tool for tool, result in results.items() if not result.get("is_error")} == set(wanted), ran.stderr
    assert "42" in results["python_execution"]["content"]


def test_it_runs_for_a_user_without_rights(program: Path, tmp_path: Path) -> None:
    place = Path("/tmp") / f"remit-binary-{os.getpid()}"
    place.mkdir(mode=0o777)
    try:
        shutil.copy(program, place / "remit")
        (place / "remit").chmod(0o755)
        place.chmod(0o777)
        ran = subprocess.run(
            [place / "remit", "--version"],
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": str(place)},
            preexec_fn=become_nobody,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    finally:
        shutil.rmtree(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount file systems")
def test_it_needs_no_libraries_of_the_system_but_the_c_library(program: Path, cache: Cache, tmp_path: Path) -> None:
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    names = (
        "libz.so.1",
        "libbz2.so.1.0",
        "liblzma.so.5",
        "libffi.so.",
        "libcrypto.so.",
        "libssl.so.",
        "libstdc++.so.6",
        "libgcc_s.so.1",
    )
    hidden = [path for path in re.findall(r"=> (/\S+)", known) if path.rpartition("/")[2].startswith(names)]
    assert any("libz.so.1" in path for path in hidden)
    (empty := tmp_path / "empty").write_text("")
    script = "".join(f"mount --bind {empty} $(realpath {path})\n" for path in hidden) + 'exec "$@"'
    confined = ("--mount", "sh", "-c", script, "sh", str(program))
    for _ in range(2):
        ran = cache.run(Path("/usr/bin/unshare"), *confined, "--version")
        assert says_version(ran), ran
    parts = cache.run(Path("/usr/bin/unshare"), *confined, "doctor", "--parts")
    assert parts.returncode == 0 and "BROKEN" not in parts.stdout, parts.stdout
    assert len(cache.unpacked) == 1


def test_what_cannot_be_added_to_it_is_not_promised(program: Path, cache: Cache) -> None:
    ran = cache.run(program, "run", "x", "-m", "local/smollm2")
    assert ran.returncode == 8 and "nothing can be added to the one file: in remit's checkout, pip" in ran.stderr


def test_its_examples_run_from_where_it_unpacks_itself(program: Path, cache: Cache, tmp_path: Path) -> None:
    """That place is remit's own, and closed to runs."""
    out = tmp_path / "out"
    for _ in range(2):
        ran = cache.run(program, "run", "--example", "sales-report", "-o", str(out), "-n", "-q")
        assert ran.returncode == 0, ran.stderr
    assert (out / "artifacts" / "report.md").is_file()
    # One copy of the example serves all runs, and nothing else is left.
    assert list(cache.temp.iterdir()) == []
    [task] = cache.home.rglob("remit-examples/*/sales-report/task.yaml")
    assert json.loads((out / "run.json").read_text())["workspace"] == str(task.parent)


def test_it_is_the_other_command_by_that_name(program: Path, cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "remit-sdk").symlink_to(program)
    for _ in range(2):
        assert "(remit-sdk " in cache.run(tmp_path / "remit-sdk", "--version").stdout
