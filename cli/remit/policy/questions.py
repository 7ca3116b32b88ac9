"""Prepared answers to questions of the model: the `[[answer]]` entries of an approvals file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Protocol

import msgspec

from remit.base.errors import Fault
from remit.base.ports import Question, Reply
from remit.config.load import Document, convert_fields, spell
from remit.policy.rule_files import Filled


class UseCounter(Protocol):
    """Uses of entries, counted durably and across processes."""

    def take(self, entry: str, limit: int) -> bool:
        """Count one use; False, and nothing counted, when `limit` uses were counted before."""
        ...


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    question: Filled
    choose: Annotated[list[Filled], msgspec.Meta(min_length=1)] | None = None
    text: Filled | None = None
    uses: Annotated[int, msgspec.Meta(ge=1)] | None = None
    expires: datetime | None = None


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A prepared answer. question: as it is asked, a `*` standing for any text. choose: options; else text, in
    words of one's own. where: `file:line`. entry: by which uses are counted."""

    question: str
    choose: tuple[str, ...] = ()
    text: str = ""
    uses: int | None = None
    expires: datetime | None = None
    where: str
    entry: str

    def is_for(self, question: str) -> bool:
        first, *others = self.question.strip().split("*")
        text = question.strip()
        if not others:
            return text == first
        if not text.startswith(first):
            return False
        at = len(first)
        for piece in others[:-1]:
            at = text.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return len(text) - len(others[-1]) >= at and text.endswith(others[-1])

    def fits(self, question: Question) -> tuple[str, ...]:
        """The answer in the words of the question. Raises ValueError with what does not fit."""
        if self.text:
            return (self.text,)
        labels = {_plain(label): label for label in question.options}
        odd = next((each for each in self.choose if _plain(each) not in labels), None)
        if odd is not None:
            known = ", ".join(map(repr, question.options)) or "none; answer with `text`"
            raise ValueError(f"chooses {odd!r}, and the options are {known}")
        if len(self.choose) > 1 and not question.multiple:
            raise ValueError(f"chooses {len(self.choose)} options, and the question takes one")
        return tuple(labels[_plain(each)] for each in self.choose)


def _plain(label: str) -> str:
    return label.strip().casefold()


def load_choices(document: Document, file_digest: str) -> tuple[tuple[Choice, ...], list[Fault]]:
    """The `[[answer]]` entries of an approvals file, and every fault of them."""
    entries = document.data.get("answer") if isinstance(document.data, dict) else None
    choices: list[Choice] = []
    faults: list[Fault] = []
    for index in range(len(entries) if isinstance(entries, list) else 0):
        at = ("answer", index)
        given, found = convert_fields(document, _Answer, at)
        found += _odd(document, index)
        faults += found
        if not found:
            given["choose"] = tuple(given.get("choose") or ())
            choices.append(Choice(**given, where=document.where(*at), entry=f"{file_digest}:answer:{index}"))
    return tuple(choices), faults


def _odd(document: Document, index: int) -> Iterator[Fault]:
    """What the types do not say."""
    written, at = document.data["answer"][index], ("answer", index)
    if not isinstance(written, dict):
        return
    if ("choose" in written) == ("text" in written):
        seen = "`choose` and `text`" if "text" in written else "neither `choose` nor `text`"
        hint = "name the options to choose, or the text to answer"
        yield Fault(f"`{spell(at)}` has {seen}", document.where(*at), hint)
    expires = written.get("expires")
    if isinstance(expires, datetime) and expires.tzinfo is None:
        hint = "write it as 2026-12-31T00:00:00Z"
        yield Fault(f"`{spell((*at, 'expires'))}` has no time zone", document.where(*at, "expires"), hint)


def utc_text(moment: datetime) -> str:
    """An aware time in UTC; as it was written where that lies beyond the years 1 to 9999."""
    try:
        return moment.astimezone(UTC).isoformat()
    except OverflowError:
        return moment.isoformat()


class PreparedAnswers:
    """base.ports.Questions over one file. `now`: the aware current time."""

    def __init__(self, path: str, choices: Sequence[Choice], *, now: Callable[[], datetime], uses: UseCounter) -> None:
        self.choices = tuple(choices)
        self._path = path
        self._now = now
        self._uses = uses

    async def ask(self, question: Question) -> Reply:
        """The first entry for this question that fits, lives and has a use left answers, which counts as one."""
        why_not: list[str] = []
        for choice in self.choices:
            if not choice.is_for(question.text):
                continue
            try:
                return Reply(self._answer(choice, question), choice.where)
            except ValueError as problem:
                why_not.append(f"{choice.where} {problem}")
        return Reply(why_not="; ".join(why_not) or f"{self._path} has no `[[answer]]` for it")

    def _answer(self, choice: Choice, question: Question) -> tuple[str, ...]:
        """Raises ValueError with why it does not answer."""
        if choice.expires is not None and self._now() >= choice.expires:
            raise ValueError(f"expired at {utc_text(choice.expires)}")
        answer = choice.fits(question)
        if choice.uses is not None and not self._uses.take(choice.entry, choice.uses):
            raise ValueError(f"was for {choice.uses} use(s), which are spent")
        return answer
