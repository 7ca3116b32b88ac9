"""Pictures made fit for a model: checked from their header, decoded in a process of its own, resized where needed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.extras import installing
from remit.base.pictures import MAX_BYTES, MAX_EDGE, MAX_PIXELS, Header, check_plain, kind_of, read_header, refuse_cut
from remit.base.text import clip, scrub

INSTALL = installing("images")

MAX_SECONDS = 20.0
"""For one picture; one of MAX_PIXELS takes about a second."""

_POLL_SECONDS = 0.1
_MAX_MESSAGE_BYTES = 300
_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "picture_child.py")

Check = Callable[[], None]


class Fitted(msgspec.Struct, frozen=True):
    """A picture as it is sent. header: of the file. data: the bytes sent, of media_type and width x height pixels.
    done: what was done to it, in words; nothing: these are the bytes of the file."""

    header: Header
    data: bytes
    media_type: str
    width: int
    height: int
    done: tuple[str, ...] = ()


def _nothing() -> None:
    """The check of a picture that nobody calls off."""


def missing_pictures() -> str:
    """Why pictures cannot be decoded on this machine, or ""."""
    return "" if _pillow() else f"pictures cannot be decoded without Pillow: {INSTALL}"


def fit_picture(data: bytes, check: Check = _nothing) -> Fitted:
    """The picture as a model takes it: as it is where it is small enough, else smaller. check: asked now and then,
    and raises to stop it.

    Without Pillow it is sent as it is or not at all, and nobody knows whether it can be decoded. Raises
    Failure(unsupported_format, picture_invalid, picture_too_large, timeout, command_failed), without the name of
    the file."""
    header = read_header(data)
    place = _pillow()
    if place:
        refuse_cut(header, data)
        return _decoded(data, header, place, check)
    try:
        check_plain(data)
    except Failure as failure:
        if failure.code is not ErrorCode.PICTURE_TOO_LARGE:
            raise
        raise Failure(failure.code, f"{failure.message}; with Pillow it is made smaller: {INSTALL}") from None
    return Fitted(header, data, *header)


def _pillow() -> str:
    """The directory that holds Pillow, or ""."""
    spec = find_spec("PIL")
    places = spec.submodule_search_locations if spec is not None else None
    return os.path.dirname(places[0]) if places else ""


def _decoded(data: bytes, header: Header, pillow: str, check: Check) -> Fitted:
    bounds = map(str, (MAX_EDGE, MAX_BYTES, MAX_PIXELS))
    said = _ask([*_program(), pillow, header.media_type, *bounds], data, check)
    line, _, new = said.partition(b"\n")
    try:
        answer = msgspec.json.decode(line, type=_Answer)
    except msgspec.DecodeError:
        raise _broken(header, "it breaks the program that decodes it") from None
    if answer.error:
        raise _broken(header, clip(scrub(answer.error), _MAX_MESSAGE_BYTES)[0])
    return Fitted(header, new or data, answer.media_type, *answer.size, done=answer.done)


def _program() -> list[str]:
    """The command line of the child: remit itself, where that is one frozen program."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "__picture"]
    return [sys.executable, "-I", "-S", _CHILD]


class _Answer(msgspec.Struct):
    """What the child says. size: width and height."""

    error: str = ""
    media_type: str = ""
    size: tuple[int, int] = (0, 0)
    done: tuple[str, ...] = ()


def _broken(header: Header, why: str) -> Failure:
    what = f"the {kind_of(header.media_type)} of {header.width}x{header.height} pixels cannot be decoded: {why}"
    return Failure(ErrorCode.PICTURE_INVALID, what)


def _ask(argv: list[str], data: bytes, check: Check) -> bytes:
    """What the child says to the picture."""
    try:
        with _held(data) as file:
            child = subprocess.Popen(
                argv,
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
    except OSError as problem:
        what = f"the program that decodes pictures could not be started: {problem.strerror}"
        raise Failure(ErrorCode.COMMAND_FAILED, what) from None
    with child:
        try:
            return _heard(child, check)
        finally:
            child.kill()


def _held(data: bytes) -> IO[bytes]:
    """The picture as an open file: unlike a pipe, nobody has to wait until it is read."""
    if sys.platform.startswith("linux"):
        fd = os.memfd_create("picture")
    else:
        import tempfile

        fd, name = tempfile.mkstemp()
        os.unlink(name)
    file = os.fdopen(fd, "w+b")
    file.write(data)
    file.seek(0)
    return file


def _heard(child: subprocess.Popen[bytes], check: Check) -> bytes:
    deadline = time.monotonic() + MAX_SECONDS
    while True:
        check()
        try:
            return child.communicate(timeout=_POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                what = f"the picture could not be decoded within {MAX_SECONDS:g} s"
                raise Failure(ErrorCode.TIMEOUT, what) from None
