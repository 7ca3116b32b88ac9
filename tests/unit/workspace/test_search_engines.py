"""Both engines against each other, and against git, on trees that hypothesis makes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.base.resources import Effect, Resource
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.search import find_lines
from remit.workspace.search_glob import compile_glob
from remit.workspace.search_library import LibraryEngine
from remit.workspace.search_regex import read_pattern
from remit.workspace.search_ripgrep import RipgrepEngine, find_ripgrep
from remit.workspace.search_rows import Span
from remit.workspace.search_scan import CLOSED_NAMES, SKIPPED_FOLDERS, Wish
from remit.workspace.search_walk import survey

RIPGREP = find_ripgrep()
assert RIPGREP is not None
ENGINES = (RipgrepEngine(RIPGREP), RipgrepEngine(RIPGREP, sizes=0, patience=-1), LibraryEngine())

NAMES = (
    b"a",
    b"b.py",
    b"c.txt",
    b"d.log",
    b".h",
    b"build",
    b"new\nline",
    b"inv\xff.py",
    "ü.md".encode(),
    b"[x].ts",
    b"node_modules",
    b".env",
    b"private",
    b" blank ",
    b"rg: DEBUG|ignore::walk|x: ignoring .",
)
IGNORES = (
    b"*.log",
    b"!keep.log",
    b"build/",
    b"/a",
    b"b.py",
    b"!b.py",
    b"**/c.txt",
    b"a/**",
    b"a/*",
    b"!a/b.py",
    b"a/**/b.py",
    b"*",
    b"!*.py",
    b"# comment",
    b"",
    b"[ab]*",
    b"[!a-c].*",
    b"\\#x",
    b"?.txt",
    b"c.txt   ",
    b"\xc3\xbc.md",
    b"a/b",
    b"**",
    b"build",
    b"!build/",
    b"\\[x\\].ts",
    b".h\r",
    b"*/d.log",
)
CONTENTS = (
    b"hit\n",
    b"no\n",
    b"",
    b"hit",
    b"one\r\nhit two\r\nhit\r\n",
    b"a\0hit\n",
    b"x" * 70000 + b"\nhit\n\0",
    b"\xff\xfeh\0i\0t\0\n\0",
    b"\xfe\xff\0h\0i\0t",
    b"\xef\xbb\xbfhit\n",
    b"\xffhit\n\xc3\x28 hit\nhi\xfft\n",
    "Straße hit ü\nÜber\n".encode(),
    b"y" * 3000 + b" hit\n",
    b"hit\n\n\nhit\nhit\n\n",
    b"foo() {\n  bar[0] hit\n}\n",
    b"z" * (5 * 1024 * 1024 + 1 - 4) + b"hit\n",
    b"z" * (5 * 1024 * 1024 - 4) + b"hit\n",
    b"h\rit\n\rhit\r\n",
)
PATTERNS = (
    "hit",
    "^hit$",
    "hit$",
    r"\bhit\b",
    "(?i)HIT",
    r"h.t",
    r"^\s*$",
    r"\w+ hit",
    r"[^\w\s]",
    r"[\W]$",
    r"stra\x{df}e|Straße",
    "(?i)über",
    r"\d\]",
    "foo() {",
    r"foo\(\) {",
    r"hi{1,3}t",
    "[hx]i?t+",
    r"[[(]0",
    r"^.{3}$",
    "y{1000} hit",
    r"\S\s\S",
    ".",
    "^",
    r"(?P<n>h)it|no",
    r"\p{Lu}",
    r"[^\x00-\x7f]",
)

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(b"/".join)
ignore_files = st.lists(st.sampled_from(IGNORES), max_size=5).map(b"\n".join)
trees = st.tuples(
    st.dictionaries(paths, st.sampled_from(CONTENTS), min_size=1, max_size=10),
    st.dictionaries(st.one_of(st.just(b""), paths), ignore_files, max_size=3),
    st.sampled_from(["repository", "plain", "below"]),
    st.lists(paths, max_size=1),
    st.dictionaries(paths, st.sampled_from([b"a", b"..", b"none", b"b.py"]), max_size=2),
)


def build(top: bytes, tree: tuple[Any, ...]) -> bytes:
    """The tree below a directory; the directory to search."""
    files, ignores, kind, nested, links = tree
    os.makedirs(top)
    start = top
    if kind != "plain":
        os.mkdir(top + b"/.git")
        Path(os.fsdecode(top + b"/.git/config")).write_text("hit\n")
    if kind == "below":
        start = top + b"/a"
        os.makedirs(start, exist_ok=True)
        Path(os.fsdecode(top + b"/.gitignore")).write_text("/a/b.py\n*.txt\n!/a/c.txt\n")
    for folder, text in ignores.items():
        put(start, folder + b"/.gitignore", text)
    for name, content in files.items():
        put(start, name, content)
    for folder in nested:
        put(start, folder + b"/.git/HEAD", b"hit\n")
    for name, target in links.items():
        make(lambda name=name, target=target: os.symlink(target, start + b"/" + name), start, name)
    return start


def put(start: bytes, name: bytes, content: bytes) -> None:
    make(lambda: Path(os.fsdecode(start + b"/" + name)).write_bytes(content), start, name)


def make(act: Any, start: bytes, name: bytes) -> None:
    """Where a file stands in the way of a directory, or the other way round, the first one stays."""
    try:
        os.makedirs(os.path.dirname(start + b"/" + name), exist_ok=True)
        act()
    except OSError:
        return


def allowed(entry: Resource) -> bool:
    return not any(part == "private" for part in entry.name.split("/"))


def show(found: Any) -> str:
    return "\n".join(f"{key}: {value}" for key, value in found.items())


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    trees,
    st.sampled_from(PATTERNS),
    st.sampled_from([None, "*.py", "a/**", "**/*.{py,txt}", "[x].ts", "?"]),
    st.sampled_from([Span(), Span(1, 0), Span(0, 2), Span(2, 2)]),
    st.sampled_from([1, 3, 100]),
)
def test_lines_are_the_same(tree: Any, pattern: str, include: str | None, span: Span, most: int) -> None:
    scratch = tempfile.mkdtemp().encode()
    try:
        start = build(scratch + b"/ws", tree)
        wanted = compile_glob(include) if include else None
        found = []
        with Root(os.fsdecode(start)) as root:
            for engine in ENGINES:
                files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], allowed)
                with files.ground(".") as ground:
                    lines = find_lines(engine, ground, read_pattern(pattern), wanted, most, span, lambda: None)
                found.append(msgspec.to_builtins(lines))
        assert show(found[0]) == show(found[1])
        assert show(found[0]) == show(found[2])
    finally:
        shutil.rmtree(scratch)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(trees, st.sampled_from(["*", "**", "*.py", "a/**", "**/b.py", "{a,build}/*", "**/*.{py,txt}", "?", "[x].ts"]))
def test_the_names_are_those_that_ripgrep_lists(tree: Any, pattern: str) -> None:
    scratch = tempfile.mkdtemp().encode()
    try:
        start = build(scratch + b"/ws", tree)
        glob = compile_glob(pattern)
        with Root(os.fsdecode(start)) as root:
            files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], lambda _: True)
            with files.ground(".") as ground:
                found = survey(ground, Wish(glob), lambda: None)
                first = survey(ground, Wish(glob), lambda: None, most=2)
        listed = listed_by_ripgrep(start, [*found.nested, *found.large])
        assert found.names == sorted(filter(glob.matches, listed), key=lambda name: name.split("/"))
        assert (first.names, first.number) == (found.names[:2], len(found.names))
    finally:
        shutil.rmtree(scratch)


def listed_by_ripgrep(start: bytes, without: list[str]) -> list[str]:
    flags = ["--hidden", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--null", "--files"]
    closed = [f"--iglob=!{name}" for name in CLOSED_NAMES] + [f"--glob=!{name}/" for name in SKIPPED_FOLDERS]
    said = subprocess.run([RIPGREP, "--no-config", *flags, *closed], cwd=start, capture_output=True, check=False)
    names = os.fsdecode(said.stdout).split("\0")[:-1]
    return [name for name in names if not any(f"{name}/".startswith(f"{each}/") for each in without)]
