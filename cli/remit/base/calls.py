"""A tool call and what became of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from remit.base.errors import ErrorCode
from remit.base.messages import ImageBlock
from remit.base.resources import Resource


class Call(msgspec.Struct, frozen=True):
    """One tool call of the model.

    key: ours, unique in the run and stable across a resume: `t<turn>.c<index>`, both from 1.
    id: the provider's, unique in the transcript.
    arguments: the JSON text as the model wrote it; it may be malformed.
    parent: the id of the call that this one is a part of, whose key its own begins with: `t1.c1.b1`; "" for
    a call of the turn.
    """

    key: str
    id: str
    tool: str
    arguments: str
    parent: str = ""


class ErrorInfo(msgspec.Struct, frozen=True):
    code: ErrorCode
    message: str


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result envelope of every tool: `{"ok": true, "data"}` or `{"ok": false, "error"}`.

    text: what the model reads where that is not the envelope itself ("" = the envelope as JSON).
    images: what it sees after that.
    """

    ok: bool
    data: Any = None
    error: ErrorInfo | None = None
    text: str = ""
    images: tuple[ImageBlock, ...] = ()

    def envelope(self) -> dict[str, Any]:
        """The documented shape, without our own fields."""
        if self.error is None:
            return {"ok": True, "data": self.data}
        return {"ok": False, "error": {"code": self.error.code.value, "message": self.error.message}}

    def for_model(self) -> str:
        """The text the model reads."""
        if self.ok and self.text:
            return self.text
        return msgspec.json.encode(self.envelope()).decode()


def done(data: Any, text: str = "", images: tuple[ImageBlock, ...] = ()) -> Outcome:
    """A successful outcome. `data` must be JSON-encodable."""
    return Outcome(ok=True, data=data, text=text, images=images)


def err(code: ErrorCode, message: str) -> Outcome:
    """A failed outcome, told to the model."""
    return Outcome(ok=False, error=ErrorInfo(code, message))


class Retained(msgspec.Struct, frozen=True):
    """A result that the run keeps whole. handle: by which `tool_output` finds it. bytes: in UTF-8. sha256: hex."""

    handle: str
    bytes: int
    lines: int
    sha256: str


Decide = Literal["auto", "ask", "deny"]


class RuleRef(msgspec.Struct, frozen=True):
    """The rule that decided. source: floor, user, project, plan, flag, mode, policy, task,
    default, none.
    where: `file:line`, or the flag or task key as written."""

    source: str
    where: str
    why: str

    def told(self) -> str:
        """The reason, and where the rule stands if it stands anywhere."""
        return f"{self.why} [{self.source} {self.where}]" if self.where else self.why


class Decision(msgspec.Struct, frozen=True):
    """What policy says of a call: the strictest word over all its resources, and who said it."""

    decide: Decide
    rule: RuleRef
    resource: Resource | None = None
