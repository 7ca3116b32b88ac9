"""Prepared answers to asks: read from an approvals file, and written as text to paste into one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Container, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from remit.base.errors import Fault, Faults
from remit.base.ports import Approval
from remit.base.resources import Resource
from remit.base.spec import Source
from remit.base.text import shorten
from remit.config.load import Document, convert, convert_fields, parse, spell
from remit.policy.patterns import canonical_url
from remit.policy.questions import PreparedAnswers, UseCounter, load_choices, utc_text
from remit.policy.rule_files import Filled
from remit.policy.rules import known_tool, tool_hint
from remit.policy.subjects import NOTHING, PATH_KINDS


def arguments_digest(arguments: str) -> str:
    """The sha256 (hex) of a call's arguments, the same for the same JSON however it is spaced and ordered.

    Text that is no JSON, which no tool accepts, has the digest of its bytes."""
    try:
        value = json.loads(arguments or "{}")
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        text = arguments
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# -- the file ----------------------------------------------------------------------------------

_SELECTING = ("url", "path", "command", "digest")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    tool: Filled
    decide: Literal["allow", "deny"]
    why: Filled
    url: Filled | None = None
    path: Filled | None = None
    command: Filled | None = None
    digest: Filled | None = None
    uses: Annotated[int, msgspec.Meta(ge=1)] | None = None
    expires: datetime | None = None


class _AnswersFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    approval: list[Any] = []
    answer: list[Any] = []


class Prepared(msgspec.Struct, frozen=True):
    """One `[[approval]]`. key, value: what it covers; a URL in canonical form."""

    tool: str
    key: str
    value: str
    approval: Approval
    uses: int | None
    expires: datetime | None

    def covers(self, digest: str, resource: Resource) -> bool:
        """Whether it answers for this resource of a call with these arguments."""
        if self.key == "digest":
            return digest == self.value
        if self.key == "path":
            # Behind a link lies what is really touched, so that is what has to be named to allow it.
            names = (resource.real or resource.name,) if self.approval.allow else resource.names()
            return resource.kind in PATH_KINDS and self.value in names
        if self.key == "command":
            # The same words do something else elsewhere: only a digest covers the directory too.
            same = resource.kind == "command" and self.value == resource.name
            return same and not (resource.cwd and self.approval.allow)
        return resource.kind == "url" and self.value == _same_url(resource.name)


class Foreseen(msgspec.Struct, frozen=True):
    """The answer to come. uses: how many calls its entries answer at most, over all runs; None: any number."""

    approval: Approval
    uses: int | None


def _same_url(text: str) -> str:
    try:
        return str(canonical_url(text))
    except ValueError:
        return ""


def load_answers(
    source: Source, tool_names: Container[str], *, now: Callable[[], datetime], uses: UseCounter
) -> Answers:
    """The answers of an approvals file. `now`: the aware current time. Raises Faults with all of them."""
    document = parse(source.text, source.path, "toml")
    whole, faults = convert(document, _AnswersFile)
    entries = document.data.get("approval") if isinstance(document.data, dict) else None
    file_digest = hashlib.sha256(source.text.encode()).hexdigest()
    prepared: list[Prepared] = []
    for index in range(len(entries) if isinstance(entries, list) else 0):
        entry, found = _prepare(document, index, tool_names, f"{file_digest}:{index}")
        faults += found
        if entry is not None:
            prepared.append(entry)
    choices, found = load_choices(document, file_digest)
    faults += found
    if faults or whole is None:
        raise Faults(faults)
    questions = PreparedAnswers(source.path, choices, now=now, uses=uses)
    return Answers(source.path, tuple(prepared), questions, now=now, uses=uses)


def _prepare(
    document: Document, index: int, tool_names: Container[str], entry: str
) -> tuple[Prepared | None, list[Fault]]:
    at = ("approval", index)
    given, faults = convert_fields(document, _Entry, at)

    def fault(message: str, *keys: str, hint: str = "") -> None:
        faults.append(Fault(f"`{spell((*at, *keys))}` {message}", document.where(*at, *keys), hint))

    tool, why, expires = given.get("tool"), given.get("why"), given.get("expires")
    if tool is not None and not known_tool(tool, tool_names):
        fault(f"names the unknown tool {shorten(tool)}", "tool", hint=tool_hint(tool, tool_names))
    if why is not None and not why.strip():
        fault("is blank", "why", hint="say who answered, or why")
    if expires is not None and expires.tzinfo is None:
        fault("has no time zone", "expires", hint="write it as 2026-12-31T00:00:00Z")
    written = document.data["approval"][index]
    keys = [key for key in _SELECTING if isinstance(written, dict) and key in written]
    if len(keys) != 1:
        seen = " and ".join(f"`{key}`" for key in keys) or "none of them"
        fault(f"has {seen}", hint="name exactly one of url, path, command, digest")
    value = ""
    if len(keys) == 1 and keys[0] in given:
        try:
            value = _CHECKS[keys[0]](given[keys[0]])
        except ValueError as problem:
            fault(f"cannot be used: {problem}", keys[0])
    if faults:
        return None, faults
    approval = Approval(given["decide"] == "allow", document.where(*at), given["why"], entry)
    return Prepared(given["tool"], keys[0], value, approval, given.get("uses"), expires), []


def _check_url(text: str) -> str:
    return str(canonical_url(text))


def _check_path(text: str) -> str:
    if text.startswith("~"):
        raise ValueError("`~` is not expanded here; write the path as the ask shows it")
    parts = text.removeprefix("/").removesuffix("/").split("/")
    if "\\" in text or (text not in (".", "/") and any(part in ("", ".", "..") for part in parts)):
        raise ValueError("write the path as the ask shows it: with single slashes and without `.` and `..`")
    return text if text == "/" else text.removesuffix("/")


def _check_command(text: str) -> str:
    return text


def _check_digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ValueError("a digest is 64 lower case hexadecimal digits")
    return text


_CHECKS: dict[str, Callable[[str], str]] = {
    "url": _check_url,
    "path": _check_path,
    "command": _check_command,
    "digest": _check_digest,
}


# -- answering ---------------------------------------------------------------------------------


class Answers:
    """base.ports.Approvals over one file. questions: its answers to those of the model."""

    def __init__(
        self,
        path: str,
        prepared: Sequence[Prepared],
        questions: PreparedAnswers,
        *,
        now: Callable[[], datetime],
        uses: UseCounter,
    ) -> None:
        self.questions = questions
        self._path = path
        self._prepared = tuple(prepared)
        self._now = now
        self._uses = uses
        self._spent: set[str] = set()
        self._digest = ""

    def answerable(self, tool: str) -> bool:
        """Whether any entry may still allow a call of this tool."""
        return any(each.tool == tool and each.approval.allow and self._lives(each) for each in self._prepared)

    def answer(self, tool: str, arguments_digest: str, resources: Sequence[Resource]) -> Approval | None:
        """What the entries say of a call with these asking resources: a denying one for any of them,
        wherever it stands; else the first that covers them all, or one for each. Uses are counted once
        it allows."""
        self._digest = arguments_digest
        while True:
            chosen = self._choose(tool, arguments_digest, resources)
            if chosen is None:
                return None
            denying = next((each for each in chosen if not each.approval.allow), None)
            if denying is not None:
                return denying.approval
            if all(self._take(each) for each in chosen):
                return _joined(chosen)

    def foresee(self, tool: str, arguments_digest: str, resources: Sequence[Resource]) -> Foreseen | None:
        """What `answer` would say, with no use counted. Nor is it looked up how many are left."""
        self._digest = arguments_digest
        chosen = self._choose(tool, arguments_digest, resources)
        if chosen is None:
            return None
        limits = tuple(each.uses for each in chosen if each.uses is not None and each.approval.allow)
        return Foreseen(_joined(chosen), min(limits, default=None))

    def why_not(self, tool: str, resources: Sequence[Resource]) -> str:
        """Why the last call of this tool was not answered, for the one who reads the refusal.

        Use it after `answer`, which is what finds an entry spent."""
        asking = resources or (NOTHING,)
        covering = [
            each
            for each in self._prepared
            if each.tool == tool and any(each.covers(self._digest, resource) for resource in asking)
        ]
        if not covering:
            return f"{self._path} has no approval for it"
        return "; ".join(self._state(each) for each in covering)

    def lapsed(self, tool: str) -> str:
        """Which entries would allow calls of this tool, had they not expired or been spent, and that they have."""
        allowing = (each for each in self._prepared if each.tool == tool and each.approval.allow)
        return "; ".join(self._state(each) for each in allowing if not self._lives(each))

    def _choose(self, tool: str, digest: str, resources: Sequence[Resource]) -> list[Prepared] | None:
        """The first live entry that denies any resource, else live entries that together allow every
        one of them; None when one is left uncovered."""
        live = [each for each in self._prepared if each.tool == tool and self._lives(each)]
        # A call that touches nothing can still be named by its arguments.
        asking = resources or (NOTHING,)
        denying = [each for each in live if not each.approval.allow and any(each.covers(digest, r) for r in asking)]
        if denying:
            return denying[:1]
        for each in live:
            if all(each.covers(digest, resource) for resource in asking):
                return [each]
        chosen: dict[str, Prepared] = {}
        for resource in asking:
            first = next((each for each in live if each.covers(digest, resource)), None)
            if first is None:
                return None
            chosen[first.approval.entry] = first
        return list(chosen.values())

    def _lives(self, each: Prepared) -> bool:
        return each.approval.entry not in self._spent and not self._expired(each)

    def _expired(self, each: Prepared) -> bool:
        return each.expires is not None and self._now() >= each.expires

    def _take(self, each: Prepared) -> bool:
        if each.uses is None or self._uses.take(each.approval.entry, each.uses):
            return True
        self._spent.add(each.approval.entry)
        return False

    def _state(self, each: Prepared) -> str:
        if each.expires is not None and self._expired(each):
            return f"{each.approval.where} would answer it, but expired at {utc_text(each.expires)}"
        if each.approval.entry in self._spent:
            return f"{each.approval.where} would answer it, but its {each.uses} use(s) are spent"
        return f"{each.approval.where} answers for a part of it only"


def _joined(chosen: Sequence[Prepared]) -> Approval:
    """Allowing entries, or a single one, as one answer."""
    if len(chosen) == 1:
        return chosen[0].approval
    parts = [each.approval for each in chosen]
    return Approval(
        True,
        ", ".join(each.where for each in parts),
        "; ".join(dict.fromkeys(each.why for each in parts)),
        " ".join(each.entry for each in parts),
    )


# -- pasting -----------------------------------------------------------------------------------


class Pending(msgspec.Struct, frozen=True):
    """A call that waits for an answer. resources: those that ask. note: the rule that asks."""

    tool: str
    arguments: str
    resources: tuple[Resource, ...]
    note: str = ""


_HEADER = '# Read each entry, change what you do not want, and say why. `decide = "deny"` refuses.\nversion = 1\n'
_APPROVABLE = {"url": "url", "path": "path", "tree": "path", "command": "command"}


def paste(pending: Sequence[Pending]) -> str:
    """An approvals file that allows each of these calls as often as it waits, and nothing else."""
    waiting: dict[str, tuple[str, int]] = {}
    for each in pending:
        selection = f"tool = {toml_string(each.tool)}\n{_selection(each)}"
        note, count = waiting.get(selection, (each.note, 0))
        waiting[selection] = (note, count + 1)
    return _HEADER + "".join(_entry(selection, note, count) for selection, (note, count) in waiting.items())


def paste_entry(each: Pending) -> str:
    """One call as an entry to add to an approvals file."""
    return _entry(f"tool = {toml_string(each.tool)}\n{_selection(each)}", each.note, 1).lstrip("\n")


def _entry(selection: str, note: str, count: int) -> str:
    comment = f"# {_one_line(note)}\n" if note else ""
    return f'\n{comment}[[approval]]\n{selection}decide = "allow"\nwhy = "approved by hand"\nuses = {count}\n'


def _selection(each: Pending) -> str:
    """The line that selects the call: its one resource where that can be written, else its arguments."""
    # What is read and written is one thing to approve.
    resources = list({(resource.kind, resource.name, resource.real): resource for resource in each.resources}.values())
    if len(resources) == 1:
        resource = resources[0]
        key = _APPROVABLE.get(resource.kind, "")
        value = (resource.real or resource.name) if key == "path" else resource.name
        if key and not resource.cwd and _writable(key, value):
            return f"{key} = {toml_string(value)}\n"
    shown = "".join(f"# {_shown(resource)}\n" for resource in resources)
    return f"{shown}digest = {toml_string(arguments_digest(each.arguments))}\n"


def _shown(resource: Resource) -> str:
    where = f" in {_one_line(resource.cwd)}" if resource.cwd else ""
    return f"{resource.kind} {_one_line(resource.name)}{where}"


def _writable(key: str, value: str) -> bool:
    """Whether an entry with this value loads and covers it."""
    if not value or "\0" in value or not _is_text(value):
        return False
    try:
        checked = _CHECKS[key](value)
    except ValueError:
        return False
    return key == "url" or checked == value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _one_line(text: str) -> str:
    """A text for a comment: no control characters, no lone surrogates, at most 200 characters."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:200])
    return shown + ("..." if len(text) > 200 else "")


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def toml_string(text: str) -> str:
    """Any text without lone surrogates as a TOML string on one line."""
    shown = (_ESCAPES.get(char) or (char if char.isprintable() else f"\\U{ord(char):08X}") for char in text)
    return f'"{"".join(shown)}"'
