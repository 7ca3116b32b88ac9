"""Pictures that go with a prompt."""

from __future__ import annotations

from remit.base.errors import Fault, Faults
from remit.base.messages import ImageBlock
from remit.config.load import read_bytes

MAX_IMAGE_BYTES = 3 * 1024 * 1024
"""Every model API takes a picture of this size, also in base64."""

_SIGNATURES: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)
"""What a file of each kind begins with, from which byte on. The name of a file says nothing."""


def read_image(path: str) -> ImageBlock:
    """A PNG, JPEG, GIF or WebP file. Raises Faults."""
    import base64

    data = read_bytes(path, MAX_IMAGE_BYTES, pipes=True)
    media_type = media_type_of(data)
    if not media_type:
        raise Faults([Fault("this is no picture in PNG, JPEG, GIF or WebP", path, "convert it")])
    return ImageBlock(media_type, base64.b64encode(data).decode("ascii"))


def media_type_of(data: bytes) -> str:
    """The media type of a picture's bytes, or "" for what is none."""
    found = (kind for mark, at, kind in _SIGNATURES if data[at : at + len(mark)] == mark)
    return next((kind for kind in found if kind != "image/webp" or data[:4] == b"RIFF"), "")
