"""Responses of OpenAI: the conversation is sent whole each time, nothing is kept on the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from remit.base.messages import (
    CallBlock,
    ImageBlock,
    Message,
    Part,
    Request,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
)
from remit.base.text import scrub
from remit.providers.openai_account import EFFORTS, IdShape, openai_headers, sound_name
from remit.providers.opening import Opening
from remit.providers.transcript import Transcript, results_of, sound_arguments, to_json
from remit.providers.wire import open_wire

if TYPE_CHECKING:
    from remit.providers.decoding import Decoder

LEAST_OUTPUT_TOKENS = 16
"""The API refuses a smaller limit, which a nearly spent budget would ask for."""

_CALL_IDS = IdShape(r"[a-zA-Z0-9_-]{1,64}", 64)


def open_provider(opening: Opening) -> OpenAIResponses:
    """Raises PreflightFault."""
    return OpenAIResponses(opening)


def new_decoder(turn: int, taken: Iterable[str]) -> Decoder:
    from remit.providers.openai_responses_decoder import ResponsesDecoder  # while the server thinks

    return ResponsesDecoder(turn, taken)


class OpenAIResponses:
    """A model behind a Responses endpoint; its base URL goes up to and with the version."""

    def __init__(self, opening: Opening) -> None:
        self.name = opening.model.provider
        self.model = opening.model.name
        self.key_source = opening.credential.source
        self._wire = open_wire(opening, auth_header="authorization", scheme="Bearer ", headers=openai_headers(opening))
        self._spec = opening.model
        self._transcript = Transcript(self._encode)

    def stream(self, request: Request) -> AsyncIterator[Part]:
        body = self._body(request)
        transcript = self._transcript
        return self._wire.ask("/responses", body, lambda: new_decoder(1 + transcript.answers, transcript.tools_by_call))

    async def close(self) -> None:
        await self._wire.close()

    def _body(self, request: Request) -> bytes:
        """The JSON body, streaming asked for. What changes from turn to turn stands at its end."""
        fields = [b'"model":' + to_json(request.model), b'"store":false', *self._thinking(request)]
        if request.tools:
            fields.append(b'"tools":' + self._transcript.tools_json(request.tools, _tool))
        if request.system:
            fields.append(b'"instructions":' + to_json(scrub(request.system)))
        fields += [b'"input":' + self._transcript.json(request.messages), b'"stream":true']
        if request.max_tokens:
            fields.append(b'"max_output_tokens":%d' % max(LEAST_OUTPUT_TOKENS, request.max_tokens))
        if request.cache_key:
            fields.append(b'"prompt_cache_key":' + to_json(request.cache_key))
        return b"{" + b",".join(fields) + b"}"

    def _thinking(self, request: Request) -> Iterator[bytes]:
        if self._spec.thinking != "effort":
            return
        yield b'"include":["reasoning.encrypted_content"]'
        if request.effort:
            summary = {} if request.effort == "off" else {"summary": "auto"}
            yield b'"reasoning":' + to_json({"effort": EFFORTS[request.effort], **summary})

    def _encode(self, message: Message, _: Transcript) -> bytes:
        items = _answer(message, message.origin == self._spec.id) if message.role == "assistant" else _turn(message)
        return b",".join(map(to_json, items))


# -- requests ----------------------------------------------------------------------------------------


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.schema}
    return {"type": "function", **function, "strict": False}


def _turn(message: Message) -> Iterator[dict[str, Any]]:
    """Results are items of their own, before what the user says."""
    for result in results_of(message):
        yield {"type": "function_call_output", "call_id": _CALL_IDS.fit(result.call_id), "output": _output(result)}
    text = scrub(message.text())
    images = [_image(block) for block in message.content if isinstance(block, ImageBlock)]
    if images:
        content = [*images, *([_text(text)] if text else [])]
        yield {"type": "message", "role": "user", "content": content}
    elif text:
        yield {"type": "message", "role": "user", "content": text}


def _output(result: ResultBlock) -> str | list[dict[str, Any]]:
    text = scrub(result.content)
    if not result.images:
        return text
    return [*([_text(text)] if text else []), *map(_image, result.images)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _image(image: ImageBlock) -> dict[str, Any]:
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _answer(message: Message, own: bool) -> list[dict[str, Any]]:
    """The items of an answer. own: this model gave it, so that its reasoning goes back. An answer of
    nothing is no item: nothing demands that user and assistant take turns.

    Items go back without ids, except for reasoning: an id ties an item to those around it, and a
    request that has lost one of them would be refused."""
    items = [item for block in message.content if (item := _item(block, own)) is not None]
    # Reasoning that nothing followed, as in an answer cut short, is refused.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _item(block: Any, own: bool) -> dict[str, Any] | None:
    if isinstance(block, CallBlock):
        fields = {"call_id": _CALL_IDS.fit(block.id), "name": sound_name(block.tool)}
        return {"type": "function_call", **fields, "arguments": sound_arguments(block)}
    kept = _kept(block.opaque) if own and isinstance(block, (TextBlock, ThinkingBlock)) else {}
    if isinstance(block, TextBlock) and block.text:
        phase = {"phase": kept["phase"]} if "phase" in kept else {}
        return {"type": "message", "role": "assistant", "content": scrub(block.text), **phase}
    if isinstance(block, ThinkingBlock) and kept.get("type") == "reasoning":
        return kept
    return None


def _kept(opaque: str) -> dict[str, Any]:
    """What a block carries for this API. The same model may have answered through another one before."""
    try:
        return msgspec.json.decode(opaque, type=dict[str, Any]) if opaque else {}
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}
