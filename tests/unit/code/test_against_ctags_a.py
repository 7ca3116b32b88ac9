"""Definitions against those of Universal Ctags: at least 97 % of its functions, classes and methods are found, and each
that is not is of a kind that stands here with the reason."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from remit.code.extract import extract
from remit.code.languages import by_name

CODE = Path(__file__).resolve().parents[2] / "code"
WANTED = 0.97
SECONDS_A_FILE = 30.0

pytestmark = pytest.mark.skipif(
    shutil.which("ctags") is None
    or b"Universal" not in subprocess.run(["ctags", "--version"], check=False, capture_output=True).stdout,
    reason="Universal Ctags is not installed (Debian: universal-ctags)",
)


class Known(msgspec.Struct, frozen=True):
    """A kind of miss. line, name, path: patterns over the line of the tag, its name and its file; why: the reason.
    real: whether it is a definition after all, one that is lost."""

    why: str
    line: str = ""
    name: str = ""
    path: str = ""
    real: bool = False


class Compared(msgspec.Struct, frozen=True):
    language: str
    kinds: frozenset[str]
    endings: tuple[str, ...]
    known: tuple[Known, ...] = ()


ANONYMOUS = Known("ctags makes up a name for what has none", name=r"^(__anon|Anonymous)")

COMPARED = {
    each.language: each
    for each in (
        Compared(
            "Python",
            frozenset(["function", "class", "member"]),
            (".py",),
            (
                Known(
                    "a lambda that only a function or a class knows by this name",
                    line=r"=\s*\(?\s*lambda\b|:\s*lambda\b",
                    real=True,
                ),
                Known(
                    "the grammar knows no line break after a dot, and loses the class where it is",
                    path=r"/test_compile\.py$",
                    real=True,
                ),
            ),
        ),
        Compared(
            "C",
            frozenset(["function", "struct", "enum", "union", "typedef"]),
            (".c", ".h"),
            (
                ANONYMOUS,
                Known(
                    "a macro that makes a function's name", line=r"^\s*(static\s+)?[\w *]*\b(FUNC|NAME)\(", real=True
                ),
                Known("a macro in the place of parameters", name=r"^BASE64_(ENC|DEC)_PARAMS$"),
                Known("C and C++ in one file, told apart by conditions", path=r"/mimalloc/mimalloc\.h$", real=True),
                Known("the head of a struct in two halves of a condition", name=r"^tracemalloc_frame$", real=True),
                Known("fields that are macros, hundreds of them", name=r"^_Py_global_strings$", real=True),
            ),
        ),
        Compared("Go", frozenset(["func", "struct", "interface", "type", "methodSpec", "talias"]), (".go",)),
        Compared(
            "Java",
            frozenset(["class", "interface", "method", "enum", "annotation"]),
            (".java",),
            (Known("a permitted type, not a definition", line=r"\bpermits\b"),),
        ),
        Compared(
            "JavaScript",
            frozenset(["function", "class", "method", "generator", "getter", "setter"]),
            (".js", ".mjs"),
            (
                ANONYMOUS,
                Known("an object, not a class", line=r"=\s*\{"),
                Known("what a function calls itself that goes by another name", line=r"=\s*function\s+\w+", real=True),
            ),
        ),
        Compared(
            "TypeScript",
            frozenset(["function", "class", "method", "interface", "enum", "alias", "namespace"]),
            (".ts",),
            (
                Known("an imported type, not a definition", line=r"^\s*(import|export)\b.*\{.*\btype\b"),
                Known("a keyword, not a name", name=r"^(extends|new|if|as|satisfies)$"),
            ),
        ),
        Compared(
            "Rust",
            frozenset(["function", "struct", "enum", "interface", "method", "module", "typedef", "macro"]),
            (".rs",),
        ),
        Compared(
            "C#",
            frozenset(["class", "interface", "method", "enum", "struct", "namespace"]),
            (".cs",),
            (
                Known("a call, not a definition", line=r"[.?(]\w+(<\w+>)?\(|\?\.|\bnameof\("),
                Known("a constraint, not a definition", line=r"\bwhere\s+T\b"),
                Known("found without the interface it is written with", name=r"^IEnumerable\.GetEnumerator$"),
            ),
        ),
    )
}


class Tag(msgspec.Struct):
    name: str
    path: str
    kind: str
    line: int


def tags_of(language: Compared, files: Sequence[Path]) -> Iterator[Tag]:
    options = [
        "--output-format=json",
        "--fields=+nK",
        f"--languages={language.language}",
        f"--langmap={language.language}:{''.join(language.endings)}",
        "--sort=no",
        "-f",
        "-",
        "-L",
        "-",
    ]
    told = subprocess.run(
        ["ctags", *options], input="\n".join(map(str, files)), capture_output=True, text=True, check=True
    ).stdout
    for line in told.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and tag["kind"] in language.kinds:
            yield Tag(tag["name"], tag["path"], tag["kind"], tag["line"])


def compare(language: Compared, files: Sequence[Path]) -> None:
    places: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for file in files:
        facts = extract(by_name(language.language), file.read_bytes(), SECONDS_A_FILE)
        names = places.setdefault(str(file), {})
        for each in facts.definitions:
            names.setdefault(each.name.lstrip("#"), []).append((each.start, each.end))
    found = lost = 0
    unknown = []
    for tag in tags_of(language, files):
        if any(start <= tag.line <= end for start, end in places[tag.path].get(tag.name, [])):
            found += 1
            continue
        line = Path(tag.path).read_text("utf-8", "replace").splitlines()[tag.line - 1]
        known = next((each for each in language.known if _is(each, tag, line)), None)
        if known is None:
            unknown.append(f"{tag.path}:{tag.line}: {tag.kind} {tag.name}: {line.strip()[:80]}")
        lost += known is None or known.real
    assert not unknown, "\n".join(unknown[:40])
    assert found >= 10
    assert found / (found + lost) >= WANTED


def _is(known: Known, tag: Tag, line: str) -> bool:
    told = ((known.line, line), (known.name, tag.name), (known.path, tag.path))
    return all(re.search(pattern, text) for pattern, text in told)


def files_below(folder: Path, language: Compared) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix in language.endings and file.is_file() and not file.stem.lower().startswith("broken")
    )


@pytest.mark.parametrize("name", list(COMPARED))
def test_of_samples_and_projects_nothing_is_lost(name: str) -> None:
    language = COMPARED[name]
    compare(language, files_below(CODE / "samples" / name, language) + files_below(CODE / "projects" / name, language))


@pytest.mark.heavy
def test_of_the_standard_library_of_python() -> None:
    folder = Path(sysconfig.get_path("stdlib"))
    files = [
        file
        for file in files_below(folder, COMPARED["Python"])
        if "site-packages" not in file.parts and "dist-packages" not in file.parts and "lib2to3" not in file.parts
    ]
    compare(COMPARED["Python"], files[::3])


@pytest.mark.heavy
def test_of_the_headers_and_the_c_of_python() -> None:
    runtime = importlib.util.find_spec("mypyc")
    places = [Path(sysconfig.get_path("include"))]
    places += [Path(place) / "lib-rt" for place in (runtime.submodule_search_locations or [])] if runtime else []
    files = [file for place in places for file in files_below(place, COMPARED["C"])]
    if len(files) < 10:
        pytest.skip("neither the headers of Python nor mypyc are installed")
    compare(COMPARED["C"], files)


@pytest.mark.heavy
def test_of_scripts_that_packages_bring_along() -> None:
    files = [
        file
        for packages in sys.path
        if packages.endswith("site-packages")
        for file in files_below(Path(packages), COMPARED["JavaScript"])
        if file.stat().st_size < 1 << 18 and ".min." not in file.name
    ]
    if len(files) < 2:
        pytest.skip("no package here brings scripts along")
    compare(COMPARED["JavaScript"], files)
