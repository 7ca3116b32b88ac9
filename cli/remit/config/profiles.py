"""System prompt profiles: `system-prompts/NAME.md` in the directory of the settings."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from remit.base.errors import Fault, Faults
from remit.base.lazy_pattern import lazy_pattern
from remit.base.messages import Effort
from remit.base.spec import BUILTIN, SECTIONS, Loading, ProfileTools, section_of
from remit.base.text import shorten
from remit.config.convert import convert_fields
from remit.config.document import in_line_order
from remit.config.load import decode, parse, read_bytes

FOLDER = "system-prompts"
MAX_BYTES = 64 * 1024

GROUPS = ("documents", "files", "code", "execution", "agents")
"""The toolsets, as a profile names them."""

NOT_THEIRS = frozenset({"tool_output"})
"""Tools that no profile turns off or on."""

_NAME = lazy_pattern(r"[A-Za-z0-9_-]{1,64}")
_MARK = "---"
_DIRECTIVE = lazy_pattern(r"\{\{\s*[A-Za-z_]*\s*\}\}")


class ProfileToolKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`tools`"""

    default: Literal["inherit", "eager", "lazy", "disabled"] = "inherit"
    groups: dict[str, Loading] = {}
    overrides: dict[str, Loading] = {}


class ProfileKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What stands between the first two lines `---` of a profile. layout: overlay adds the text to remit's own system
    prompt, custom puts it in its place; there a line `{{SECTION}}` stands for a part of remit's own. subagent_model,
    subagent_thinking: of agents that have this profile and work for another one; `fast` and `best` are models of the
    provider of the run, `chat` and `plan` the run's own."""

    description: str = ""
    layout: Literal["overlay", "custom"] = "overlay"
    tools: ProfileToolKeys = ProfileToolKeys()
    subagent_model: str = ""
    subagent_thinking: Effort | None = None


class Profile(msgspec.Struct, frozen=True):
    """text: below the head of the file. files: its sha256, by absolute path."""

    name: str
    keys: ProfileKeys
    text: str
    tools: ProfileTools
    files: dict[str, str]


class Words(msgspec.Struct, frozen=True):
    """What the user says in the system prompt of a run, before and after the text of a profile."""

    before: str = ""
    after: str = ""

    def around(self, text: str) -> str:
        return "\n\n".join(each.strip() for each in (self.before, text, self.after) if each.strip())


def load_profile(name: str, config_dir: str, tools: Collection[str]) -> Profile:
    """The profile of that name. tools: names there are. Raises Faults."""
    if not _NAME.fullmatch(name):
        raise Faults([Fault(f"{shorten(name)} is no name of a profile", hint="letters, digits, _ and -, at most 64")])
    path = os.path.join(config_dir, FOLDER, f"{name}.md")
    if not os.path.isfile(path):
        raise Faults([Fault(f"there is no profile {name}", path, _there_are(config_dir))])
    raw = read_bytes(path, MAX_BYTES)
    head, text = _parts(decode(raw, path), path)
    keys = _keys(head, path, tools)
    _hold_directives(keys, head, text, path)
    loading = ProfileTools(name, path, keys.tools.default, keys.tools.groups, keys.tools.overrides)
    return Profile(name, keys, text.strip(), loading, {os.path.abspath(path): hashlib.sha256(raw).hexdigest()})


def profile_names(config_dir: str) -> list[str]:
    """The profiles there are, sorted."""
    try:
        entries = os.listdir(os.path.join(config_dir, FOLDER))
    except OSError:
        return []
    names = (entry[:-3] for entry in entries if entry.endswith(".md"))
    return sorted(name for name in names if _NAME.fullmatch(name) and name != BUILTIN)


def _there_are(config_dir: str) -> str:
    names = profile_names(config_dir)
    return f"the profiles are {', '.join(names)}" if names else "write it; there is none yet"


def _parts(text: str, path: str) -> tuple[str, str]:
    """The head, with as many lines before it as in the file, and what comes after it."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    if not lines or lines[0].rstrip() != _MARK:
        return "", text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            return "\n" + "".join(lines[1:number]), "".join(lines[number + 1 :])
    raise Faults([Fault("its head does not end", f"{path}:1", "write --- below it")])


def _hold_directives(keys: ProfileKeys, head: str, text: str, path: str) -> None:
    """Raise Faults for lines that look like sections and are none, or are not asked for."""
    faults = []
    for number, line in enumerate(text.split("\n"), head.count("\n") + 2 if head else 1):
        if not _DIRECTIVE.fullmatch(line.strip()):
            continue
        if not section_of(line):
            message, hint = f"there is no section {shorten(line.strip())}", f"the sections are {', '.join(SECTIONS)}"
            faults.append(Fault(message, f"{path}:{number}", hint))
        elif keys.layout != "custom":
            message = f"{line.strip()} stands for a section, and this text is added to all of them"
            faults.append(Fault(message, f"{path}:{number}", "write `layout: custom` in its head"))
    if faults:
        raise Faults(faults)


def _keys(head: str, path: str, tools: Collection[str]) -> ProfileKeys:
    if not head.strip():
        return ProfileKeys()
    document = parse(head, path, "yaml")
    good, faults = convert_fields(document, ProfileKeys)
    keys = ProfileKeys(**good)
    known: dict[str, tuple[Mapping[str, Loading], Collection[str], str]] = {
        "groups": (keys.tools.groups, GROUPS, "the groups are " + ", ".join(GROUPS)),
        "overrides": (keys.tools.overrides, set(tools) - NOT_THEIRS, "`remit tools` lists the tools"),
    }
    for key, (given, valid, hint) in known.items():
        for name in given:
            if name not in valid:
                message = f"`tools.{key}`: {shorten(name)} is none that a profile can name"
                faults.append(Fault(message, document.where("tools", key, name), hint))
    if faults:
        raise Faults(in_line_order(faults, document))
    return keys
