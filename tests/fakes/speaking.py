"""One voice for the four wires: the same answer in the words of each API.

speaker = speaking("anthropic")
with ModelServer([speaker.say("Hello"), speaker.refusal(429)]) as server:
    speaker.opened(server)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, ClassVar, Literal

from fakes import speak_anthropic, speak_chat, speak_gemini, speak_responses
from fakes.model_server import DONE, ModelServer, Received, Reply, delta, event
from fakes.opened import NAMES, opened
from remit.base.messages import Usage
from remit.base.spec import Protocol

JSON = {"content-type": "application/json"}
KEY = "sk-test-0123456789abcdef"

Stop = Literal["", "max_tokens", "refusal"]
Wanted = tuple[str, str, str]
"""A call: id, tool, arguments."""


@dataclass(frozen=True)
class Said:
    """An answer in the order in which it is told. stop "": as the calls have it."""

    texts: Sequence[str] = ()
    thought: str = ""
    calls: Sequence[Wanted] = ()
    usage: Usage = field(default_factory=lambda: Usage(10, 5))
    stop: Stop = ""


class Speaker:
    """An API as its server speaks it. transcript: the name of the messages in a request's body. thinks:
    facts of a model whose thoughts go back."""

    protocol: ClassVar[Protocol]
    speak: ClassVar[ModuleType]
    transcript: ClassVar[str]
    thinks: ClassVar[dict[str, Any]]

    @property
    def provider(self) -> str:
        return NAMES[self.protocol]

    @property
    def origin(self) -> str:
        """Of answers that this wire's model `m` gave."""
        return f"{self.provider}/m"

    def base_url(self, server: ModelServer) -> str:
        url: str = self.speak.base_url(server)
        return url

    def opened(self, server: ModelServer, **keys: Any) -> Any:
        """A provider that asks this server; keys as those of `opened`."""
        return opened("m", **{"protocol": self.protocol, "base_url": self.base_url(server), **keys})

    def say(self, *texts: str, **more: Any) -> Reply:
        """An answer; more: fields of `Said`. Each text is a block of its own where the API has blocks."""
        return Reply(self.events(Said(texts, **more)))

    def whole(self, *texts: str, **more: Any) -> Reply:
        """The same without streaming."""
        return Reply([json.dumps(self.message(Said(texts, **more))).encode()], 200, JSON)

    def refusal(self, status: int, headers: dict[str, str] | None = None, message: str = "no", **error: Any) -> Reply:
        reply: Reply = self.speak.refusal(status, headers, message, **error)
        return reply

    def overloaded(self, *pieces: str) -> Reply:
        """An answer that fails after these pieces of text, or before its first."""
        reply: Reply = self.speak.overloaded_midstream(*pieces)
        return reply

    def framed(self, pieces: Sequence[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """A text in events: those before its pieces, one a piece, those after them."""
        raise NotImplementedError

    def stream(self, *pieces: str) -> list[bytes]:
        """All events of a text that comes in these pieces."""
        return [event for part in self.framed(pieces) for event in part]

    def events(self, said: Said) -> list[bytes]:
        raise NotImplementedError

    def message(self, said: Said) -> Any:
        raise NotImplementedError


class Anthropic(Speaker):
    protocol = "anthropic"
    speak = speak_anthropic
    transcript = "messages"
    thinks: ClassVar[dict[str, Any]] = {"thinking": "adaptive", "cache_breakpoints": True}

    def framed(self, pieces: Sequence[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
        begin, *grow, stop = map(speak_anthropic.event, speak_anthropic.text_block(0, *pieces))
        start = speak_anthropic.event(speak_anthropic.start())
        return [start, begin], grow, [stop, *map(speak_anthropic.event, speak_anthropic.end())]

    def events(self, said: Said) -> list[bytes]:
        blocks = [speak_anthropic.thinking_block(0, sealed(said.thought), said.thought)] if said.thought else []
        blocks += [speak_anthropic.text_block(len(blocks) + at, *_halves(text)) for at, text in enumerate(said.texts)]
        blocks += [
            speak_anthropic.call_block(len(blocks) + at, call_id, tool, *_halves(arguments))
            for at, (call_id, tool, arguments) in enumerate(said.calls)
        ]
        asked = {key: count for key, count in self._tokens(said.usage).items() if key != "output_tokens"}
        told = [speak_anthropic.start(**asked), *(each for block in blocks for each in block)]
        told += speak_anthropic.end(self._reason(said), output_tokens=said.usage.output)
        return list(map(speak_anthropic.event, told))

    def message(self, said: Said) -> Any:
        content: list[dict[str, Any]] = []
        if said.thought:
            content.append({"type": "thinking", "thinking": said.thought, "signature": sealed(said.thought)})
        content += [{"type": "text", "text": text} for text in said.texts]
        content += [
            {"type": "tool_use", "id": call_id, "name": tool, "input": json.loads(arguments)}
            for call_id, tool, arguments in said.calls
        ]
        return speak_anthropic.message(content, self._reason(said), usage=self._tokens(said.usage))

    def _reason(self, said: Said) -> str:
        return said.stop or ("tool_use" if said.calls else "end_turn")

    def _tokens(self, usage: Usage) -> dict[str, int]:
        return {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
        }


class Chat(Speaker):
    protocol = "openai"
    speak = speak_chat
    transcript = "messages"
    thinks: ClassVar[dict[str, Any]] = {"thinking": "effort"}

    def framed(self, pieces: Sequence[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
        begin = event(delta({"role": "assistant", "content": ""}))
        tokens = event(self._tokens(Usage(10, 5)))
        grow = [event(delta({"content": piece})) for piece in pieces]
        return [begin], grow, [event(delta(finish_reason="stop")), tokens, DONE]

    def events(self, said: Said) -> list[bytes]:
        told = [delta({"reasoning_content": piece}) for piece in _halves(said.thought)]
        told += [delta({self._field(said): piece}) for text in said.texts for piece in _halves(text)]
        for index, (call_id, tool, arguments) in enumerate(said.calls):
            function = {"name": tool, "arguments": ""}
            told.append(
                delta({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
            )
            for piece in _halves(arguments):
                told.append(delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        told += [delta(finish_reason=self._reason(said)), self._tokens(said.usage)]
        return [*map(event, told), DONE]

    def message(self, said: Said) -> Any:
        [raw] = speak_chat.whole(None, *said.calls).steps
        assert isinstance(raw, bytes)
        body = json.loads(raw)
        choice = body["choices"][0]
        choice["finish_reason"] = self._reason(said)
        if said.stop == "refusal":
            choice["message"]["refusal"] = "".join(said.texts)
        elif said.texts:
            choice["message"]["content"] = [{"type": "text", "text": text} for text in said.texts]
        if said.thought:
            choice["message"]["reasoning_content"] = said.thought
        return body | {"usage": self._tokens(said.usage)["usage"]}

    def _field(self, said: Said) -> str:
        return "refusal" if said.stop == "refusal" else "content"

    def _reason(self, said: Said) -> str:
        return {"max_tokens": "length", "refusal": "stop"}.get(said.stop, "tool_calls" if said.calls else "stop")

    def _tokens(self, usage: Usage) -> dict[str, Any]:
        asked = usage.input + usage.cache_read + usage.cache_write
        details = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
        tokens = {"prompt_tokens": asked, "completion_tokens": usage.output, "prompt_tokens_details": details}
        return {**delta(), "choices": [], "usage": {**tokens, "total_tokens": asked + usage.output}}


class Responses(Speaker):
    protocol = "openai-responses"
    speak = speak_responses
    transcript = "input"
    thinks: ClassVar[dict[str, Any]] = {"thinking": "effort"}

    def framed(self, pieces: Sequence[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
        item = speak_responses.message_item("".join(pieces))
        told = list(map(speak_responses.event, speak_responses.events(item, pieces=pieces)))
        return told[:4], told[4 : 4 + len(pieces)], told[4 + len(pieces) :]

    def events(self, said: Said) -> list[bytes]:
        return list(map(speak_responses.event, speak_responses.events(*self._items(said), **self._fields(said))))

    def message(self, said: Said) -> Any:
        return speak_responses.response(*self._items(said), **self._fields(said))

    def _items(self, said: Said) -> list[dict[str, Any]]:
        items = []
        if said.thought:
            items.append(speak_responses.reasoning_item(said.thought, encrypted=sealed(said.thought)))
        if said.texts and said.stop == "refusal":
            items.append(speak_responses.refusal_item("".join(said.texts)))
        elif said.texts:
            items.append(speak_responses.message_item(*said.texts))
        return items + [speak_responses.call_item(*call, number=number) for number, call in enumerate(said.calls, 1)]

    def _fields(self, said: Said) -> dict[str, Any]:
        usage = said.usage
        asked = usage.input + usage.cache_read + usage.cache_write
        tokens = speak_responses.usage(asked, usage.output, cached=usage.cache_read, written=usage.cache_write)
        if said.stop != "max_tokens":
            return {"usage": tokens}
        return {"usage": tokens, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


class Google(Speaker):
    protocol = "google"
    speak = speak_gemini
    transcript = "contents"
    thinks: ClassVar[dict[str, Any]] = {"thinking": "level"}

    def framed(self, pieces: Sequence[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
        end = speak_gemini.chunk({"text": ""}, finish="STOP", tokens=speak_gemini.usage())
        crlf = partial(event, end=b"\r\n\r\n")
        grow = [crlf(speak_gemini.chunk({"text": piece})) for piece in pieces]
        return [crlf(speak_gemini.chunk({"text": ""}))], grow, [crlf(end)]

    def events(self, said: Said) -> list[bytes]:
        chunks = [speak_gemini.chunk(part) for part in self._parts(said)]
        return [event(chunk, b"\r\n\r\n") for chunk in [*chunks, self._end(said)]]

    def message(self, said: Said) -> Any:
        end = self._end(said)
        end["candidates"][0]["content"]["parts"] = self._parts(said)
        return end

    def _parts(self, said: Said) -> list[dict[str, Any]]:
        parts = [speak_gemini.thought(said.thought, sealed(said.thought))] if said.thought else []
        parts += [{"text": text} for text in said.texts]
        return parts + [
            speak_gemini.call(tool, arguments, call_id, "" if number else sealed(call_id))
            for number, (call_id, tool, arguments) in enumerate(said.calls)
        ]

    def _end(self, said: Said) -> dict[str, Any]:
        usage = said.usage
        tokens = speak_gemini.usage(usage.input + usage.cache_read, usage.output, cached=usage.cache_read)
        reason = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}.get(said.stop, "STOP")
        return speak_gemini.chunk({"text": ""}, finish=reason, tokens=tokens)


_SPEAKERS: dict[Protocol, type[Speaker]] = {each.protocol: each for each in (Anthropic, Chat, Responses, Google)}
WIRES: tuple[Protocol, ...] = tuple(_SPEAKERS)


def speaking(protocol: Protocol) -> Speaker:
    """The speaker of a wire."""
    return _SPEAKERS[protocol]()


def said_before(speaker: Speaker, received: Received) -> list[Any]:
    """The entries of the transcript that a request brought, the system prompt not among them."""
    entries: list[Any] = received.body[speaker.transcript]
    return [entry for entry in entries if entry.get("role") != "system"]


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def sealed(text: str) -> str:
    """What no other side can read: a signature of its own for every text."""
    import base64

    return base64.b64encode(f"sealed:{text}".encode("utf-8", "backslashreplace")).decode()
