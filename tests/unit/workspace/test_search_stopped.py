"""Searches that end early say so, and say what they have."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from fakes.context import allow_all
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Ground
from remit.base.resources import Effect, Resource
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.search import find_lines
from remit.workspace.search_child import Child, collect
from remit.workspace.search_library import LibraryEngine
from remit.workspace.search_regex import LinePattern, read_pattern
from remit.workspace.search_ripgrep import RipgrepEngine, find_ripgrep
from remit.workspace.search_rows import Span
from remit.workspace.search_scan import Counts, Engine, Wish

RIPGREP = find_ripgrep()
assert RIPGREP is not None


class Hurried:
    """An engine whose time is up as it begins."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self._engine = engine

    def count(self, ground: Ground, pattern: LinePattern, wish: Wish, check: Callable[[], None]) -> Counts:
        return self._engine.count(ground, pattern, msgspec.structs.replace(wish, seconds=-1.0), check)

    def lines(
        self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Callable[[], None]
    ) -> list[list[int]]:
        return self._engine.lines(files, pattern, most, check)


@pytest.mark.parametrize("engine", [RipgrepEngine(RIPGREP), LibraryEngine()], ids=lambda engine: engine.name)
def test_a_search_whose_time_is_up(workspace: Path, engine: Engine) -> None:
    with Root(workspace) as root:
        files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], allow_all)
        with files.ground(".") as ground:
            lines = find_lines(Hurried(engine), ground, read_pattern("a"), None, 100, Span(), lambda: None)
    assert (lines.stopped, lines.exact) == ("time", False)


PRINTS_FOREVER = "while True: print('x' * 100000)"
SLEEPS = "import time; print('here', flush=True); time.sleep(60)"


def test_a_program_that_prints_forever_is_stopped() -> None:
    with Child([sys.executable, "-c", PRINTS_FOREVER]) as child:
        collect(child, 60, lambda: None)
    assert (child.stopped, child.exit_code) == ("entries", None)


def test_a_program_that_sleeps_is_stopped_with_what_it_said() -> None:
    began = time.monotonic()
    with Child([sys.executable, "-c", SLEEPS]) as child:
        collect(child, 1.0, lambda: None)
    assert (child.stopped, child.exit_code, child.stdout) == ("time", None, b"here\n")
    assert time.monotonic() - began < 30


def test_what_a_check_raises_ends_the_program() -> None:
    def check() -> None:
        raise Failure(ErrorCode.CANCELLED, "the call was cancelled")

    with pytest.raises(Failure), Child([sys.executable, "-c", SLEEPS]) as child:
        collect(child, 60, check)
    assert child.process.returncode == -9


def test_a_program_runs_with_nothing(workspace: Path) -> None:
    says = "import os, sys; print(sorted(os.environ), repr(sys.stdin.read()), os.listdir('.'))"
    with Root(workspace) as root:
        # By its descriptor it is found under any name.
        (workspace / "a.txt").unlink()
        workspace.rename(workspace.parent / "moved")
        with Child([sys.executable, "-I", "-c", says], root.fd) as child:
            collect(child, 60, lambda: None)
    assert child.exit_code == 0
    assert b"'' ['docs']" in child.stdout
    assert b"PATH" not in child.stdout
    assert b"HOME" not in child.stdout


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(Failure) as caught:
        Child(["/none/rg"])
    assert caught.value.code is ErrorCode.COMMAND_FAILED
