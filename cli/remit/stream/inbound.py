"""What a client program sends: one JSON object a line, read without trust and without end."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from remit.base.messages import ImageBlock
from remit.base.model_json import MAX_NESTING, decode_json, nests_too_deep
from remit.base.text import scrub_tree
from remit.stream.inbound_content import read_content

MAX_LINE_BYTES = 32 << 20
"""A longer line is passed over, whatever it holds."""

MAX_QUEUED = 64
"""Lines that are read ahead of what is served."""

_CHUNK = 1 << 16


class Said(msgspec.Struct, frozen=True):
    """A user message. refused: why it cannot be taken, or ""."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    uuid: str = ""
    refused: str = ""


class Asked(msgspec.Struct, frozen=True):
    """A control request of the client."""

    request_id: str
    subtype: str
    fields: dict[str, Any]


class Replied(msgspec.Struct, frozen=True):
    """The client's answer to a control request of ours. error: "" where it is none."""

    request_id: str
    response: dict[str, Any]
    error: str = ""


class Withdrawn(msgspec.Struct, frozen=True):
    """The client wants no answer any more."""

    request_id: str


class Unreadable(msgspec.Struct, frozen=True):
    """A line that is nothing of this. what: why; size: its bytes."""

    what: str
    size: int


Line = Said | Asked | Replied | Withdrawn | Unreadable


def read_line(raw: bytes) -> Line | None:
    """What a line says; None for one that is blank or of a type that asks for nothing."""
    text = raw.strip()
    if not text:
        return None
    try:
        line = _value(text.decode("utf-8-sig"))
    except (UnicodeDecodeError, msgspec.DecodeError) as problem:
        return _deep_reply(text) or Unreadable(f"it is not JSON: {problem}", len(raw))
    if not isinstance(line, dict):
        return Unreadable("it is no JSON object", len(raw))
    match line.get("type"):
        case "user":
            return _said(line, len(raw))
        case "control_request":
            return _asked(line, len(raw))
        case "control_response":
            return _replied(line)
        case "control_cancel_request":
            return Withdrawn(str(line.get("request_id", "")))
        case _:
            return None


def _value(text: str) -> Any:
    """Half a character, as programs cut texts, is no reason to hear nothing. Raises msgspec.DecodeError."""
    try:
        return decode_json(text)
    except msgspec.DecodeError:
        if "\\ud" not in text.lower() or nests_too_deep(text):
            raise
        import json  # only lines that are broken in this way pay for it

        try:
            return scrub_tree(json.loads(text))
        except (ValueError, RecursionError):
            pass
        raise


def _deep_reply(text: bytes) -> Replied | None:
    """An answer that nests too deep to be read answers all the same; None for any other line."""
    try:
        line = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    response = line.get("response") if isinstance(line, dict) and line.get("type") == "control_response" else None
    if not isinstance(response, dict):
        return None
    return Replied(str(response.get("request_id", "")), {}, f"its answer is nested deeper than {MAX_NESTING} levels")


def _said(line: dict[str, Any], size: int) -> Line:
    message = line.get("message")
    if not isinstance(message, dict) or message.get("role") != "user":
        role = message.get("role") if isinstance(message, dict) else None
        return Unreadable(f"a user line needs a message of role user, not {role!r}", size)
    uuid = line.get("uuid")
    content = read_content(message.get("content"))
    return Said(content.text, tuple(content.images), uuid if isinstance(uuid, str) else "", content.refused)


def _asked(line: dict[str, Any], size: int) -> Line:
    request = line.get("request")
    if not isinstance(request, dict) or not isinstance(line.get("request_id"), str):
        return Unreadable("a control request needs a request_id and a request", size)
    return Asked(line["request_id"], str(request.get("subtype", "")), request)


def _replied(line: dict[str, Any]) -> Line | None:
    response = line.get("response")
    if not isinstance(response, dict):
        return None
    request_id = str(response.get("request_id", ""))
    if response.get("subtype") == "success":
        inner = response.get("response")
        return Replied(request_id, inner if isinstance(inner, dict) else {})
    return Replied(request_id, {}, str(response.get("error") or "the client answered with an error"))


def split_lines(chunks: Iterator[bytes], most: int = MAX_LINE_BYTES) -> Iterator[bytes | int]:
    """The lines of a byte stream, without their ends; for one that is longer than `most` its size, and not a byte
    of it is held. What follows the last line end is a line too."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            size += end - start
            yield b"".join((*parts, chunk[start:end])) if size <= most else size
            parts, size, start = [], 0, end + 1
        size += len(chunk) - start
        parts = [*parts, chunk[start:]] if size <= most else []
    if size:
        yield b"".join(parts) if size <= most else size


class LineReader:
    """Reads a descriptor in a thread, a few lines ahead of what is taken. Nothing is lost while nobody takes."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self._fd = fd
        self._loop = loop
        self._lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_QUEUED)
        self._thread = threading.Thread(target=self._read, name="stdin", daemon=True)

    async def lines(self) -> AsyncIterator[Line]:
        """Until the other side closes, or cannot be read."""
        self._thread.start()
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        try:
            for raw in split_lines(self._chunks()):
                line: Line | None
                if isinstance(raw, int):
                    line = Unreadable(f"it is longer than {MAX_LINE_BYTES} bytes", raw)
                else:
                    line = read_line(raw)
                if line is not None:
                    self._room.acquire()
                    self._put(line)
        finally:
            self._put(None)

    def _chunks(self) -> Iterator[bytes]:
        while True:
            try:
                chunk = os.read(self._fd, _CHUNK)
            except OSError:
                return
            if not chunk:
                return
            yield chunk

    def _put(self, line: Line | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
