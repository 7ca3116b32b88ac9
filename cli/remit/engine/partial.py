"""An answer as it comes, told in the events of the Messages API, which clients put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remit.base.events import StreamEvent
from remit.base.messages import CallBlock, Delta, TextBlock, Usage
from remit.engine.answer import AnswerBlock, wire_usage

_DELTAS = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking"), "call": ("input_json_delta", "")}


class PartialAnswer:
    """Tells one answer. message_id: that of its blocks. Blocks are numbered as they begin."""

    def __init__(self, tell: Callable[[StreamEvent], None], message_id: str, model: str) -> None:
        self._tell = tell
        self._message_id = message_id
        self._model = model
        self._began = False
        self._ended = False
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()

    def grow(self, delta: Delta) -> None:
        """A piece of a block."""
        if delta.index not in self._numbers:
            self._start(delta.index, _empty(delta.kind, delta.call_id, delta.tool))
        if not delta.text:
            return
        kind, field = _DELTAS[delta.kind]
        told = {"type": kind, field or "partial_json": delta.text}
        self._event("content_block_delta", index=self._numbers[delta.index], delta=told)

    def end_block(self, index: int, block: AnswerBlock) -> None:
        """The block is whole; one that came at once has not begun yet."""
        if index not in self._numbers:
            self._whole(index, block)
        self._open.discard(index)
        self._event("content_block_stop", index=self._numbers[index])

    def end(self, stop: str, usage: Usage) -> None:
        """The answer is over, or broke off: what is open is closed."""
        if not self._began or self._ended:
            return
        self._ended = True
        for index in sorted(self._open):
            self._event("content_block_stop", index=self._numbers[index])
        self._event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=wire_usage(usage))
        self._event("message_stop")

    def again(self) -> None:
        """What came is void: the answer begins anew."""
        self.end("cut", Usage())
        self._began = self._ended = False
        self._numbers.clear()
        self._open.clear()

    def _whole(self, index: int, block: AnswerBlock) -> None:
        if isinstance(block, CallBlock):
            self._start(index, _empty("call", block.id, block.tool))
            self.grow(Delta(index, "call", block.arguments))
            return
        kind = "text" if isinstance(block, TextBlock) else "thinking"
        self._start(index, _empty(kind, "", ""))
        self.grow(Delta(index, "text" if kind == "text" else "thinking", block.text))

    def _start(self, index: int, block: dict[str, Any]) -> None:
        if not self._began:
            self._began = True
            message: dict[str, Any] = {
                "id": self._message_id,
                "type": "message",
                "role": "assistant",
                "model": self._model,
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
            self._event("message_start", message=message)
        self._numbers[index] = len(self._numbers)
        self._open.add(index)
        self._event("content_block_start", index=self._numbers[index], content_block=block)

    def _event(self, kind: str, **fields: Any) -> None:
        self._tell(StreamEvent(event={"type": kind, **fields}, api_message_id=self._message_id))


def _empty(kind: str, call_id: str, tool: str) -> dict[str, Any]:
    if kind == "text":
        return {"type": "text", "text": ""}
    if kind == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
