"""The forms in which servers of Chat Completions tell what a model thought, and take it back.

A thought goes back in the form it came in, to the model that had it. Servers that demand it demand it
of every answer of the conversation, and the others ignore what they do not need, so that nothing is
ever taken out again and requests keep sharing their prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from remit.base.messages import Message, ThinkingBlock
from remit.base.text import scrub, scrub_tree
from remit.providers.transcript import to_json


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """`ThinkingBlock.opaque`. form: a name in FORMS. details: entries of `reasoning_details`, whole."""

    form: str
    details: list[dict[str, Any]] = []

    def json(self) -> str:
        return to_json(Kept(self.form, scrub_tree(self.details))).decode()


def _parts(thought: str, _: list[dict[str, Any]], said: str) -> dict[str, Any]:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
    return {"content": [thinking, *([{"type": "text", "text": said}] if said else [])]}


Form = Callable[[str, list[dict[str, Any]], str], dict[str, Any]]
"""What was thought, its details, and what was said, as fields of the message."""

FORMS: dict[str, Form] = {
    "reasoning_details": lambda _thought, details, _said: {"reasoning_details": details},
    "reasoning_content": lambda thought, _details, _said: {"reasoning_content": thought},
    "reasoning": lambda thought, _details, _said: {"reasoning": thought},
    "content": _parts,
}
"""By the name that it came under. Of several in one answer the first here counts: details hold all of it."""


def reasoning_fields(message: Message, said: str) -> dict[str, Any]:
    """The fields of an answer that take back what was thought. said: its text."""
    blocks = [block for block in message.content if isinstance(block, ThinkingBlock)]
    thoughts = [(block.text, kept) for block in blocks if (kept := _kept(block.opaque)) is not None]
    form = next((name for name in FORMS if any(kept.form == name for _, kept in thoughts)), None)
    if form is None:
        return {}
    thought = "\n".join(scrub(text) for text, _ in thoughts if text)
    details = [detail for _, kept in thoughts for detail in kept.details]
    return FORMS[form](thought, details, said)


def _kept(opaque: str) -> Kept | None:
    """What a thought carries for this API. The same model may have answered through another one before."""
    try:
        return msgspec.json.decode(opaque, type=Kept) if opaque else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


_GROWING = {"reasoning.text": "text", "reasoning.summary": "summary"}


def merge_details(known: list[dict[str, Any]], pieces: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries as a server gives them whole, from the pieces that it streams: a signature is one of all the
    text before it, and does not fit a piece."""
    merged = list(known)
    for piece in pieces:
        grown = _joined(merged[-1], piece) if merged else None
        if grown is None:
            merged.append(piece)
        else:
            merged[-1] = grown
    return merged


def _joined(last: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any] | None:
    """Both as one entry, or None where the piece begins another."""
    field = _GROWING.get(str(piece.get("type")))
    if field is None or any(last.get(name) != piece.get(name) for name in ("type", "index")):
        return None
    text, more = last.get(field) or "", piece.get(field) or ""
    if more and last.get("signature"):
        return None
    told = {name: value for name, value in piece.items() if value is not None}
    return {**last, **told, field: text + more}
