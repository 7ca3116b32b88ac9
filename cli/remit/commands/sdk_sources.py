"""What a client of Claude Code lets be read from files of the user and of the project: `--setting-sources`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from remit.commands.output import write_stderr

SOURCES = ("user", "project", "local")


def read_sources(given: str | None) -> tuple[str, ...]:
    """The sources; all of them where the client names none, as its program has it. None at all is a choice too."""
    if given is None:
        return SOURCES
    named = [name for each in given.split(",") if (name := each.strip())]
    if unknown := [name for name in named if name not in SOURCES]:
        write_stderr(f"remit-sdk: of --setting-sources, {', '.join(unknown)} has no effect\n")
    return tuple(name for name in SOURCES if name in named)


def settings_passed_over(sources: tuple[str, ...], cwd: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What to tell of the settings files of their program that are there: rules are not taken from files that a
    project brings along."""
    files = [path for source, path in _files(cwd, environ) if source in sources and os.path.isfile(path)]
    if not files:
        return ()
    what = "permissions and hooks are those of --settings, of the client, and of policies of remit"
    return (f"not read: {', '.join(files)}; {what}",)


def _files(cwd: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    home = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME") or "/", ".claude")
    yield "user", os.path.join(home, "settings.json")
    yield "project", os.path.join(cwd, ".claude", "settings.json")
    yield "local", os.path.join(cwd, ".claude", "settings.local.json")
