"""Chat Completions of OpenAI and of every server that speaks it: vLLM, Ollama, llama.cpp, gateways."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from remit.base.messages import CallBlock, Effort, ImageBlock, Message, Part, Request, ToolSpec
from remit.base.text import scrub
from remit.providers.openai_account import EFFORTS, IdShape, host_of, openai_headers, sound_name
from remit.providers.openai_chat_reasoning import reasoning_fields
from remit.providers.opening import Opening
from remit.providers.transcript import Transcript, results_of, sound_arguments, to_json
from remit.providers.wire import open_wire

if TYPE_CHECKING:
    from remit.providers.decoding import Decoder


def _efforts(**words: str) -> dict[Effort, dict[str, Any]]:
    """The usual fields; words: for efforts that have other ones."""
    return {effort: {"reasoning_effort": words.get(effort, word)} for effort, word in EFFORTS.items()}


class Dialect(msgspec.Struct, frozen=True):
    """What a service wants otherwise than most. max_tokens: the name of the limit. asks_usage: usage comes
    only when asked for. routes_by_key: takes the conversation's key. call_ids: which it takes. demanded:
    fields that no answer may lack. efforts: the fields that ask for each. bridge: what stands between
    results and the user's words where one may not follow the other. filler: what stands for an answer of
    nothing where it may not be empty."""

    max_tokens: str = "max_tokens"
    asks_usage: bool = True
    routes_by_key: bool = False
    call_ids: IdShape = IdShape(r"[!-~]{1,64}", 40)
    demanded: dict[str, Any] = {}
    efforts: dict[Effort, dict[str, Any]] = msgspec.field(default_factory=_efforts)
    bridge: str = ""
    filler: str = ""


# Reasoning models refuse the name of the limit that every other server knows.
_OPENAI = Dialect(max_tokens="max_completion_tokens", routes_by_key=True, call_ids=IdShape(r"[!-~]{1,40}", 40))

DIALECTS: dict[str, Dialect] = {
    "api.openai.com": _OPENAI,
    "openai.azure.com": _OPENAI,
    "cognitiveservices.azure.com": _OPENAI,
    "api.mistral.ai": Dialect(
        asks_usage=False,
        call_ids=IdShape(r"[a-zA-Z0-9]{9}", 9),
        bridge="I have read the results.",
        filler="(no answer)",
    ),
    "api.deepseek.com": Dialect(
        demanded={"reasoning_content": ""},
        efforts={**_efforts(max="max"), "off": {"thinking": {"type": "disabled"}}},
    ),
    # The models there cannot be kept from thinking.
    "api.groq.com": Dialect(efforts=_efforts(off="low", max="high")),
    "api.x.ai": Dialect(efforts=_efforts(max="high")),
}
"""By the host, or the end of it."""


def dialect_of(host: str) -> Dialect:
    found = (dialect for name, dialect in DIALECTS.items() if host == name or host.endswith(f".{name}"))
    return next(found, Dialect())


def open_provider(opening: Opening) -> OpenAIChat:
    """Raises PreflightFault."""
    return OpenAIChat(opening)


def new_decoder(turn: int, taken: Iterable[str]) -> Decoder:
    from remit.providers.openai_chat_decoder import ChatDecoder  # while the server thinks

    return ChatDecoder(turn, taken)


class OpenAIChat:
    """A model behind a Chat Completions endpoint; its base URL goes up to and with the version."""

    def __init__(self, opening: Opening) -> None:
        self.name = opening.model.provider
        self.model = opening.model.name
        self.key_source = opening.credential.source
        self._wire = open_wire(opening, auth_header="authorization", scheme="Bearer ", headers=openai_headers(opening))
        self._dialect = dialect_of(host_of(opening))
        self._spec = opening.model
        self._transcript = Transcript(self._encode)

    def stream(self, request: Request) -> AsyncIterator[Part]:
        body = self._body(request)
        transcript = self._transcript
        return self._wire.ask(
            "/chat/completions", body, lambda: new_decoder(1 + transcript.answers, transcript.tools_by_call)
        )

    async def close(self) -> None:
        await self._wire.close()

    def _body(self, request: Request) -> bytes:
        """The JSON body, streaming asked for. What changes from turn to turn stands at its end."""
        system = to_json({"role": "system", "content": scrub(request.system)}) if request.system else b""
        fields = [b'{"model":' + to_json(request.model)]
        if request.effort and self._spec.thinking == "effort":
            fields.append(to_json(self._dialect.efforts[request.effort])[1:-1])
        if request.tools:
            fields.append(b'"tools":' + self._transcript.tools_json(request.tools, _tool))
        head = b",".join([*fields, b'"messages":'])
        tail = b",".join([b"", b'"stream":true', *self._options(request)]) + b"}"
        return self._transcript.json(request.messages, head, system, tail)

    def _options(self, request: Request) -> Iterator[bytes]:
        if self._dialect.asks_usage:
            yield b'"stream_options":{"include_usage":true}'
        if request.max_tokens:
            yield b'"%s":%d' % (self._dialect.max_tokens.encode(), request.max_tokens)
        if request.cache_key and self._dialect.routes_by_key:
            yield b'"prompt_cache_key":' + to_json(request.cache_key)

    def _encode(self, message: Message, transcript: Transcript) -> bytes:
        if message.role == "assistant":
            return to_json(_answer(message, message.origin == self._spec.id, self._dialect))
        entries = list(_turn(message, self._dialect))
        if self._dialect.bridge and entries[0]["role"] == "user" and _ends_in_results(transcript.previous):
            entries.insert(0, {"role": "assistant", "content": self._dialect.bridge})
        return b",".join(map(to_json, entries))


# -- requests ----------------------------------------------------------------------------------------


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.schema}
    return {"type": "function", "function": function}


def _answer(message: Message, own: bool, dialect: Dialect) -> dict[str, Any]:
    """own: this model gave it, so that what it thought goes back."""
    text = scrub(message.text())
    calls = [_call(call, dialect) for call in message.calls()]
    entry: dict[str, Any] = {"role": "assistant", "content": (text or None) if calls else (text or dialect.filler)}
    thought = reasoning_fields(message, text) if own else {}
    return {**entry, **dialect.demanded, **thought, **({"tool_calls": calls} if calls else {})}


def _turn(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    """Results are messages of their own, before what the user says."""
    results = results_of(message)
    for block in results:
        call_id = dialect.call_ids.fit(block.call_id)
        yield {"role": "tool", "tool_call_id": call_id, "content": scrub(block.content)}
    said = _said(message)
    if results and said and dialect.bridge:
        yield {"role": "assistant", "content": dialect.bridge}
    if said or not results:
        yield {"role": "user", "content": said}


def _said(message: Message) -> str | list[dict[str, Any]]:
    """What the user says. A tool's message holds text alone, so the pictures of results are shown here."""
    text = scrub(message.text())
    images = [image for block in results_of(message) for image in block.images]
    images += [block for block in message.content if isinstance(block, ImageBlock)]
    if not images:
        return text
    shown = [{"type": "image_url", "image_url": {"url": f"data:{i.media_type};base64,{i.data}"}} for i in images]
    return [*shown, *([{"type": "text", "text": text}] if text else [])]


def _ends_in_results(message: Message | None) -> bool:
    return message is not None and bool(results_of(message)) and not _said(message)


def _call(call: CallBlock, dialect: Dialect) -> dict[str, Any]:
    function = {"name": sound_name(call.tool), "arguments": sound_arguments(call)}
    return {"id": dialect.call_ids.fit(call.id), "type": "function", "function": function}
