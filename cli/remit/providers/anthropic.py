"""The Messages API of Anthropic, and of every server that speaks it."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from remit.base.messages import (
    CallBlock,
    Effort,
    ImageBlock,
    Message,
    Part,
    Request,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
)
from remit.base.text import scrub, scrub_tree
from remit.providers.opening import Opening
from remit.providers.transcript import Transcript, results_of, sound_arguments, to_json
from remit.providers.wire import Wire, open_wire

if TYPE_CHECKING:
    from remit.providers.decoding import Decoder

PATH = "/v1/messages"
VERSION = "2023-06-01"

DEFAULT_MAX_TOKENS = 8192
"""The API wants a limit. This one serves models whose own is not known: every server takes it."""

MIN_BUDGET = 1024
"""The API takes no smaller `budget_tokens`."""

BUDGETS: dict[Effort, float] = {"low": 1 / 8, "medium": 1 / 4, "high": 1 / 2, "max": 3 / 4}
"""How much of `max_tokens` may be thought: what is left over is the answer's."""

_TOKEN_SOURCE = "ANTHROPIC_AUTH_TOKEN"
_BREAKPOINT = {"type": "ephemeral"}
_BREAKPOINT_FIELD = b'"cache_control":' + to_json(_BREAKPOINT)


def open_provider(opening: Opening) -> AnthropicMessages:
    """Raises PreflightFault."""
    return AnthropicMessages(opening)


def new_decoder(turn: int, taken: Iterable[str]) -> Decoder:
    from remit.providers.anthropic_answers import MessagesDecoder  # while the server thinks

    return MessagesDecoder(turn, taken)


class AnthropicMessages:
    """A model behind the Messages API; its base URL ends before the version. A request's cache_key stays
    here: the API finds a cached prefix by itself."""

    def __init__(self, opening: Opening) -> None:
        self.name = opening.model.provider
        self.model = opening.model.name
        self.key_source = opening.credential.source
        self._wire = _open(opening)
        self._spec = opening.model
        self._with_thinking = Transcript(partial(_encode, origin=f"{self.name}/{self.model}"))
        self._without_thinking = Transcript(partial(_encode, origin=""))

    def stream(self, request: Request) -> AsyncIterator[Part]:
        options = self._options(request)
        # Where thinking is off unless a budget turns it on, the API refuses the turn that holds any.
        off = self._spec.thinking == "budget" and "budget_tokens" not in options.get("thinking", {})
        transcript = self._without_thinking if off else self._with_thinking
        body = self._body(request, transcript, options)
        return self._wire.ask(PATH, body, lambda: new_decoder(1 + transcript.answers, transcript.tools_by_call))

    async def close(self) -> None:
        await self._wire.close()

    def _body(self, request: Request, transcript: Transcript, options: Mapping[str, Any]) -> bytes:
        """The JSON body, streaming asked for. What may change from turn to turn stands behind the messages.

        A breakpoint behind the system prompt caches the tools too, which the API puts in front of it; the
        one of the whole request moves along with the end of the transcript."""
        marked = self._spec.cache_breakpoints
        fields = [b'"model":' + to_json(request.model)]
        if request.tools:
            tools = self._with_thinking.tools_json(request.tools, _tool)
            fields.append(b'"tools":' + (_with_breakpoint(tools) if marked and not request.system else tools))
        if system := scrub(request.system):
            block = {"type": "text", "text": system, "cache_control": _BREAKPOINT}
            fields.append(b'"system":' + to_json([block] if marked else system))
        fields.append(b'"messages":' + transcript.json(request.messages))
        fields += [to_json(name) + b":" + to_json(value) for name, value in options.items()]
        if marked:
            fields.append(_BREAKPOINT_FIELD)
        return b"{" + b",".join([*fields, b'"stream":true']) + b"}"

    def _options(self, request: Request) -> dict[str, Any]:
        """Limit and thinking of this request."""
        limit = self._spec.max_output_tokens
        max_tokens = request.max_tokens or limit or DEFAULT_MAX_TOKENS
        options: dict[str, Any] = {"max_tokens": min(max_tokens, limit) if limit else max_tokens}
        if request.effort is None:
            return options
        if self._spec.thinking == "adaptive":
            return options | _adaptive(request.effort)
        if self._spec.thinking == "budget":
            return options | self._budgeted(request, request.effort, options["max_tokens"])
        return options

    def _budgeted(self, request: Request, effort: Effort, max_tokens: int) -> dict[str, Any]:
        """Thinking by a budget, which is part of `max_tokens`. A limit with no room for the smallest budget
        and as much again is raised to just that; a model that cannot give as much does not think."""
        if effort == "off":
            return {"thinking": {"type": "disabled"}}
        room = max(max_tokens, 2 * MIN_BUDGET)
        if room > (self._spec.max_output_tokens or room) or not self._may_think(request.messages):
            return {}
        budget = max(MIN_BUDGET, int(room * BUDGETS[effort]))
        return {"max_tokens": room, "thinking": {"type": "enabled", "budget_tokens": budget}}

    def _may_think(self, messages: Sequence[Message]) -> bool:
        """Whether a budget can be given: a turn that results go on with has to begin with thinking of this
        model. One that another model began, or this one without thinking, ends without."""
        answer = _open_turn(messages)
        if answer is None:
            return True
        first = next(_said(answer, f"{self.name}/{self.model}"), None)
        return first is not None and first["type"] in _THOUGHTS


def _open(opening: Opening) -> Wire:
    headers = {"anthropic-version": VERSION}
    own = opening.model.auth_header
    if opening.credential.source == _TOKEN_SOURCE or own.lower() == "authorization":
        return open_wire(opening, auth_header=own or "authorization", scheme="Bearer ", headers=headers)
    return open_wire(opening, auth_header="x-api-key", headers=headers)


def _adaptive(effort: Effort) -> dict[str, Any]:
    """Newer models refuse to have their thinking disabled, and older ones think only when told to: not to
    ask, with the lowest effort, is as near to `off` as all of them come."""
    if effort == "off":
        return {"output_config": {"effort": "low"}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def _open_turn(messages: Sequence[Message]) -> Message | None:
    """The first answer of the turn that the results at the end go on with; None where a new turn begins."""
    first, answered = None, False
    for message in reversed(messages):
        if message.role == "user":
            answered = any(isinstance(block, ResultBlock) for block in message.content)
            continue
        if not answered:
            break
        first, answered = message, False
    return first


# -- requests ----------------------------------------------------------------------------------------

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})

# Empty messages and texts of nothing but blanks are refused, and so is an answer that ends in a thought.
_FILLER = {"type": "text", "text": "(nothing)"}


def _tool(spec: ToolSpec) -> Any:
    schema = {"type": "object", **spec.schema}
    return scrub_tree({"name": spec.name, "description": spec.description, "input_schema": schema})


def _with_breakpoint(tools: bytes) -> bytes:
    """The array of tools with a cache breakpoint at the last."""
    return tools.removesuffix(b"}]") + b"," + _BREAKPOINT_FIELD + b"}]"


def _encode(message: Message, _: Transcript, *, origin: str) -> bytes:
    """origin: whose thinking is sent along, "" for nobody's."""
    blocks = list(_asked(message) if message.role == "user" else _said(message, origin))
    if not blocks or blocks[-1]["type"] in _THOUGHTS:
        blocks.append(_FILLER)
    return to_json({"role": message.role, "content": blocks})


def _said(message: Message, origin: str) -> Iterator[dict[str, Any]]:
    own = bool(origin) and message.origin == origin
    for block in message.content:
        if isinstance(block, ThinkingBlock):
            if own and block.opaque:
                yield {"type": "redacted_thinking", "data": scrub(block.opaque)}
            elif own and block.signature:
                yield {"type": "thinking", "thinking": scrub(block.text), "signature": scrub(block.signature)}
        elif isinstance(block, TextBlock):
            yield from _text(block)
        elif isinstance(block, CallBlock):
            arguments = msgspec.Raw(sound_arguments(block).encode())
            yield {"type": "tool_use", "id": _call_id(block.id), "name": _call_name(block.tool), "input": arguments}


def _asked(message: Message) -> Iterator[dict[str, Any]]:
    """Results come first: the API wants them right behind their calls."""
    results = results_of(message)
    yield from map(_result, results)
    # A result that is an error holds text alone.
    yield from (_image(image) for block in results if block.is_error for image in block.images)
    for block in message.content:
        if isinstance(block, TextBlock):
            yield from _text(block)
        elif isinstance(block, ImageBlock):
            yield _image(block)


def _result(block: ResultBlock) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": _call_id(block.call_id)}
    text = list(_text(TextBlock(block.content)))
    if block.is_error:
        return result | {"content": text or [_FILLER], "is_error": True}
    content = [*text, *map(_image, block.images)]
    return result | {"content": content} if content else result


def _text(block: TextBlock) -> Iterator[dict[str, Any]]:
    if block.text.strip():
        yield {"type": "text", "text": scrub(block.text)}


def _image(block: ImageBlock) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data}}


_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 128


def _call_id(call_id: str) -> str:
    """The API refuses ids that other servers give, such as `functions.read:0`. Two of them stay two."""
    plain = _FOREIGN.sub("_", call_id)
    return plain if plain == call_id and plain else f"{plain}_{zlib.crc32(scrub(call_id).encode()):08x}"


def _call_name(tool: str) -> str:
    """Models make up names of tools too; a call of one that cannot exist goes back under one that could."""
    return _FOREIGN.sub("_", tool)[:_MAX_NAME] or "_"
