"""The blocks of one answer as they arrive, for every decoder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from remit.base.messages import BlockPart, CallBlock, Delta, Part, TextBlock, ThinkingBlock
from remit.base.text import scrub

Kind = Literal["text", "thinking", "call"]


class OpenBlock:
    """A block as it grows. id, tool: of a call. wire_id: the call's id as the server gave it. signature,
    opaque: kept for the server as they came."""

    __slots__ = ("closed", "id", "index", "kind", "opaque", "pieces", "signature", "tool", "wire_id")

    def __init__(self, index: int, kind: Kind) -> None:
        self.index = index
        self.kind: Kind = kind
        self.pieces: list[str] = []
        self.closed = False
        self.id = self.wire_id = self.tool = self.signature = self.opaque = ""

    def text(self) -> str:
        """What has arrived. Two halves of a character that came apart meet here again."""
        return scrub("".join(self.pieces))

    def finished(self) -> TextBlock | ThinkingBlock | CallBlock:
        if self.kind == "call":
            return CallBlock(self.id, self.tool, self.text(), self.opaque)
        if self.kind == "text":
            return TextBlock(self.text(), self.opaque)
        return ThinkingBlock(self.text(), self.signature, self.opaque)


class Assembly:
    """Collects blocks and the parts to give out. turn: from 1, for the ids of calls that come without.
    taken: ids that calls of the transcript have already."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        self.blocks: list[OpenBlock] = []
        self._turn = turn
        self._taken = set(taken)
        self._given = 0
        self._parts: list[Part] = []

    def start(self, kind: Kind, *, tool: str = "", wire_id: str = "") -> OpenBlock:
        """A new block behind all others."""
        block = OpenBlock(len(self.blocks), kind)
        block.tool = scrub(tool)
        if wire_id:
            self.identify(block, wire_id)
        self.blocks.append(block)
        return block

    def identify(self, block: OpenBlock, wire_id: str) -> None:
        """Give a call its id: the server's, unless another call has it already."""
        block.wire_id, block.id = wire_id, self._unique(wire_id)

    def grow(self, block: OpenBlock, text: str) -> None:
        """Append to a block, and tell it as a delta."""
        block.pieces.append(text)
        if block.kind == "call":
            self._parts.append(Delta(block.index, "call", scrub(text), block.id, block.tool))
        else:
            self._parts.append(Delta(block.index, block.kind, scrub(text)))

    def close(self, block: OpenBlock) -> None:
        """The block is finished. It is given out as soon as all in front of it are."""
        block.closed = True
        while self._given < len(self.blocks) and self.blocks[self._given].closed:
            due = self.blocks[self._given]
            if due.kind == "call" and not due.id:
                due.id = self._unique(f"call_{self._turn}_{due.index + 1}")
            self._parts.append(BlockPart(due.index, due.finished()))
            self._given += 1

    def close_all(self) -> None:
        for block in self.blocks[self._given :]:
            self.close(block)

    def has_calls(self) -> bool:
        return any(block.kind == "call" for block in self.blocks)

    def take(self) -> list[Part]:
        """The parts since the last time."""
        parts, self._parts = self._parts, []
        return parts

    def _unique(self, wanted: str) -> str:
        name, count = scrub(wanted), 1
        while name in self._taken:
            count += 1
            name = f"{scrub(wanted)}_{count}"
        self._taken.add(name)
        return name
