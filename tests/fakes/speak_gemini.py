"""Answers of Gemini generateContent in the API's own shapes, for `fakes.model_server`.

with ModelServer([text("Hello"), refusal(429, retry="34s")]) as server:
    opened("gemini-3-flash", protocol="google", base_url=base_url(server))
"""

from __future__ import annotations

import json
from typing import Any

from fakes.model_server import Cut, KeepAlive, ModelServer, Reply, Stall, event

PATH = "/v1beta/models/{model}:streamGenerateContent"
"""Where a model is asked, without its query `alt=sse`."""

SIGNATURE = "EjQKMgEMOdbHVvsn2b1mSYt8JBLhQ2c4PmVd"
"""A thought signature: base64, as all of them are."""

_JSON = {"content-type": "application/json; charset=UTF-8"}


def base_url(server: ModelServer) -> str:
    return server.root


def usage(prompt: int = 10, candidates: int = 5, *, cached: int = 0, thoughts: int = 0) -> dict[str, Any]:
    """usageMetadata; counts of zero are left out, as the API does."""
    counts = {"cachedContentTokenCount": cached, "thoughtsTokenCount": thoughts}
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": candidates,
        "totalTokenCount": prompt + candidates + thoughts,
        **{name: count for name, count in counts.items() if count},
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }


def chunk(
    *parts: dict[str, Any], finish: str = "", tokens: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """One GenerateContentResponse. more: other fields of the candidate."""
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **more}
    candidate |= {"finishReason": finish} if finish else {}
    return {
        "candidates": [candidate],
        "usageMetadata": tokens or {"promptTokenCount": 10, "totalTokenCount": 10},
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "kF4saZ2tFLqNvdIP2uW3oAE",
    }


def call(tool: str, arguments: str, call_id: str = "", signature: str = "") -> dict[str, Any]:
    """A functionCall part. arguments: JSON text, always of an object: the API sends no other."""
    function = ({"id": call_id} if call_id else {}) | {"name": tool, "args": json.loads(arguments or "{}")}
    return {"functionCall": function} | ({"thoughtSignature": signature} if signature else {})


def thought(piece: str, signature: str = "") -> dict[str, Any]:
    return {"text": piece, "thought": True} | ({"thoughtSignature": signature} if signature else {})


def stream(*chunks: Any) -> Reply:
    """A stream of these chunks (dicts, or steps as they are). The API ends it without a mark."""
    return Reply(
        [piece if isinstance(piece, (bytes, Cut, Stall, KeepAlive)) else event(piece, b"\r\n\r\n") for piece in chunks]
    )


def whole(*chunks: dict[str, Any], array: bool = False) -> Reply:
    """The answer of a server that does not stream: one response, or all chunks as one JSON array."""
    if array:
        return Reply([json.dumps(list(chunks)).encode()], 200, _JSON)
    parts = [part for piece in chunks for part in piece["candidates"][0]["content"]["parts"]]
    body = chunks[-1] | {"candidates": [chunks[-1]["candidates"][0] | {"content": {"parts": parts, "role": "model"}}]}
    return Reply([json.dumps(body).encode()], 200, _JSON)


def text_chunks(*pieces: str) -> list[dict[str, Any]]:
    last = chunk({"text": pieces[-1] if pieces else ""}, finish="STOP", tokens=usage())
    return [*(chunk({"text": piece}) for piece in pieces[:-1]), last]


def text(*pieces: str) -> Reply:
    """An answer in text."""
    return stream(*text_chunks(*pieces))


def calls(*wanted: tuple[str, str, str]) -> Reply:
    """An answer that calls tools: (id, tool, arguments) each, all in one chunk, the first one signed. An
    id of "" is left out."""
    parts = [
        call(tool, arguments, call_id, "" if number else SIGNATURE)
        for number, (call_id, tool, arguments) in enumerate(wanted)
    ]
    return stream(chunk(*parts), chunk({"text": ""}, finish="STOP", tokens=usage()))


def thinking(*pieces: str, answer: str = "Done.", signature: str = SIGNATURE) -> Reply:
    """An answer in text after thoughts; its last part is empty and signed."""
    return stream(
        *(chunk(thought(piece)) for piece in pieces),
        chunk({"text": answer}),
        chunk({"text": "", "thoughtSignature": signature}, finish="STOP", tokens=usage(thoughts=7)),
    )


_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_body(
    status: int, message: str = "no", *, word: str = "", retry: str = "", reason: str = "", **error: Any
) -> dict[str, Any]:
    """word: the status by its name, else the usual one. retry: a RetryInfo's delay, such as `34s`. reason: an
    ErrorInfo's, such as `API_KEY_INVALID`."""
    kind = "type.googleapis.com/google.rpc."
    details: list[dict[str, Any]] = []
    if reason:
        details.append({"@type": f"{kind}ErrorInfo", "reason": reason, "domain": "googleapis.com"})
    if retry:
        violation = {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaValue": "10"}
        details.append({"@type": f"{kind}QuotaFailure", "violations": [violation]})
        details.append({"@type": f"{kind}RetryInfo", "retryDelay": retry})
    known = {"code": status, "message": message, "status": word or _STATUSES.get(status, "UNKNOWN")}
    return {"error": known | ({"details": details} if details else {}) | error}


def refusal(status: int, headers: dict[str, str] | None = None, message: str = "no", **error: Any) -> Reply:
    """An error as the API words it. error: keys of `error_body`; wrapped: inside a list, as it does for streams."""
    wrapped = error.pop("wrapped", False)
    body = error_body(status, message, **error)
    return Reply([json.dumps([body] if wrapped else body).encode()], status, _JSON | (headers or {}))


def overloaded_midstream(*pieces: str) -> Reply:
    """A stream that breaks off with an error after these pieces of text."""
    error = error_body(503, "The model is overloaded. Please try again later.")
    return stream(*(chunk({"text": piece}) for piece in pieces), error)
