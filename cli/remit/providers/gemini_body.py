"""The request of Gemini generateContent: the transcript as contents, and what an answer keeps for its way back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from remit.base.messages import (
    CallBlock,
    Effort,
    ImageBlock,
    Message,
    Request,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
)
from remit.base.model_json import decode_json
from remit.base.spec import ModelSpec
from remit.base.text import scrub
from remit.providers.transcript import Transcript, results_of, sound_arguments, to_json

Part = dict[str, Any]

UNSIGNED_CALL = "skip_thought_signature_validator"
"""The signature that the API documents for calls that another model made: without one, Gemini 3 refuses the
request. The first call of an answer carries it, as it does in answers of the API."""

_EMPTY = "(empty)"
"""Stands for a message of nothing: the API refuses contents without parts, and texts without characters."""

_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp"})

# Thinking by levels has no off, and most models refuse MINIMAL and XHIGH; these three are taken by all.
_LEVELS: dict[Effort, str] = {"off": "LOW", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "max": "HIGH"}
_BUDGETS: dict[Effort, int] = {"off": 0, "low": 1024, "medium": 8192, "high": 24_576, "max": 24_576}
# Of the models with a budget, Pro always thinks and may think longer.
_PRO_BUDGETS = _BUDGETS | {"off": 128, "max": 32_768}


class GeminiBody:
    """Bodies of the requests to one model. Those of consecutive requests share their prefix."""

    def __init__(self, spec: ModelSpec) -> None:
        self._origin = spec.id
        self._thinking = spec.thinking
        self._pro = "pro" in spec.name.lower()
        self._third = spec.thinking == "level" or _generation(spec.name) >= 3
        self._wire_ids: dict[str, str] = {}
        self.transcript = Transcript(self._encode)

    def json(self, request: Request) -> bytes:
        """The JSON body. What changes from turn to turn stands at its end."""
        contents = self.transcript.json(request.messages)
        fields = []
        if request.system:
            fields.append(b'"systemInstruction":' + to_json({"parts": [{"text": scrub(request.system)}]}))
        if request.tools:
            declarations = self.transcript.tools_json(request.tools, _declaration)
            fields.append(b'"tools":[{"functionDeclarations":' + declarations + b"}]")
        fields.append(b'"contents":' + contents)
        if config := self._generation_config(request):
            fields.append(b'"generationConfig":' + to_json(config))
        return b"{" + b",".join(fields) + b"}"

    def _generation_config(self, request: Request) -> dict[str, Any]:
        config: dict[str, Any] = {"maxOutputTokens": request.max_tokens} if request.max_tokens else {}
        if request.effort and self._thinking == "level":
            config["thinkingConfig"] = {"thinkingLevel": _LEVELS[request.effort], "includeThoughts": True}
        if request.effort and self._thinking == "budget":
            budget = (_PRO_BUDGETS if self._pro else _BUDGETS)[request.effort]
            # The API refuses to include the thoughts of a model that is not to think.
            config["thinkingConfig"] = {"thinkingBudget": budget, "includeThoughts": budget > 0}
        return config

    # -- contents ----------------------------------------------------------------------------------

    def _encode(self, message: Message, transcript: Transcript) -> bytes:
        if message.role == "assistant":
            return _content("model", self._answered(message))
        results = results_of(message)
        said = [*self._shown_apart(results), *_said(message)]
        entries = []
        if results:
            entries.append(_content("user", [self._response(result, transcript) for result in results]))
        # The API counts the parts that follow calls, so that anything else gets a content of its own.
        if said or not results:
            entries.append(_content("user", said))
        return b",".join(entries)

    def _answered(self, message: Message) -> Iterator[Part]:
        own = message.origin == self._origin
        unsigned = self._third
        for block in message.content:
            if isinstance(block, TextBlock):
                yield from _text_parts(block, kept_runs(block) if own else [])
            elif isinstance(block, ThinkingBlock) and block.signature and own:
                thought: Part = {"text": scrub(block.text), "thoughtSignature": block.signature}
                yield thought if block.opaque == NO_THOUGHT else thought | {"thought": True}
            elif isinstance(block, CallBlock):
                kept = kept_call(block) if own else KeptCall()
                yield self._call(block, kept, kept.signature or (UNSIGNED_CALL if unsigned else ""))
                unsigned = False

    def _call(self, call: CallBlock, kept: KeptCall, signature: str) -> Part:
        # Call ids are ours; the API gets back only an id that it gave.
        self._wire_ids[call.id] = kept.id
        function = {"name": _sound_name(call.tool), "args": decode_json(sound_arguments(call), dict)}
        part: Part = {"functionCall": ({"id": kept.id} if kept.id else {}) | function}
        return part | ({"thoughtSignature": signature} if signature else {})

    def _response(self, result: ResultBlock, transcript: Transcript) -> Part:
        wire_id = self._wire_ids.get(result.call_id, "")
        response: dict[str, Any] = {"id": wire_id} if wire_id else {}
        response["name"] = _sound_name(transcript.tools_by_call.get(result.call_id, ""))
        response["response"] = {"error" if result.is_error else "result": scrub(result.content)}
        if self._third and (pictures := [_picture(image) for image in result.images if image.media_type in _PICTURES]):
            response["parts"] = pictures
        return {"functionResponse": response}

    def _shown_apart(self, results: Sequence[ResultBlock]) -> Iterator[Part]:
        """Pictures of results that do not fit into them: models before Gemini 3 take none there."""
        for result in results:
            for image in result.images:
                if not self._third or image.media_type not in _PICTURES:
                    yield _picture(image)


def _content(role: str, parts: Iterable[Part]) -> bytes:
    return to_json({"role": role, "parts": list(parts) or [{"text": _EMPTY}]})


def _said(message: Message) -> Iterator[Part]:
    for block in message.content:
        if isinstance(block, ImageBlock):
            yield _picture(block)
        elif isinstance(block, TextBlock) and block.text:
            yield {"text": scrub(block.text)}


def _picture(image: ImageBlock) -> Part:
    if image.media_type not in _PICTURES:
        return {"text": f"[a picture of type {image.media_type} was left out: this model takes PNG, JPEG and WebP]"}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _text_parts(block: TextBlock, runs: Sequence[tuple[int, str]]) -> Iterator[Part]:
    """The parts that the text came in, each with its signature."""
    text, start = scrub(block.text), 0
    if sum(length for length, _ in runs) != len(text):
        runs = [(len(text), "")]
    for length, signature in runs:
        if length or signature:
            part: Part = {"text": text[start : start + length]}
            yield part | ({"thoughtSignature": signature} if signature else {})
        start += length


def _declaration(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.schema}


def _sound_name(tool: str) -> str:
    """A name that the API takes back. Models call tools by names that nobody declared, and one such call
    in the transcript would have every later request refused."""
    name = re.sub(r"[^A-Za-z0-9_.:-]", "_", tool)[:64]
    return name if re.match(r"[A-Za-z_]", name) else f"_{name[:63]}"


def _generation(name: str) -> int:
    """3 for `gemini-3-pro-preview`; 0 for what is named otherwise."""
    found = re.search(r"\bgemini-(\d+)", name.lower())
    return int(found[1]) if found else 0


# -- what an answer keeps for its way back -----------------------------------------------------------


NO_THOUGHT = "text"
"""`opaque` of a thinking block that is no thought: a signature that came alone, with no text to carry it."""


class KeptCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `opaque` of a call holds: the id that the API gave, and the signature."""

    id: str = ""
    signature: str = ""

    def opaque(self) -> str:
        return to_json(self).decode() if self.id or self.signature else ""


def kept_call(block: CallBlock) -> KeptCall:
    kept: KeptCall = _kept(block.opaque, KeptCall) or KeptCall()
    return kept


def kept_runs(block: TextBlock) -> list[tuple[int, str]]:
    """What `opaque` of a text holds: the length of each part in characters, and its signature. A text is one
    block, but the API forbids to join a part that has a signature with its neighbours."""
    runs: list[tuple[int, str]] = _kept(block.opaque, list[tuple[int, str]]) or []
    return runs


def _kept(opaque: str, type_: Any) -> Any:
    try:
        return msgspec.json.decode(opaque, type=type_) if opaque else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
