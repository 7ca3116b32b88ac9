"""Calls of a model that knows our tools by the names of Claude Code, taken as calls of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from remit.base.claude_names import ours_for, taken_input
from remit.base.messages import CallBlock
from remit.base.model_json import decode_json
from remit.tools.contract import Tool

Taken = Callable[[CallBlock], CallBlock]
"""A call as it is kept."""


def as_made(block: CallBlock) -> CallBlock:
    return block


def taken_as_ours(tools: Mapping[str, Tool]) -> Taken:
    """tools: all that the model may call. A name that none of them bears is read as the first of those that do the
    same; its arguments are read as those of a client are."""

    def taken(block: CallBlock) -> CallBlock:
        ours = () if block.tool in tools else ours_for(block.tool, tools)
        if not ours:
            return block
        return msgspec.structs.replace(block, tool=ours[0], arguments=_arguments(ours[0], block.arguments))

    return taken


def _arguments(tool: str, arguments: str) -> str:
    try:
        given = decode_json(arguments or "{}", dict)
    except msgspec.DecodeError:
        # Told of when the call is checked.
        return arguments
    return msgspec.json.encode(taken_input(tool, given)).decode()
