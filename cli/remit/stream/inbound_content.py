"""What the content of a client's message holds: texts and images, or why it cannot be taken."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.messages import ImageBlock
from remit.base.text import shorten

TAKEN = "texts, images in base64 and documents of plain text are taken"
EMPTY = "the message is empty: say in it what is to be done"


class Content(msgspec.Struct):
    """refused: why none of it is taken, "" where all of it is. texts are joined by newlines."""

    texts: list[str] = []
    images: list[ImageBlock] = []
    refused: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


def read_content(content: Any) -> Content:
    """Of a part of a message nothing is made up and nothing left out: with one that cannot be taken none is."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return Content(refused="the content of a message is a text or a list of blocks")
    found = Content()
    for number, block in enumerate(content, 1):
        if fault := _take(block, found):
            return Content(refused=f"block {number} of the message {fault}")
    if not found.images and not found.text.strip():
        return Content(refused=EMPTY)
    return found


def _take(block: Any, found: Content) -> str:
    """Why the block cannot be taken, or ""."""
    match block:
        case {"type": "text", "text": str(text)}:
            found.texts.append(text)
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            found.images.append(ImageBlock(kind, data))
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            found.texts.append(text)
        case {"type": "document", "source": {"type": "content", "content": str(text)}}:
            found.texts.append(text)
        case {"type": "document", "source": {"type": "content", "content": [*parts]}}:
            return next((fault for part in parts if (fault := _take(part, found))), "")
        case {"type": "image"}:
            return "is an image that is not given in base64: give the image itself, nothing is fetched for a message"
        case {"type": "document"}:
            return "is a document that is no text: give its text, or say where its file is, for tools to read it"
        case {"type": "text"}:
            return "has no text"
        case {"type": str(kind)}:
            return f"is of type {shorten(kind)}: leave it out, {TAKEN}"
        case _:
            return f"has no type: {TAKEN}"
    return ""
