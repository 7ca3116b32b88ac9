"""How the search tools tell what they passed over."""

from __future__ import annotations

from collections.abc import Sequence

from remit.base.text import visible
from remit.tools.files._quantity import quantity
from remit.workspace.search import Elsewhere, LeftOut
from remit.workspace.search_glob import NamePattern
from remit.workspace.search_scan import MAX_NAMES, Stopped

MAX_NAMED = 5
_STOPPED = {"time": "its time was up", "entries": "there are too many entries"}


def stopped_note(stopped: Stopped) -> list[str]:
    return (
        [f"scan stopped early: {_STOPPED[stopped]}; search a directory or with a narrower pattern"] if stopped else []
    )


def left_out_notes(left: LeftOut) -> list[str]:
    """One note for each reason for which something was passed over."""
    notes: list[str] = []
    if left.withheld:
        among = f" of the first {left.withheld_of}" if left.withheld_of == MAX_NAMES else ""
        notes.append(f"{quantity(left.withheld, 'file')}{among} withheld by rules")
    if left.ignored:
        notes.append(f"{quantity(left.ignored, 'entry', 'entries')} ignored by .gitignore (reached by naming the path)")
    if left.skipped_folders:
        bases = sorted({name.rpartition("/")[2] for name in left.skipped_folders})
        number = quantity(len(left.skipped_folders), "directory", "directories")
        notes.append(f"{number} skipped by default (reached by naming the path): {_named(bases)}")
    if left.nested_repositories:
        number = quantity(len(left.nested_repositories), "nested repository", "nested repositories")
        notes.append(f"{number} not searched (reached by naming the path): {_named(left.nested_repositories)}")
    if left.binary:
        notes.append(f"{quantity(left.binary, 'binary file')} not searched")
    if left.too_large:
        notes.append(f"{quantity(left.too_large, 'file')} larger than 5 MiB not searched")
    if left.special:
        notes.append(f"{quantity(left.special, 'link or special file', 'links or special files')} not followed")
    if left.unreadable:
        notes.append(f"warning: {quantity(left.unreadable, 'entry', 'entries')} could not be read")
    return notes


def brackets_note(pattern: NamePattern) -> list[str]:
    """Of a pattern that fits no file, and looks as if it should."""
    return ["square brackets stand for themselves; a choice is {a,b}"] if "[" in pattern.text else []


def elsewhere_note(elsewhere: Elsewhere | None) -> list[str]:
    if elsewhere is None:
        return []
    number = quantity(elsewhere.files, "file", exact=elsewhere.exact)
    verb = "matches" if elsewhere.files == 1 and elsewhere.exact else "match"
    return [f"{number} {verb} in what is ignored or skipped, such as {_named(elsewhere.examples)}"]


def bracketed(notes: Sequence[str]) -> list[str]:
    """The notes as the lines behind a result."""
    return [f"[{note}]" for note in notes]


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(visible(name) for name in names[:MAX_NAMED])
    return f"{shown} and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else shown
