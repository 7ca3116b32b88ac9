"""The command of a call as rules on its output name it: the program and its first words."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")

_WRAPPERS = {
    "env": 0,
    "command": 0,
    "exec": 0,
    "nohup": 0,
    "time": 0,
    "nice": 0,
    "stdbuf": 0,
    "sudo": 0,
    "timeout": 1,
}
"""Programs that run the command behind them, and the words they take before it."""

_LAUNCHERS = (
    ("python", "-m"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("npx",),
    ("bunx",),
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("bundle", "exec"),
)
"""Words that start a program by its name, which comes next."""

_OPTIONS_WITH_VALUE = frozenset(
    {"-C", "-c", "-n", "-u", "-H", "--git-dir", "--work-tree", "--context", "--namespace", "--kubeconfig"}
    | {"--prefix", "--cwd", "--dir", "--filter", "--directory", "--project", "--python", "--with", "--package"}
)
"""Options that come before the word that says what to do, and take the next word as their value."""

_ALIASES = {
    "python3": "python",
    "pip3": "pip",
    "gmake": "make",
    "yarnpkg": "yarn",
    "pytest-3": "pytest",
    "py.test": "pytest",
}
_VERSION = re.compile(r"^(python|pip)3?\.\d+$")


class Command(NamedTuple):
    """words: the program without its path, and its words without options. options: all of them, as given."""

    words: tuple[str, ...]
    options: tuple[str, ...]


def command_of(argv: Sequence[str]) -> Command:
    """What a simple command runs, behind assignments, wrappers and launchers; no words if nothing is named."""
    rest = list(argv)
    while rest:
        if _ASSIGNMENT.match(rest[0]):
            rest.pop(0)
            continue
        name = _program(rest[0])
        if name in _WRAPPERS:
            rest = _behind_wrapper(rest, _WRAPPERS[name])
            continue
        launched = _behind_launcher([name, *rest[1:]])
        if launched is None:
            return _split([name, *rest[1:]])
        rest = launched
    return Command((), ())


def _program(word: str) -> str:
    name = os.path.basename(word).removesuffix(".exe")
    name = _ALIASES.get(name, name)
    found = _VERSION.match(name)
    return found[1] if found else name


def _behind_wrapper(argv: list[str], words: int) -> list[str]:
    rest = argv[1:]
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0])):
        option = rest.pop(0)
        if option in _OPTIONS_WITH_VALUE or option in {"-s", "-k", "-o", "-e", "-i"}:
            rest = rest[1:]
    return rest[words:]


def _behind_launcher(argv: list[str]) -> list[str] | None:
    for words in _LAUNCHERS:
        if argv[0] != words[0]:
            continue
        rest = argv[1:]
        for word in words[1:]:
            rest = rest if word.startswith("-") else _behind_options(rest)
            if rest[:1] != [word]:
                break
            rest = rest[1:]
        else:
            return _behind_options(rest)
    return None


def _behind_options(argv: list[str]) -> list[str]:
    rest = list(argv)
    while rest and rest[0].startswith(("-", "+")):
        option = rest.pop(0)
        if option in _OPTIONS_WITH_VALUE:
            rest = rest[1:]
    return rest


def _split(argv: list[str]) -> Command:
    """Before the first word, options may take a value; behind it, only what starts with a dash is one."""
    behind = _behind_options(argv[1:])
    words = [word for word in behind if not word.startswith("-")]
    return Command((argv[0], *words), tuple(word for word in argv[1:] if word.startswith("-")))
