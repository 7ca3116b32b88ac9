from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from fakes.context import call
from fakes.pictures import FORMATS, animation, opened, picture
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.tools.files.view_image import ViewImage
from remit.workspace.root import Root


def seen(root: Root, path: str, **grants: Any) -> Outcome:
    return call(ViewImage(), {"path": path}, root, **grants)


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


@pytest.mark.parametrize("format", FORMATS)
def test_a_picture_is_seen_whatever_its_name(workspace: Path, root: Root, format: str) -> None:
    content = picture(format)
    (workspace / "chart.txt").write_bytes(content)
    outcome = seen(root, "chart.txt")
    (image,) = outcome.images
    assert (image.media_type, base64.b64decode(image.data)) == (f"image/{format.lower()}", content)
    kind = {"WEBP": "WebP"}.get(format, format)
    assert outcome.for_model() == f"chart.txt: {kind}, {len(content)} bytes, 40x30\n"
    assert "images" not in outcome.envelope() and "data" not in outcome.data


def test_what_was_done_to_a_picture_is_told(workspace: Path, root: Root) -> None:
    (workspace / "big.png").write_bytes(picture("PNG", (3000, 1500)))
    outcome = seen(root, "big.png")
    text = outcome.for_model()
    assert "3000x1500 [shown as PNG of 1568x784: made smaller from 3000x1500]" in text
    assert outcome.data["shown"] == {
        "size": len(base64.b64decode(outcome.images[0].data)),
        "mediaType": "image/png",
        "width": 1568,
        "height": 784,
        "changes": ["made smaller from 3000x1500"],
    }
    assert opened(base64.b64decode(outcome.images[0].data)).size == (1568, 784)


def test_an_animation_says_so(workspace: Path, root: Root) -> None:
    (workspace / "a.gif").write_bytes(animation("GIF"))
    assert "[shown as PNG of 40x30: the first frame of an animation]" in seen(root, "a.gif").for_model()


@pytest.mark.parametrize("word", ["path", "file_path"])
def test_both_words_for_the_path_are_understood(workspace: Path, root: Root, word: str) -> None:
    (workspace / "a.png").write_bytes(picture())
    assert call(ViewImage(), {word: "a.png"}, root).ok
    assert call(ViewImage(), {word: str(workspace / "a.png")}, root).ok


@pytest.mark.parametrize(
    "arguments",
    [{}, {"path": "a.png", "file_path": "a.png"}, {"path": 1}, {"path": "a.png", "size": 1}, {"path": None}],
)
def test_other_arguments_are_refused(workspace: Path, root: Root, arguments: dict[str, Any]) -> None:
    assert code(call(ViewImage(), arguments, root)) is ErrorCode.INVALID_ARGUMENTS


def test_the_model_is_told_of_one_word() -> None:
    schema = ViewImage().schema()
    assert (list(schema["properties"]), schema["required"]) == (["path"], ["path"])
    assert schema["properties"]["path"]["type"] == "string"


@pytest.mark.parametrize(
    ("content", "expected", "words"),
    [
        (b"hello", ErrorCode.UNSUPPORTED_FORMAT, "PNG, JPEG, GIF or WebP"),
        (b"", ErrorCode.UNSUPPORTED_FORMAT, "no picture"),
        (picture("PNG", (300, 300))[:-200], ErrorCode.PICTURE_INVALID, "300x300"),
        (picture("PNG")[:-12], ErrorCode.PICTURE_INVALID, "stops before its end"),
        (picture("PNG", (300, 300))[:24] + bytes(9) + b"IEND", ErrorCode.PICTURE_INVALID, "a.png"),
        (picture("JPEG", (300, 300))[:-200], ErrorCode.PICTURE_INVALID, "stops before its end"),
    ],
    ids=["text", "empty", "png", "no end", "headless", "jpeg"],
)
def test_what_cannot_be_seen_is_an_error(
    workspace: Path, root: Root, content: bytes, expected: ErrorCode, words: str
) -> None:
    (workspace / "a.png").write_bytes(content)
    outcome = seen(root, "a.png")
    assert code(outcome) is expected and outcome.error and "a.png" in outcome.error.message
    assert "BytesIO" not in outcome.error.message
    assert words in outcome.error.message and not outcome.images


@pytest.mark.parametrize(("path", "expected"), [("gone.png", ErrorCode.NOT_FOUND), (".", ErrorCode.NOT_A_FILE)])
def test_what_is_no_file_is_an_error(root: Root, path: str, expected: ErrorCode) -> None:
    assert code(seen(root, path)) is expected


@pytest.mark.parametrize(
    ("size", "expected"), [(50 << 20, ErrorCode.UNSUPPORTED_FORMAT), ((50 << 20) + 1, ErrorCode.FILE_TOO_LARGE)]
)
def test_files_have_a_largest_size(workspace: Path, root: Root, size: int, expected: ErrorCode) -> None:
    with (workspace / "a.png").open("wb") as file:
        file.truncate(size)
    assert code(seen(root, "a.png")) is expected


def test_a_link_out_of_the_workspace_is_refused(workspace: Path, root: Root, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    (workspace / "a.png").symlink_to(tmp_path / "secret.png")
    assert code(seen(root, "a.png")) is ErrorCode.PATH_REFUSED
