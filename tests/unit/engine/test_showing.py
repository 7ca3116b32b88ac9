from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from fakes.engine import Desk
from remit.base.calls import Call, Outcome, done, err
from remit.base.errors import ErrorCode
from remit.base.limits import Bounds
from remit.base.redact import REDACTED, KeyGuard
from remit.engine.showing import NO_TOOL, PART_BYTES, Clip, Shown
from remit.store.outputs import OutputStore
from remit.tools.contract import Tool

CALL = Call("t1.c1", "c", "thing", "{}")
PLENTY = 1 << 30


class Thing(Tool):
    """A tool with bounds of its own."""

    name = "thing"
    bounds: ClassVar[Bounds] = Bounds(output_bytes=1000, output_lines=50)


class Reader(Thing):
    retained = False


def show(
    place: Path, outcome: Outcome, tool: Tool | None = None, *, max_bytes: int = PLENTY, keeps: bool = True
) -> Shown:
    clip = Clip(OutputStore(str(place)) if keeps else None, lambda text: text)
    return clip.show(CALL, tool or Thing(), "program", outcome, max_bytes, sync=False)


@pytest.mark.parametrize(("size", "cut"), [(1000, False), (1001, True)])
def test_a_tool_has_its_own_bound_of_bytes(tmp_path: Path, size: int, cut: bool) -> None:
    shown = show(tmp_path, done({"n": size}, "x" * size))
    assert (shown.output is not None) is cut and len(shown.content) <= 1000
    assert (shown.content == "x" * size) is not cut


@pytest.mark.parametrize(("lines", "cut"), [(50, False), (51, True)])
def test_a_tool_has_its_own_bound_of_lines(tmp_path: Path, lines: int, cut: bool) -> None:
    shown = show(tmp_path, done({}, "x\n" * lines))
    assert (shown.output is not None) is cut and shown.content.count("\n") <= 50


def test_the_rest_is_kept_and_the_handle_named(tmp_path: Path) -> None:
    text = "".join(f"{number}\n" for number in range(1000))
    shown = show(tmp_path, done({"n": 1}, text))
    assert shown.output is not None and shown.output.handle == "output-program"
    assert 'tool_output {"output_id": "output-program", "offset": ' in shown.content
    assert (tmp_path / "outputs" / "output-program.txt").read_text() == text
    # It is not written down twice.
    assert shown.outcome == done({"n": 1})


def test_the_share_of_a_turn_cuts_too(tmp_path: Path) -> None:
    shown = show(tmp_path, done({}, "x" * 900), max_bytes=800)
    assert shown.output is not None and len(shown.content) <= 800 and "output-program" in shown.content


def test_a_long_result_is_kept_when_it_is_shown_whole(tmp_path: Path) -> None:
    class Long(Thing):
        bounds = Bounds()

    shown = show(tmp_path, done({}, "x" * 9000), Long())
    assert shown.content == "x" * 9000 and shown.output is not None and shown.output.bytes == 9000


def test_an_envelope_is_kept_only_when_it_is_cut(tmp_path: Path) -> None:
    class Long(Thing):
        bounds = Bounds()

    assert show(tmp_path, done("x" * 9000), Long()).output is None
    assert show(tmp_path, err(ErrorCode.DENIED, "x" * 9000), Long()).output is None
    shown = show(tmp_path, done("x" * 9000))
    assert shown.output is not None and shown.outcome == done("x" * 9000)


@pytest.mark.parametrize("keeps", [True, False])
def test_without_a_handle_what_is_left_out_is_told_all_the_same(tmp_path: Path, keeps: bool) -> None:
    shown = show(tmp_path, done({}, "x\n" * 900), Reader() if keeps else Thing(), keeps=keeps)
    assert shown.output is None and ", left out here ...]" in shown.content
    assert not (tmp_path / "outputs").exists()


def test_what_calls_a_tool_that_is_none_is_short(tmp_path: Path) -> None:
    clip = Clip(OutputStore(str(tmp_path)), lambda text: text)
    shown = clip.show(CALL, None, "none", err(ErrorCode.UNKNOWN_TOOL, "x" * 9000), PLENTY, sync=False)
    assert len(shown.content) <= NO_TOOL.output_bytes


def test_keys_are_taken_out_before_anything_is_cut_or_kept(tmp_path: Path) -> None:
    key = "sk-0123456789abcdef"
    desk = Desk()
    assert desk.recorder.cleaned(key) == key
    guard = KeyGuard([key])
    clip = Clip(OutputStore(str(tmp_path)), guard.data)
    # The cuts at both ends of the gap would leave halves of the key.
    shown = clip.show(CALL, Thing(), "program", done({}, key * 200), PLENTY, sync=False)
    kept = (tmp_path / "outputs" / "output-program.txt").read_text()
    assert kept == REDACTED * 200
    assert not any(key[:8] in text for text in (shown.content, kept))


def test_lone_surrogates_are_no_text(tmp_path: Path) -> None:
    shown = show(tmp_path, done({}, "\ud800" * 600))
    assert shown.output is not None and msgspec.json.encode(shown.content)
    assert (tmp_path / "outputs" / "output-program.txt").read_text() == "\ufffd" * 600


@pytest.mark.parametrize(("size", "is_kept"), [(PART_BYTES, False), (PART_BYTES + 1, True)])
@pytest.mark.parametrize("outcome", [done, lambda text: done({}, text)])
def test_parts_that_the_whole_may_cut_are_kept(
    tmp_path: Path, size: int, is_kept: bool, outcome: Callable[[str], Outcome]
) -> None:
    class Long(Thing):
        bounds = Bounds()

    part = Call("t1.c1.b1", "c.b1", "thing", "{}", parent="c")
    made = outcome("x" * 10)
    made = outcome("x" * (10 + size - len(made.for_model())))
    clip = Clip(OutputStore(str(tmp_path)), lambda text: text)
    shown = clip.show(part, Long(), "program", made, PLENTY, sync=False)
    assert len(shown.content) == size and (shown.output is not None) is is_kept
