"""Chat Completions of OpenAI and of every server that speaks it: vLLM, Ollama, llama.cpp, gateways."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from remit.base.errors import PreflightFault, ProviderFault
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    Message,
    Part,
    Request,
    ResultBlock,
    StopPart,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
    Usage,
    UsagePart,
)
from remit.base.model_json import decode_json
from remit.base.text import scrub
from remit.providers.catalog import Opening
from remit.providers.failures import from_stream
from remit.providers.sse import SseEvent
from remit.providers.timing import Timing
from remit.providers.wire import Endpoint, Wire, cut_off

NAME = "openai"
OFFICIAL_URL = "https://api.openai.com/v1"
_OFFICIAL_HOST = "api.openai.com"


def open_provider(opening: Opening) -> OpenAIChat:
    """By OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID and OPENAI_PROJECT_ID, as the official client
    reads them. A server of your own needs no key. Raises PreflightFault."""
    environ = opening.environ
    base_url = environ.get("OPENAI_BASE_URL", "").strip() or OFFICIAL_URL
    key = environ.get("OPENAI_API_KEY", "").strip()
    if not key and _is_official(base_url):
        raise PreflightFault(
            f"openai/{opening.model} needs a key, and OPENAI_API_KEY is not set",
            hint="set OPENAI_API_KEY, or OPENAI_BASE_URL to a server of your own",
            kind="no_key",
        )
    names = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
    extra = {header: environ[name] for header, name in names.items() if environ.get(name)}
    return OpenAIChat(
        opening.model,
        base_url=base_url,
        api_key=key,
        key_source="OPENAI_API_KEY" if key else "none",
        headers=extra,
        environ=environ,
        retry_seconds=opening.retry_seconds,
        timing=opening.timing,
    )


def _is_official(base_url: str) -> bool:
    return (urlsplit(base_url).hostname or "").lower() == _OFFICIAL_HOST


class OpenAIChat:
    """A model behind a Chat Completions endpoint.

    base_url: up to and with the version, e.g. `http://127.0.0.1:8000/v1`. api_key: "" for none.
    key_source: where the key came from, for messages. headers: sent with every request. environ: names
    the proxies."""

    name = NAME

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str = "",
        key_source: str = "none",
        headers: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        retry_seconds: float = 300.0,
        timing: Timing | None = None,
        connect_seconds: float = 10.0,
        silence_seconds: float = 300.0,
    ) -> None:
        self.model = model
        self.key_source = key_source
        endpoint = Endpoint(
            provider=NAME,
            base_url=base_url.rstrip("/"),
            headers=_headers(api_key, key_source, headers or {}),
            key_source=key_source,
            secrets=(api_key,),
            environ=environ or {},
        )
        self._wire = Wire(
            endpoint,
            retry_seconds=retry_seconds,
            timing=timing,
            connect_seconds=connect_seconds,
            silence_seconds=silence_seconds,
        )
        # Reasoning models of the official API refuse the name that every other server knows.
        self._max_tokens_key = "max_completion_tokens" if _is_official(base_url) else "max_tokens"
        self._transcript = Transcript()

    def stream(self, request: Request) -> AsyncIterator[Part]:
        body = self._transcript.body(request, self._max_tokens_key)
        taken = self._transcript.call_ids
        turn = 1 + self._transcript.answers
        return self._wire.ask("/chat/completions", body, lambda: ChatDecoder(turn, taken))

    async def close(self) -> None:
        await self._wire.close()


def _headers(api_key: str, key_source: str, extra: Mapping[str, str]) -> dict[str, str]:
    headers = {**extra, **({"authorization": f"Bearer {api_key}"} if api_key else {})}
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            source = key_source if name == "authorization" else name
            what = f"openai: the value of {source} has characters that no HTTP header can carry"
            raise PreflightFault(what, hint="check it for line breaks and for letters outside of ASCII", kind="no_key")
    return headers


# -- requests ----------------------------------------------------------------------------------------


class Transcript:
    """Request bodies. A transcript grows at its end, so what was encoded for one turn serves the next."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._pieces: list[bytes] = []
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_json = b""
        self.call_ids: set[str] = set()
        self.answers = 0

    def body(self, request: Request, max_tokens_key: str) -> bytes:
        """The JSON body, streaming asked for."""
        self._take_in(request.messages)
        system = [_json({"role": "system", "content": scrub(request.system)})] if request.system else []
        fields = [
            b'"model":' + _json(request.model),
            b'"messages":[' + b",".join([*system, *self._pieces]) + b"]",
            *self._tools_field(request.tools),
            *([b'"%s":%d' % (max_tokens_key.encode(), request.max_tokens)] if request.max_tokens else []),
            b'"stream":true,"stream_options":{"include_usage":true}',
        ]
        return b"{" + b",".join(fields) + b"}"

    def _take_in(self, messages: Sequence[Message]) -> None:
        """Encode what is new. Messages are immutable, so the same object is the same JSON."""
        same = list(map(is_, self._messages, messages))
        shared = len(same) if all(same) else same.index(False)
        if shared < len(self._messages):
            del self._messages[shared:], self._pieces[shared:]
            self.call_ids = {call.id for message in self._messages for call in message.calls()}
            self.answers = sum(message.role == "assistant" for message in self._messages)
        for message in messages[shared:]:
            self._messages.append(message)
            self.answers += message.role == "assistant"
            self._pieces.append(b",".join(map(_json, _entries(message))))
            self.call_ids.update(call.id for call in message.calls())

    def _tools_field(self, tools: tuple[ToolSpec, ...]) -> list[bytes]:
        if tools is not self._tools:
            self._tools, self._tools_json = tools, b'"tools":' + _json([_tool(spec) for spec in tools])
        return [self._tools_json] if tools else []


_json = msgspec.json.Encoder().encode


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.schema}
    return {"type": "function", "function": function}


def _entries(message: Message) -> Iterator[dict[str, Any]]:
    """A message as the protocol's: results are messages of their own, before any text."""
    text = scrub(message.text())
    if message.role == "assistant":
        calls = [_call(call) for call in message.calls()]
        yield (
            {"role": "assistant", "content": text or None, "tool_calls": calls}
            if calls
            else {
                "role": "assistant",
                "content": text,
            }
        )
        return
    for block in message.content:
        if isinstance(block, ResultBlock):
            yield {"role": "tool", "tool_call_id": block.call_id, "content": scrub(block.content)}
    if text or not any(isinstance(block, ResultBlock) for block in message.content):
        yield {"role": "user", "content": text}


def _call(call: CallBlock) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": _sound(call.arguments)}}


def _sound(arguments: str) -> str:
    """Arguments that every server can read again. Several parse them and refuse the whole request over
    one malformed call, this turn and every later one; so what is no JSON object goes back inside one."""
    if not arguments.strip():
        return "{}"
    try:
        decode_json(arguments, dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _json({"malformed_arguments": scrub(arguments)}).decode()
    return arguments


# -- answers -----------------------------------------------------------------------------------------


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Piece(msgspec.Struct):
    """A delta, or the whole message of a server that does not stream."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Piece | None = None
    message: _Piece | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None

    def usage(self) -> Usage:
        details = self.prompt_tokens_details or _Details()
        cached = max(0, details.cached_tokens or self.prompt_cache_hit_tokens or 0)
        return Usage(
            input=max(0, (self.prompt_tokens or 0) - cached),
            output=max(0, self.completion_tokens or 0),
            cache_read=cached,
        )


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Tokens | None = None
    error: Any = None


_chunks = msgspec.json.Decoder(_Chunk)

_STOPS: dict[str, StopReason] = {"length": "max_tokens", "max_tokens": "max_tokens", "content_filter": "refusal"}


class _Open:
    """A block as it grows. wire_id: the call's id as the server gave it."""

    __slots__ = ("closed", "id", "index", "kind", "pieces", "tool", "wire_id")

    def __init__(self, index: int, kind: Literal["text", "thinking", "call"]) -> None:
        self.index = index
        self.kind = kind
        self.pieces: list[str] = []
        self.closed = False
        self.id = self.wire_id = self.tool = ""

    def finished(self) -> TextBlock | ThinkingBlock | CallBlock:
        text = scrub("".join(self.pieces))
        if self.kind == "call":
            return CallBlock(self.id, self.tool, text)
        return TextBlock(text) if self.kind == "text" else ThinkingBlock(text)


class ChatDecoder:
    """One answer. turn: from 1, for the ids of calls that come without. taken: ids of the transcript."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        self.finished = False
        self._turn = turn
        self._taken = set(taken)
        self._blocks: list[_Open] = []
        self._given = 0
        self._calls_by_index: dict[int, _Open] = {}
        self._calls_by_wire_id: dict[str, _Open] = {}
        self._last_call: _Open | None = None
        self._usage: Usage | None = None
        self._finish_reason = ""
        self._refused = False

    def feed(self, event: SseEvent) -> list[Part]:
        data = event.data.strip()
        if data == b"[DONE]":
            self.finished = True
        if not data or self.finished:
            return []
        chunk = _parse(data)
        if event.name == "error" or chunk.error is not None:
            raise from_stream(chunk.error if chunk.error is not None else msgspec.json.decode(data))
        if chunk.usage is not None:
            self._usage = chunk.usage.usage()
        parts: list[Part] = []
        for choice in chunk.choices or ():
            if not choice.index:
                self._take(choice, parts)
        return parts

    def end(self) -> list[Part]:
        if not (self._finish_reason or self.finished):
            raise cut_off("no finish reason came")
        for block in self._blocks:
            block.closed = True
        parts: list[Part] = []
        self._give_finished(parts)
        if self._usage is not None:
            parts.append(UsagePart(self._usage))
        parts.append(StopPart(self._stop_reason()))
        return parts

    def _stop_reason(self) -> StopReason:
        if self._refused:
            return "refusal"
        # Several servers end an answer that calls tools with a plain "stop".
        calls = any(block.kind == "call" for block in self._blocks)
        return _STOPS.get(self._finish_reason, "tool_use" if calls else "end_turn")

    def _take(self, choice: _Choice, parts: list[Part]) -> None:
        piece = choice.delta or choice.message
        if choice.finish_reason:
            self._finish_reason = choice.finish_reason
        if piece is None:
            return
        if thinking := _text_of(piece.reasoning_content) or _text_of(piece.reasoning):
            self._grow("thinking", thinking, parts)
        if piece.content:
            for kind, text in _contents(piece.content):
                self._grow(kind, text, parts)
        if refusal := _text_of(piece.refusal):
            self._refused = True
            self._grow("text", refusal, parts)
        for call in piece.tool_calls or ():
            self._grow_call(call, parts)

    def _grow(self, kind: Literal["text", "thinking"], text: str, parts: list[Part]) -> None:
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.kind != kind:
            block = self._start(kind, parts)
        block.pieces.append(text)
        parts.append(Delta(block.index, kind, scrub(text)))

    def _grow_call(self, call: _CallPiece, parts: list[Part]) -> None:
        function = call.function or _Function()
        arguments = function.arguments
        text = arguments if isinstance(arguments, str) else "" if arguments is None else _json(arguments).decode()
        block = self._continued(call, function.name or "", text)
        if block is None:
            block = self._last_call = self._start("call", parts)
            if call.index is not None:
                self._calls_by_index[call.index] = block
        if call.id and not block.wire_id:
            block.wire_id, block.id = call.id, self._unique(call.id)
            self._calls_by_wire_id[call.id] = block
        if function.name and function.name != block.tool:
            block.tool += scrub(function.name)
        if text:
            block.pieces.append(text)
        parts.append(Delta(block.index, "call", scrub(text), block.id, block.tool))

    def _continued(self, call: _CallPiece, name: str, arguments: str) -> _Open | None:
        """The open call that this piece goes on with, or None when it starts one.

        Servers leave out the index, or the id, or give every call the index 0, or send a fresh id with
        every piece. A piece that starts a call always names its tool."""
        if call.index is not None:
            block = self._calls_by_index.get(call.index)
        else:
            block = self._calls_by_wire_id.get(call.id or "", self._last_call)
        if block is None or not name or not block.tool:
            return block
        if call.id and block.wire_id and call.id != block.wire_id:
            return None
        return None if block.pieces and arguments and _is_object("".join(block.pieces)) else block

    def _start(self, kind: Literal["text", "thinking", "call"], parts: list[Part]) -> _Open:
        if self._blocks and self._blocks[-1].kind != "call":
            self._blocks[-1].closed = True
            self._give_finished(parts)
        block = _Open(len(self._blocks), kind)
        self._blocks.append(block)
        return block

    def _give_finished(self, parts: list[Part]) -> None:
        """Give out the blocks that are finished, in order: none before those in front of it."""
        while self._given < len(self._blocks) and self._blocks[self._given].closed:
            block = self._blocks[self._given]
            if block.kind == "call" and not block.id:
                block.id = self._unique(f"call_{self._turn}_{block.index + 1}")
            parts.append(BlockPart(block.index, block.finished()))
            self._given += 1

    def _unique(self, wanted: str) -> str:
        name, count = scrub(wanted), 1
        while name in self._taken:
            count += 1
            name = f"{scrub(wanted)}_{count}"
        self._taken.add(name)
        return name


def _parse(data: bytes) -> _Chunk:
    try:
        return _chunks.decode(data)
    except msgspec.ValidationError as problem:
        raise _malformed(problem, data) from None
    except msgspec.DecodeError as problem:
        return _parse_leniently(data, problem)


def _parse_leniently(data: bytes, problem: msgspec.DecodeError) -> _Chunk:
    """Servers cut an emoji into two halves, one a chunk; each alone is a lone surrogate, which only
    the standard library reads. The halves meet again when the block is joined."""
    import json

    try:
        return msgspec.convert(json.loads(data.decode("utf-8", "replace")), _Chunk)
    except (ValueError, RecursionError):
        raise _malformed(problem, data) from None


def _malformed(problem: Exception, data: bytes) -> ProviderFault:
    shown = data[:120].decode("utf-8", "replace")
    what = f"openai: the stream holds something that is no chat completion chunk ({problem}): {shown!r}"
    return ProviderFault(what, kind="malformed", hint="check that the base URL is that of a Chat Completions API")


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _contents(content: Any) -> Iterator[tuple[Literal["text", "thinking"], str]]:
    """Content is a text, or a list of typed parts with texts in them."""
    if isinstance(content, str):
        yield "text", content
        return
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        kind: Literal["text", "thinking"] = "thinking" if part.get("type") == "thinking" else "text"
        inner = part.get(kind)
        texts = [inner] if isinstance(inner, str) else [text for _, text in _contents(inner)]
        yield from ((kind, text) for text in texts if text)


def _is_object(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True
