"""Answers of Chat Completions in their own shapes, for `fakes.model_server.ModelServer`."""

from __future__ import annotations

import json
from typing import Any

from fakes.model_server import Cut, ModelServer, Reply, calls, delta, refusal, stream, text, usage

__all__ = ["PATH", "base_url", "calls", "cut", "overloaded_midstream", "refusal", "text", "thinking", "whole"]

PATH = "/v1/chat/completions"


def base_url(server: ModelServer) -> str:
    return server.url


def thinking(thought: str, *pieces: str) -> Reply:
    """An answer in text after a thought, as DeepSeek, vLLM and llama.cpp tell it."""
    middle = len(thought) // 2
    thoughts = (delta({"reasoning_content": piece}) for piece in (thought[:middle], thought[middle:]) if piece)
    said = (delta({"content": piece}) for piece in pieces)
    return stream(*thoughts, *said, delta(finish_reason="stop"), usage())


def overloaded_midstream(*pieces: str, code: str = "server_error", message: str = "The server is busy.") -> Reply:
    """An answer that had begun, or with no pieces only its stream, and fails."""
    begun = [delta({"role": "assistant", "content": ""}), *(delta({"content": piece}) for piece in pieces)]
    error = {"message": message, "type": "server_error", "param": None, "code": code}
    return stream(*begun, {"error": error}, done=False)


def cut(*pieces: str) -> Reply:
    """An answer whose connection breaks after its pieces."""
    return stream(*(delta({"content": piece}) for piece in pieces), Cut(), done=False)


def whole(content: str | None, *wanted: tuple[str, str, str], **more: Any) -> Reply:
    """An answer without streaming: its text, and the calls (id, tool, arguments). more: of the message."""
    tool_calls = [
        {"id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}
        for call_id, tool, arguments in wanted
    ]
    message = {"role": "assistant", "content": content, "refusal": None, **more}
    if tool_calls:
        message["tool_calls"] = tool_calls
    reason = "tool_calls" if tool_calls else "stop"
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": usage()["usage"],
    }
    return Reply([json.dumps(body).encode()], 200, {"content-type": "application/json"})
