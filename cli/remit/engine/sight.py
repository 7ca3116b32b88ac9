"""Pictures for models that see, and notes in their place for those that do not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from remit.base.messages import Block, ImageBlock, Message, ResultBlock, TextBlock
from remit.base.spec import ModelSpec

NOTE = "[a picture stood here, and this model cannot see pictures]"


class Sight:
    """Remembers what it changed: a message that goes out again has to be the very same object."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[Message, Message]] = {}

    def seen_by(self, model: ModelSpec, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages as this model can take them."""
        if model.vision is not False:
            return tuple(messages)
        return tuple(map(self._without_pictures, messages))

    def _without_pictures(self, message: Message) -> Message:
        if not any(_has_picture(block) for block in message.content):
            return message
        kept = self._noted.get(id(message))
        if kept is None or kept[0] is not message:
            blocks = tuple(map(_noted, message.content))
            kept = self._noted[id(message)] = (message, msgspec.structs.replace(message, content=blocks))
        return kept[1]


def _has_picture(block: Block) -> bool:
    return isinstance(block, ImageBlock) or (isinstance(block, ResultBlock) and bool(block.images))


def _noted(block: Block) -> Block:
    if isinstance(block, ImageBlock):
        return TextBlock(NOTE)
    if isinstance(block, ResultBlock) and block.images:
        return msgspec.structs.replace(block, content=f"{block.content}\n{NOTE}".strip(), images=())
    return block
