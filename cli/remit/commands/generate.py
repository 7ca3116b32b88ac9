"""The files of the repository that are made from the program: completions, manual, the task schema.

python -m remit.commands.generate ROOT            write them
python -m remit.commands.generate --check ROOT    exit 1, and say what differs, when one is out of step
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

USAGE = "usage: python -m remit.commands.generate [--check] ROOT"
DIFF_LINES = 12

FOLDERS = ("completions", "man")
"""Everything in these is made here."""

TASK_SCHEMA = "tests/golden/task.schema.json"
"""Kept to be looked at whenever it changes: people's files and editors go by it."""

RUN_FLAGS = "cli/remit/commands/run_flags.py"
"""A part of the program that is made from another."""

RUN_FLAGS_FORM = '''\
"""The options of `remit run`, for `plain`. Made by `remit.commands.generate`: not to be changed by hand."""

from __future__ import annotations

from typing import Any

FLAGS: dict[str, tuple[str, bool | str | tuple[str, ...]]] = {{
{flags}
}}
"""By spelling: the parameter, and its kind: what a switch sets, `one` or `many` of any text, or all choices."""

DEFAULTS: dict[str, Any] = {{
{defaults}
}}
'''


def generated() -> dict[str, str]:
    """Every generated file: its path below the root, and its text."""
    from remit import __version__
    from remit.commands.manual import PAGES
    from remit.commands.manual.page import roff
    from remit.commands.shells import SHELLS, completion_script
    from remit.commands.shells.words import known_words
    from remit.commands.tree import command_tree

    tree, words = command_tree(), known_words()
    scripts = {f"completions/{file}": completion_script(shell, tree, words) for shell, file in SHELLS.items()}
    pages = {f"man/{file}": roff(build(), __version__) for file, build in PAGES.items()}
    return scripts | pages | {TASK_SCHEMA: _task_schema(), RUN_FLAGS: _run_flags()}


def _task_schema() -> str:
    import msgspec

    from remit.config.schema import task_schema

    return msgspec.json.format(msgspec.json.encode(task_schema()), indent=2).decode() + "\n"


def _run_flags() -> str:
    """The options of `remit run` as a module of data. Those whose values take more than a look are left out."""
    import typer

    from remit.commands.run import app

    params: list[Any] = typer.main.get_command(app).params
    flags = [_entry(name, (param.name, kind)) for param in params for name, kind in _kinds(param)]
    defaults = [_entry(param.name, param.default) for param in params]
    return RUN_FLAGS_FORM.format(flags="\n".join(flags), defaults="\n".join(defaults))


def _kinds(param: Any) -> Iterator[tuple[str, bool | str | tuple[str, ...]]]:
    if param.param_type_name != "option":
        return
    choices = tuple(getattr(param.type, "choices", ()))
    if param.is_flag:
        yield from ((name, True) for name in param.opts)
        yield from ((name, False) for name in param.secondary_opts)
    elif choices and not param.multiple:
        yield from ((name, choices) for name in param.opts)
    elif param.type.name == "str":
        yield from ((name, "many" if param.multiple else "one") for name in param.opts)


def _entry(key: str, value: object) -> str:
    """A line of a dict as the formatter leaves it."""
    shown = json.dumps(value) if isinstance(value, str) else repr(value).replace("'", '"')
    return f"    {json.dumps(key)}: {shown},"


def present(root: str) -> dict[str, str]:
    """The files there are in FOLDERS, and the schema, by path below the root."""
    found: dict[str, str] = {}
    for path in (*(path for folder in FOLDERS for path in _listed(root, folder)), TASK_SCHEMA, RUN_FLAGS):
        place = os.path.join(root, path)
        if os.path.isfile(place):
            with open(place, encoding="utf-8", errors="replace") as file:
                found[path] = file.read()
    return found


def _listed(root: str, folder: str) -> list[str]:
    place = os.path.join(root, folder)
    return [f"{folder}/{name}" for name in sorted(os.listdir(place))] if os.path.isdir(place) else []


def differences(due: Mapping[str, str], have: Mapping[str, str]) -> list[str]:
    """A line on each file that is missing, stale or not made here, and the start of each difference."""
    lines: list[str] = []
    for path in sorted(due.keys() | have.keys()):
        if path not in have:
            lines.append(f"{path}: missing")
        elif path not in due:
            lines.append(f"{path}: not made by this program; remove it")
        elif due[path] != have[path]:
            lines.append(f"{path}: stale")
            lines += _diff(have[path], due[path])
    return lines


def _diff(old: str, new: str) -> list[str]:
    every = difflib.unified_diff(old.splitlines(), new.splitlines(), "there", "due", lineterm="", n=1)
    return [f"    {line}" for line in islice(every, DIFF_LINES)]


def write(root: str, due: Mapping[str, str]) -> None:
    """Write every file below the root. Raises OSError."""
    for path, text in due.items():
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


def main(argv: Sequence[str]) -> int:
    """The exit code: 0, 1 for files out of step, 2 for a bad command line."""
    roots = [word for word in argv if word != "--check"]
    if len(roots) != 1 or roots[0].startswith("-"):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    (root,) = roots
    if not os.path.isfile(os.path.join(root, "pyproject.toml")):
        sys.stderr.write(f"{root}: there is no pyproject.toml, so this is not the root of the repository\n{USAGE}\n")
        return 2
    due = generated()
    if "--check" not in argv:
        write(root, due)
        return 0
    lines = differences(due, present(root))
    if lines:
        lines.append(f"write them anew: python -m remit.commands.generate {root}")
        sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
