"""Settings of a repository that name no program, no other file of settings and no place outside: all that is left
of the settings of a repository that a command made."""

from __future__ import annotations

import re
from collections.abc import Callable

_SECTION = re.compile(r'[ \t]*\[([a-z0-9-]+)(?:[ \t]+"([^"\\]*)")?\][ \t]*', re.IGNORECASE)
_PAIR = re.compile(r'[ \t]*([a-z][a-z0-9-]*)[ \t]*(?:=[ \t]*([^"\\;#]*|"[^"\\]*"))?', re.IGNORECASE)
_NOTE = re.compile(r"[ \t]*(?:[#;].*)?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_PLAIN: dict[str, frozenset[str]] = {
    section: frozenset(keys.split())
    for section, keys in {
        "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf"
        " eol safecrlf abbrev compression quotepath sharedrepository sparsecheckout sparsecheckoutcone preloadindex"
        " untrackedcache protecthfs protectntfs",
        "extensions": "objectformat compatobjectformat refstorage partialclone noop preciousobjects worktreeconfig"
        " relativeworktrees",
        "user": "name email",
        "author": "name email",
        "committer": "name email",
        "init": "defaultbranch",
        "branch": "autosetuprebase autosetupmerge sort",
        "tag": "sort",
        "commit": "gpgsign",
        "pull": "rebase ff",
        "push": "default autosetupremote followtags",
        "fetch": "prune prunetags",
        "merge": "ff conflictstyle",
        "rebase": "autosquash autostash updaterefs",
        "rerere": "enabled autoupdate",
        "diff": "algorithm renames mnemonicprefix noprefix colormoved",
        "log": "date decorate",
        "status": "short branch showuntrackedfiles",
        "color": "ui",
        "gc": "auto autodetach",
        "index": "version threads",
        "receive": "denycurrentbranch denynonfastforwards",
        "submodule": "recurse active",
    }.items()
}
_NAMED: dict[str, frozenset[str]] = {
    "remote": frozenset({"url", "pushurl", "fetch", "push", "mirror", "tagopt", "prune", "promisor"}),
    "branch": frozenset({"remote", "merge", "rebase", "pushremote", "description"}),
    "submodule": frozenset({"url", "active", "branch", "ignore", "fetchrecursesubmodules"}),
}
"""By section, with a name in quotes behind it."""


def harmless(text: str, leads_inside: Callable[[str], bool]) -> tuple[str, bool]:
    """What may stay of the text of a file of settings, and whether that is all of it. Lines that are not of the plain
    kind (continued, escaped) go too. leads_inside: whether a working tree may be where `core.worktree` says."""
    kept: list[str] = []
    header, section, name, whole = "", "", None, True
    for line in text.split("\n"):
        if _CONTROL.search(line):
            whole = False
        elif _NOTE.fullmatch(line):
            continue
        elif found := _SECTION.fullmatch(line):
            header, section, name = line, found[1].lower(), found[2]
        elif (found := _PAIR.fullmatch(line)) and _plain(section, name, found[1].lower(), found[2], leads_inside):
            kept += [header, line] if header else [line]
            header = ""
        else:
            whole = False
    return "".join(f"{line}\n" for line in kept), whole


def _plain(section: str, name: str | None, key: str, value: str | None, leads_inside: Callable[[str], bool]) -> bool:
    value = (value or "").strip().strip('"')
    if (section, name, key) == ("core", None, "worktree"):
        return leads_inside(value)
    keys = _PLAIN if name is None else _NAMED
    # `helper::address` names a program that fetches.
    return key in keys.get(section, ()) and "::" not in value
