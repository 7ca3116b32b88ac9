"""Pictures that go with a prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from remit.base.errors import Failure, Fault, Faults
from remit.base.messages import ImageBlock
from remit.base.pictures import MAX_INPUT_BYTES, Header, check_plain
from remit.config.load import read_bytes


class Sent(Protocol):
    """A picture as it is sent."""

    @property
    def data(self) -> bytes: ...
    @property
    def media_type(self) -> str: ...


FitPicture = Callable[[bytes], Sent]
"""Makes a picture's bytes fit for a model. Raises Failure, without the name of the file."""


class _Plain:
    def __init__(self, data: bytes, header: Header) -> None:
        self.data = data
        self.media_type = header.media_type


def as_it_is(data: bytes) -> Sent:
    """A FitPicture that decodes nothing."""
    return _Plain(data, check_plain(data))


def read_image(path: str, fit: FitPicture) -> ImageBlock:
    """A PNG, JPEG, GIF or WebP file, as it is sent. Raises Faults."""
    import base64

    data = read_bytes(path, MAX_INPUT_BYTES, pipes=True)
    try:
        sent = fit(data)
    except Failure as failure:
        raise Faults([Fault(failure.message, path)]) from None
    return ImageBlock(sent.media_type, base64.b64encode(sent.data).decode("ascii"))
