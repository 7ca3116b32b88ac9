"""Recorded streams of every wire, whole and in pieces, against the parts they hold.

`recordings/PROTOCOL/NAME.sse` is the body of an answer as it came over the wire, `NAME.json` its parts. After a
change that is meant: `REMIT_TEST_UPDATE=1 pytest tests/wire/test_recordings.py`, and look at the difference.
"""

from __future__ import annotations

import json
import os
import random
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remit.base.errors import ProviderFault
from remit.base.messages import Delta, Part, StopPart
from remit.providers.catalog import PROTOCOLS
from remit.providers.failures import AttemptFailed
from remit.providers.sse import SseReader

FOLDER = Path(__file__).with_name("recordings")
RECORDINGS = sorted(FOLDER.glob("*/*.sse"))
WIRES = sorted({path.parent.name for path in RECORDINGS})
every_recording = pytest.mark.parametrize(
    "recording", RECORDINGS, ids=[f"{path.parent.name}/{path.stem}" for path in RECORDINGS]
)


def decoded(recording: Path, chunks: list[bytes]) -> tuple[list[Part], str]:
    """The parts of a stream that comes in these pieces, and how it failed, or ""."""
    module = import_module(f"remit.providers.{PROTOCOLS[recording.parent.name]}")  # type: ignore[index]
    reader, decoder, parts = SseReader(), module.new_decoder(1, ()), []
    try:
        for chunk in chunks:
            for event in reader.feed(chunk):
                if not decoder.finished:
                    parts += decoder.feed(event)
        parts += decoder.end()
    except (AttemptFailed, ProviderFault) as failed:
        return parts, f"{failed.kind}: {failed}"
    return parts, ""


def shown(parts: list[Part], failure: str) -> Any:
    """As the golden files have it: live deltas of one block joined, all else as it is."""
    rows: list[Any] = []
    for part in parts:
        row = msgspec.to_builtins(part)
        last = rows[-1] if rows else {}
        if isinstance(part, Delta) and last.get("type") == "delta" and last["index"] == part.index:
            last["text"] += part.text
        else:
            rows.append(row)
    return rows + ([{"failure": failure}] if failure else [])


@every_recording
def test_a_recording_holds_its_parts(recording: Path) -> None:
    seen = shown(*decoded(recording, [recording.read_bytes()]))
    golden = recording.with_suffix(".json")
    if os.environ.get("REMIT_TEST_UPDATE"):
        golden.write_text(json.dumps(seen, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert seen == json.loads(golden.read_text(encoding="utf-8"))


@every_recording
def test_the_pieces_it_comes_in_change_nothing(recording: Path) -> None:
    body = recording.read_bytes()
    whole = decoded(recording, [body])
    assert decoded(recording, [bytes([byte]) for byte in body]) == whole
    chance = random.Random(recording.name)
    for _ in range(5):
        cuts = sorted({0, len(body), *(chance.randrange(len(body)) for _ in range(20))})
        assert decoded(recording, [body[a:b] for a, b in pairwise(cuts)]) == whole


@every_recording
def test_other_line_ends_and_comments_change_nothing(recording: Path) -> None:
    body = recording.read_bytes().replace(b"\r\n", b"\n")
    whole = decoded(recording, [body])
    assert decoded(recording, [body.replace(b"\n", b"\r\n")]) == whole
    commented = body.replace(b"\n\n", b"\n\n: keep-alive\n\nretry: 3000\n\n")
    assert decoded(recording, [b": hello\n\n" + commented]) == whole


@every_recording
def test_a_cut_anywhere_is_told_and_gives_only_what_was_whole(recording: Path) -> None:
    body = recording.read_bytes()
    whole, failure = decoded(recording, [body])
    if failure:
        return
    given = [part for part in whole if not isinstance(part, Delta)]
    for end in range(0, len(body), max(1, len(body) // 97)):
        parts, failed = decoded(recording, [body[:end]])
        kept = [part for part in parts if not isinstance(part, Delta)]
        if failed:
            assert failed.startswith("network: "), failed
            assert not any(isinstance(part, StopPart) for part in kept)
            assert kept == given[: len(kept)]
        else:
            # Only what carries no part of the answer may be missing from one that counts as complete.
            assert [part for part in kept if part.__class__.__name__ == "BlockPart"] == [
                part for part in given if part.__class__.__name__ == "BlockPart"
            ]


def test_every_wire_has_recordings() -> None:
    assert {"anthropic", "google", "openai", "openai-responses"} <= set(WIRES)
