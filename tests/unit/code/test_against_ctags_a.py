"""Definitions against those of Universal Ctags: the languages that remit is most used for."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path

import pytest

from fakes.ctags import ANONYMOUS, CODE, NEEDS_CTAGS, Compared, Known, compare, files_below

pytestmark = NEEDS_CTAGS

COMPARED = {
    each.language: each
    for each in (
        Compared(
            "Python",
            frozenset(["function", "class", "member"]),
            (".py",),
            known=(
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
            known=(
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
            known=(Known("a permitted type, not a definition", line=r"\bpermits\b"),),
        ),
        Compared(
            "JavaScript",
            frozenset(["function", "class", "method", "generator", "getter", "setter"]),
            (".js", ".mjs"),
            known=(
                ANONYMOUS,
                Known("an object, not a class", line=r"=\s*\{"),
                Known("what a function calls itself that goes by another name", line=r"=\s*function\s+\w+", real=True),
            ),
        ),
        Compared(
            "TypeScript",
            frozenset(["function", "class", "method", "interface", "enum", "alias", "namespace"]),
            (".ts",),
            known=(
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
            known=(
                Known("a call, not a definition", line=r"[.?(]\w+(<\w+>)?\(|\?\.|\bnameof\("),
                Known("a constraint, not a definition", line=r"\bwhere\s+T\b"),
                Known("found without the interface it is written with", name=r"^IEnumerable\.GetEnumerator$"),
            ),
        ),
    )
}


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
