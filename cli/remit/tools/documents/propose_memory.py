"""propose_memory: suggest something worth remembering; a person decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

MAX_TEXT_BYTES = 4 * KIB
MAX_REASON_BYTES = 1 * KIB
MAX_TAGS = 8

Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]


class ProposeMemoryParams(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[str, msgspec.Meta(min_length=1, description="The fact or preference, understandable by itself.")]
    tags: Annotated[list[Tag], msgspec.Meta(max_length=MAX_TAGS, description="Words to find it by.")] = []
    reason: Annotated[str, msgspec.Meta(description="Why it is worth keeping.")] = ""


class ProposeMemory(Tool):
    """Suggest something to remember for later tasks.

    It is stored as an inactive proposal: nothing is remembered until a person accepts it. At most
    three proposals per task are accepted. The text is at most 4 KiB, the reason at most 1 KiB, and
    there are at most 8 tags of at most 40 characters. This touches no files and no network.
    """

    name = "propose_memory"
    toolset = "documents"
    effects = frozenset({Effect.STATE})
    bounds = Bounds(seconds=30.0)
    repeatable = True
    harness = True
    Params = ProposeMemoryParams

    def resources(self, params: ProposeMemoryParams, world: World) -> Sequence[Resource]:
        return [Resource("state", "memory_proposals", Effect.STATE)]

    async def run(self, params: ProposeMemoryParams, ctx: ToolContext) -> Outcome:
        _check("text", params.text, MAX_TEXT_BYTES)
        _check("reason", params.reason, MAX_REASON_BYTES)
        for what, value in [("text", params.text), *(("tag", tag) for tag in params.tags)]:
            if not value.strip():
                raise Failure(ErrorCode.INVALID_ARGUMENTS, f"propose_memory: the {what} is blank; say what to remember")
        proposal = ctx.state.propose_memory(params.text, params.tags, params.reason)
        return done({"id": proposal, "status": "proposed", "active": False})


def _check(what: str, value: str, limit: int) -> None:
    size = len(value.encode())
    if size > limit:
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS,
            f"propose_memory: the {what} has {size} bytes, {limit} are allowed; say it shorter",
        )
