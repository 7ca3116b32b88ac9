"""Answers of the Responses API in its own shapes, for `fakes.model_server.ModelServer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from fakes.model_server import Cut, ModelServer, Reply, Step

PATH = "/v1/responses"


def base_url(server: ModelServer) -> str:
    return server.url


def event(data: dict[str, Any]) -> bytes:
    """One server-sent event; its name is its type."""
    return b"event: %s\ndata: %s\n\n" % (data["type"].encode(), json.dumps(data).encode())


# -- items ---------------------------------------------------------------------------------------------


def message_item(*texts: str, phase: str = "", number: int = 1) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts]
    item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return item | ({"phase": phase} if phase else {})


def refusal_item(text: str, number: int = 1) -> dict[str, Any]:
    return message_item(number=number) | {"content": [{"type": "refusal", "refusal": text}]}


def call_item(call_id: str, tool: str, arguments: str, number: int = 1) -> dict[str, Any]:
    fields = {"call_id": call_id, "name": tool, "arguments": arguments}
    return {"id": f"fc_{number}", "type": "function_call", "status": "completed", **fields}


def reasoning_item(*summaries: str, encrypted: str | None = "gAAAA-sealed==", number: int = 1) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    fields = {"summary": summary, "encrypted_content": encrypted, "status": "completed"}
    return {"id": f"rs_{number}", "type": "reasoning", **fields}


# -- answers -------------------------------------------------------------------------------------------


def usage(input_: int = 10, output: int = 5, cached: int = 0, written: int = 0, reasoning: int = 0) -> dict[str, Any]:
    return {
        "input_tokens": input_,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": input_ + output,
    }


def response(*items: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """The response object: what a request without streaming is answered with."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_800_000_000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": "Be brief.",
        "max_output_tokens": None,
        "model": "m",
        "output": list(items),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage() if status in ("completed", "incomplete") else None,
        "user": None,
        "metadata": {},
        **more,
    }


def whole(*items: dict[str, Any], **more: Any) -> Reply:
    """The same without streaming."""
    return Reply([json.dumps(response(*items, **more)).encode()], 200, {"content-type": "application/json"})


def events(*items: dict[str, Any], pieces: Iterable[str] = (), **more: Any) -> Iterator[dict[str, Any]]:
    """The events of an answer of these items. pieces: how the texts of the last item came."""
    numbers = count()
    begun = response(status="in_progress")
    for kind in ("response.created", "response.in_progress"):
        yield {"type": kind, "sequence_number": next(numbers), "response": begun}
    for index, item in enumerate(items):
        cut = list(pieces) if index == len(items) - 1 else []
        for told in _item_events(index, item, cut):
            yield {**told, "sequence_number": next(numbers)}
    status = more.get("status", "completed")
    yield {
        "type": f"response.{status}",
        "sequence_number": next(numbers),
        "response": response(*items, **more),
    }


def stream(*items: dict[str, Any], pieces: Iterable[str] = (), **more: Any) -> Reply:
    """The stream of an answer of these items. more: fields of the response at its end."""
    return Reply([event(told) for told in events(*items, pieces=pieces, **more)])


def _item_events(index: int, item: dict[str, Any], pieces: list[str]) -> Iterator[dict[str, Any]]:
    place = {"output_index": index}
    within = {**place, "item_id": item["id"]}
    empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {"summary": []}}[item["type"]]
    # The reasoning of an item that has only begun is sealed anew when it is done.
    sealed = {"encrypted_content": "gAAAA-begun"} if item.get("encrypted_content") else {}
    begun = {**item, **empty, **sealed, "status": "in_progress"}
    yield {"type": "response.output_item.added", **place, "item": begun}
    if item["type"] == "message":
        for number, content in enumerate(item["content"]):
            yield from _content_events({**within, "content_index": number}, content, pieces)
    elif item["type"] == "function_call":
        for piece in pieces or _halves(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **within, "delta": piece, "obfuscation": "x9"}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.done", **within, **done}
    else:
        for number, summary in enumerate(item["summary"]):
            yield from _summary_events({**within, "summary_index": number}, summary["text"], pieces)
    yield {"type": "response.output_item.done", **place, "item": item}


def _content_events(within: dict[str, Any], content: dict[str, Any], pieces: list[str]) -> Iterator[dict[str, Any]]:
    field = "text" if content["type"] == "output_text" else "refusal"
    logprobs = {"logprobs": []} if field == "text" else {}
    name = "response.output_text" if field == "text" else "response.refusal"
    yield {"type": "response.content_part.added", **within, "part": {**content, field: ""}}
    for piece in pieces or _halves(content[field]):
        yield {"type": f"{name}.delta", **within, "delta": piece, **logprobs, "obfuscation": "Qw3rTy"}
    yield {"type": f"{name}.done", **within, field: content[field], **logprobs}
    yield {"type": "response.content_part.done", **within, "part": content}


def _summary_events(within: dict[str, Any], text: str, pieces: list[str]) -> Iterator[dict[str, Any]]:
    part = {"type": "summary_text", "text": text}
    yield {"type": "response.reasoning_summary_part.added", **within, "part": {**part, "text": ""}}
    for piece in pieces or _halves(text):
        yield {"type": "response.reasoning_summary_text.delta", **within, "delta": piece, "obfuscation": "a1"}
    yield {"type": "response.reasoning_summary_text.done", **within, "text": text}
    yield {"type": "response.reasoning_summary_part.done", **within, "part": part}


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def text(*pieces: str) -> Reply:
    """An answer in text."""
    return stream(message_item("".join(pieces)), pieces=pieces)


def calls(*wanted: tuple[str, str, str]) -> Reply:
    """An answer that calls tools: (id, tool, arguments) each."""
    return stream(*(call_item(*call, number=number) for number, call in enumerate(wanted, 1)))


def thinking(thought: str, *pieces: str) -> Reply:
    """An answer in text after a thought."""
    return stream(reasoning_item(thought), message_item("".join(pieces)), pieces=pieces)


def refusal(status: int, headers: dict[str, str] | None = None, message: str = "no", **error: Any) -> Reply:
    """A request that fails, as the API words it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **error}}
    return Reply([json.dumps(body).encode()], status, {"content-type": "application/json", **(headers or {})})


def overloaded_midstream(*pieces: str, code: str = "server_error", message: str = "The server is busy.") -> Reply:
    """An answer that had begun, or with no pieces only its stream, and fails."""
    begun = list(events(message_item("".join(pieces)), pieces=pieces))
    steps: list[Step] = [event(told) for told in begun[: 4 + len(pieces) if pieces else 2]]
    error = {"code": code, "message": message}
    failed = response(status="failed", error=error)
    return Reply([*steps, event({"type": "response.failed", "sequence_number": len(steps), "response": failed})])


def error_event(*pieces: str, code: str = "server_error", message: str = "The server is busy.") -> Reply:
    """The same with the event that errors have of their own."""
    begun = overloaded_midstream(*pieces).steps[:-1]
    told = {"type": "error", "code": code, "message": message, "param": None, "sequence_number": len(begun)}
    return Reply([*begun, event(told)])


def cut(*pieces: str) -> Reply:
    """An answer whose connection breaks after its pieces."""
    return Reply([*overloaded_midstream(*pieces).steps[:-1], Cut()])
