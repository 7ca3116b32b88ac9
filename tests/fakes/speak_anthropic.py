"""Answers in the shapes of the Messages API, for `ModelServer`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fakes.model_server import Cut, KeepAlive, ModelServer, Reply, Stall, Step

PATH = "/v1/messages"
USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
PING = {"type": "ping"}
_JSON = {"content-type": "application/json"}


def base_url(server: ModelServer) -> str:
    """What `ANTHROPIC_BASE_URL` would be: without the version."""
    return server.root


def event(data: dict[str, Any]) -> bytes:
    """One server-sent event, under its type."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def message(content: Sequence[dict[str, Any]] = (), stop_reason: str | None = None, **more: Any) -> dict[str, Any]:
    """A message object: empty at the start of a stream, the whole answer without streaming."""
    fixed = {"id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant", "model": "m"}
    return {
        **fixed,
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": USAGE,
        **more,
    }


def start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": message(usage={**USAGE, **usage})}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking_block(index: int, signature: str, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def redacted_block(index: int, data: str) -> list[dict[str, Any]]:
    return block(index, {"type": "redacted_thinking", "data": data})


def call_block(index: int, call_id: str, tool: str, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return block(index, {"type": "tool_use", "id": call_id, "name": tool, "input": {}}, *deltas)


def end(stop_reason: str = "end_turn", stop_details: Any = None, **usage: int) -> list[dict[str, Any]]:
    delta = {"stop_reason": stop_reason, "stop_sequence": None, "stop_details": stop_details}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5, **usage}},
        {"type": "message_stop"},
    ]


def stream(*events: dict[str, Any] | Step | list[dict[str, Any]]) -> Reply:
    """A stream of these events (dicts, lists of them, or steps as they are)."""
    steps: list[Step] = []
    for one in events:
        if isinstance(one, (bytes, Cut, Stall, KeepAlive)):
            steps.append(one)
        else:
            steps += map(event, one if isinstance(one, list) else [one])
    return Reply(steps)


def text(*pieces: str) -> Reply:
    """An answer in text."""
    return stream(start(), PING, text_block(0, *pieces), end())


def calls(*wanted: tuple[str, str, str]) -> Reply:
    """An answer that calls tools: (id, tool, arguments) each, the arguments in two pieces."""
    return stream(start(), PING, *_call_blocks(0, wanted), end("tool_use"))


def thinking(thought: str, *wanted: tuple[str, str, str], signature: str = "EqQBCgIYAhIM", answer: str = "") -> Reply:
    """An answer that thinks, then says `answer` and calls tools, if there are any."""
    said = [thinking_block(0, signature, thought), *([text_block(1, answer)] if answer else [])]
    said += _call_blocks(len(said), wanted)
    return stream(start(), PING, *said, end("tool_use" if wanted else "end_turn"))


def _call_blocks(first: int, wanted: Sequence[tuple[str, str, str]]) -> list[list[dict[str, Any]]]:
    blocks = []
    for index, (call_id, tool, arguments) in enumerate(wanted, first):
        half = len(arguments) // 2
        pieces = [piece for piece in (arguments[:half], arguments[half:]) if piece]
        blocks.append(call_block(index, call_id, tool, *pieces))
    return blocks


def whole(*content: dict[str, Any], stop_reason: str = "end_turn", **more: Any) -> Reply:
    """The answer of a server that does not stream: content blocks as they are in a message."""
    return Reply([json.dumps(message(content, stop_reason, **more)).encode()], 200, _JSON)


_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error(type: str, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message, **more}}


def refusal_type(status: int) -> str:
    """The type of the errors with this status."""
    return _TYPES.get(status, "api_error")


def refusal(status: int, headers: dict[str, str] | None = None, message: str = "no", **more: Any) -> Reply:
    """An error as the API words it. more: fields of the error object, `type` among them."""
    body = error(more.pop("type", refusal_type(status)), message, **more)
    raw = json.dumps({**body, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}).encode()
    return Reply([raw], status, {**_JSON, **(headers or {})})


def overloaded_midstream(*pieces: str, message: str = "Overloaded") -> Reply:
    """An answer that fails after these pieces of text; without any, before its first block."""
    begun = text_block(0, *pieces)[:-1] if pieces else []
    return stream(start(), PING, begun, error("overloaded_error", message))
