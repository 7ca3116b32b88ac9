"""The conversation and the model port's requests and parts, in our own words."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class TextBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    """Text. `opaque` goes back to the provider as it came, as in every block."""

    text: str
    opaque: str = ""


class ThinkingBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="thinking"):
    """Reasoning of the model. `signature` and `opaque` go back to the model that wrote them, and to no other."""

    text: str
    signature: str = ""
    opaque: str = ""


class CallBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="call"):
    """A tool call. `arguments` is the JSON text as the model wrote it; it may be malformed."""

    id: str
    tool: str
    arguments: str
    opaque: str = ""


class ImageBlock(msgspec.Struct, frozen=True, tag="image"):
    """A picture. media_type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`. data: its bytes in base64."""

    media_type: str
    data: str


class ResultBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="result"):
    """The answer to the call with this id: a text, and pictures after it."""

    call_id: str
    content: str
    is_error: bool = False
    images: tuple[ImageBlock, ...] = ()


Block = TextBlock | ThinkingBlock | CallBlock | ImageBlock | ResultBlock


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the transcript. Results stand in a user message right after their calls.

    origin: `provider/model` of an answer. What is `opaque` or a signature in it goes back to that model only."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]
    origin: str = ""

    def text(self) -> str:
        """All text blocks joined by newlines: several blocks of one message are one answer."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    def calls(self) -> tuple[CallBlock, ...]:
        return tuple(block for block in self.content if isinstance(block, CallBlock))


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model is told of it. `schema` is JSON Schema 2020-12 of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


Effort = Literal["off", "low", "medium", "high", "max"]
"""How much a model should think before it answers."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to the model. `model` is the provider's own model name. effort None: as the model does
    by itself. cache_key: the same for all requests of a conversation, for servers that route by it."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    effort: Effort | None = None
    cache_key: str = ""


MAX_TOKENS = 1 << 40
"""Of one answer: more is no count of tokens."""


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one answer. `input` counts what was not read from a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.input - other.input,
            self.output - other.output,
            self.cache_read - other.cache_read,
            self.cache_write - other.cache_write,
        )

    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class Cost(msgspec.Struct, frozen=True, omit_defaults=True):
    """US dollars of one answer, by the kinds of its tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    def total(self) -> float:
        return self.input + self.output + self.cache_read + self.cache_write


StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal", "cut"]
"""Why an answer ended. `cut`: the connection broke after its first part; no provider says so itself."""


class Delta(msgspec.Struct, frozen=True, tag="delta"):
    """A piece of the block at `index`, as it arrives. Only for those who watch live."""

    index: int
    kind: Literal["text", "thinking", "call"]
    text: str
    call_id: str = ""
    tool: str = ""


class BlockPart(msgspec.Struct, frozen=True, tag="block"):
    """The finished block at `index`. The blocks, in order, are the answer."""

    index: int
    block: TextBlock | ThinkingBlock | CallBlock


class UsagePart(msgspec.Struct, frozen=True, tag="usage"):
    """Usage of this answer so far; the last one counts."""

    usage: Usage


class StopPart(msgspec.Struct, frozen=True, tag="stop"):
    """Why the model stopped: always the last part of a complete answer."""

    reason: StopReason


class RetryPart(msgspec.Struct, frozen=True, tag="retry"):
    """The request failed before its first part and is tried again after `delay` seconds."""

    attempt: int
    max_retries: int
    delay: float
    status: int | None
    error: str


Part = Delta | BlockPart | UsagePart | StopPart | RetryPart
