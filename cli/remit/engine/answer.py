"""An answer as its parts arrive: blocks as they are kept, and what is worth keeping when it breaks off."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from remit.base.json_repair import repaired_object
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    Message,
    StopReason,
    TextBlock,
    ThinkingBlock,
    Usage,
)
from remit.base.model_json import decode_json
from remit.base.text import scrub, shorten
from remit.engine.foreign_calls import Taken, as_made

AnswerBlock = TextBlock | ThinkingBlock | CallBlock


class Answer:
    """What has arrived of one answer. turn: for the ids of calls that have none, or one that is taken. ours: makes
    calls of ours of those under other names."""

    def __init__(self, turn: int, taken: Collection[str], ours: Taken = as_made) -> None:
        self.blocks: list[AnswerBlock] = []
        self.usage = Usage()
        self.stop: StopReason | None = None
        self.repairs: list[str] = []
        """What was mended of the last block, for those who have to be told."""
        self.renamed: list[str] = []
        """Which calls were made under another name than they are kept."""
        self._ours = ours
        self._turn = turn
        self._taken = taken
        self._call_ids: set[str] = set()
        self._growing: dict[int, list[str]] = {}
        self._heard = False

    def grow(self, delta: Delta) -> None:
        """A piece of a block that is not finished. Only text can be kept without its end."""
        self._heard = True
        if delta.kind == "text":
            self._growing.setdefault(delta.index, []).append(delta.text)

    def add(self, part: BlockPart) -> AnswerBlock:
        """A finished block; the block as it is kept."""
        self._growing.pop(part.index, None)
        block = self._whole(part.block)
        self.blocks.append(block)
        return block

    def cut(self) -> list[AnswerBlock]:
        """The answer broke off here: take in the text that has no end yet. What that adds."""
        texts = (scrub("".join(pieces)) for _, pieces in sorted(self._growing.items()))
        added: list[AnswerBlock] = [TextBlock(text) for text in texts if text.strip()]
        self._growing.clear()
        self.blocks += added
        self.stop = "cut"
        return added

    @property
    def began(self) -> bool:
        """Whether anything came of it."""
        return bool(self._heard or self.blocks or self.usage.total())

    def is_worth_keeping(self) -> bool:
        """Whether anything came that the model would not simply think again."""
        return any(isinstance(block, CallBlock) or block.text.strip() for block in self._said())

    def message(self, origin: str) -> Message:
        # An answer without a block is still an answer: every API wants one.
        return Message("assistant", tuple(self.blocks) or (TextBlock(""),), origin)

    def _said(self) -> list[TextBlock | CallBlock]:
        return [block for block in self.blocks if not isinstance(block, ThinkingBlock)]

    def _whole(self, block: AnswerBlock) -> AnswerBlock:
        """The block with text that every API takes back, and a call id like no other."""
        if isinstance(block, TextBlock):
            return TextBlock(scrub(block.text), block.opaque)
        if isinstance(block, ThinkingBlock):
            return block
        call_id = scrub(block.id)
        if not call_id or call_id in self._call_ids or call_id in self._taken:
            call_id = f"call_{self._turn}_{len(self.blocks) + 1}"
        self._call_ids.add(call_id)
        tool = scrub(block.tool)
        call = CallBlock(call_id, tool, self._sound(scrub(block.arguments), tool), block.opaque)
        kept = self._ours(call)
        if kept.tool != tool:
            self.renamed.append(f"{call_id}: {shorten(tool)} is taken as {kept.tool}")
        return kept

    def _sound(self, arguments: str, tool: str) -> str:
        """The arguments, mended where that changes no value; else they fail when the call is checked."""
        try:
            decode_json(arguments or "{}", dict)
        except msgspec.DecodeError as problem:
            mended = repaired_object(arguments)
            if mended is not None:
                self.repairs.append(f"the arguments of {tool} were mended: {problem}; seen {shorten(arguments, 200)}")
                return mended
        return arguments


def wire_block(block: AnswerBlock) -> dict[str, object]:
    """A block in the stream's shape. Arguments that are no JSON object are shown as they came."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ThinkingBlock):
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return {"type": "tool_use", "id": block.id, "name": block.tool, "input": wire_input(block.arguments)}


def wire_usage(usage: Usage) -> dict[str, int]:
    """Tokens in the stream's words."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def wire_input(arguments: str) -> dict[str, object]:
    """Arguments as an object; `__unparsedToolInput` holds what is none."""
    try:
        value = decode_json(arguments or "{}")
    except msgspec.DecodeError:
        value = None
    if isinstance(value, dict):
        return value
    return {"__unparsedToolInput": {"raw": arguments, "len": len(arguments)}}
