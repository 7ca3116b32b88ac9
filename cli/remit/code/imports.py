"""Imports whose syntax nests: read by their text."""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.code.facts import Import

MAX_NAMES = 1000
"""Of one import."""

_USE = re.compile(r"\buse\s+(.*?);?\s*\Z", re.DOTALL)
_USE_TOKENS = re.compile(r"::|[{},*]|\bas\b|[\w#]+")

_KOTLIN_IMPORT = re.compile(r"import\s+([\w`]+(?:\.[\w`]+)*(?:\.\*)?)(?:\s+as\s+(\w+))?")
_SCALA_PATHS = re.compile(r"((?:[\w$`]+\.)*(?:[\w$`]+|\*|(?=\{)))\s*(?:\{([^{}]*)\})?")
_JAVA_IMPORT = re.compile(r"import\s+(?:static\s+)?([\w.*\s]+?)\s*;?\s*\Z")
_USING = re.compile(r"(?:global\s+)?using\s+(?:static\s+|unsafe\s+)*(?:(\w+)\s*=\s*)?([^;=]+?)\s*;?\s*\Z")


def read_use(text: str, line: int) -> list[Import]:
    """`use a::{b, c::{self, d as e}, f::*};` of Rust: modules are spelled with `::`, `self` is the module itself."""
    match = _USE.search(text)
    if match is None:
        return []
    found: list[Import] = []
    prefixes: list[list[str]] = [[]]
    path: list[str] = []
    alias = ""
    aliased = False

    def close() -> None:
        nonlocal path, alias, aliased
        whole = prefixes[-1] + path
        if path and len(found) < MAX_NAMES:
            *module, name = whole
            if name == "self" and module:
                found.append(Import("::".join(module), line, "", alias))
            else:
                found.append(Import("::".join(module), line, name, alias))
        path, alias, aliased = [], "", False

    for token in _USE_TOKENS.findall(match[1]):
        if token == "{":
            prefixes.append(prefixes[-1] + path)
            path = []
        elif token == "}":
            close()
            if len(prefixes) > 1:
                prefixes.pop()
        elif token == ",":
            close()
        elif token == "as":
            aliased = True
        elif token != "::":
            alias, path = (token, path) if aliased else (alias, [*path, token])
    close()
    return found


def read_kotlin_import(text: str, line: int) -> list[Import]:
    """`import a.b.C as D`, `import a.b.*` of Kotlin."""
    match = _KOTLIN_IMPORT.match(text.strip())
    if match is None:
        return []
    module, _, name = match[1].rpartition(".")
    return [Import(module, line, name, match[2] or "")]


def read_scala_import(text: str, line: int) -> list[Import]:
    """`import a.b.{C, D => E}, f.g._` of Scala, in the words of both of its versions."""
    found: list[Import] = []
    for path, group in _SCALA_PATHS.findall(text.strip().removeprefix("import ")):
        if not path:
            continue
        if not group:
            module, _, name = path.rpartition(".")
            found.append(Import(module, line, "*" if name in ("_", "*") else name))
            continue
        for part in group.split(",")[:MAX_NAMES]:
            name, _, alias = re.sub(r"\s+as\s+", "=>", part).partition("=>")
            name, alias = name.strip(), alias.strip()
            if name and alias != "_":
                found.append(Import(path.rstrip("."), line, "*" if name in ("_", "*") else name, alias))
    return found


def read_java_import(text: str, line: int) -> list[Import]:
    """`import [static] a.b.C;`, `import a.b.*;`: the last name is what the package or the class lends."""
    match = _JAVA_IMPORT.match(text)
    if match is None:
        return []
    module, _, name = "".join(match[1].split()).rpartition(".")
    return [Import(module, line, name)]


def read_using(text: str, line: int) -> list[Import]:
    """`using A.B;` lends all names of a namespace, `using static A.B;` those of a class, `using X = A.B;` one name."""
    match = _USING.match(text)
    if match is None:
        return []
    alias, target = match[1] or "", "".join(match[2].split())
    if not alias:
        return [Import(target, line, "*")]
    module, _, name = target.partition("<")[0].rpartition(".")
    return [Import(module, line, name, alias)]


READERS: dict[str, Callable[[str, int], list[Import]]] = {
    "C#": read_using,
    "Java": read_java_import,
    "Kotlin": read_kotlin_import,
    "Rust": read_use,
    "Scala": read_scala_import,
}
"""By language: the text of an import and its line in, what it imports out."""
