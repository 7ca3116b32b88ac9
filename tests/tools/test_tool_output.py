from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.context import Context
from remit.base.calls import Outcome, err
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import World
from remit.base.resources import Effect, Resource
from remit.store.outputs import OutputStore
from remit.tools.files.tool_output import PAGE_BYTES, ToolOutput

NOWHERE = cast(World, None)
TOOL = ToolOutput()
ID = "output-seq"
LINES = "".join(f"line {number}\n" for number in range(1, 501))
MORE = re.compile(r"\n\[more: tool_output (\{.*\})\]\n\Z")


class Kept:
    """The state of a run that keeps one output of a real store."""

    def __init__(self, place: Path, text: str, result_bytes: int = 1 << 30) -> None:
        self.store = OutputStore(str(place))
        self.store.retain("t1.c1", "seq", text, cut=True, sync=False)
        self.result_bytes = result_bytes

    def output(self, handle: str) -> str:
        return self.store.read(handle)


class Text:
    """The same without a file."""

    def __init__(self, text: str, result_bytes: int) -> None:
        self._text = text
        self.result_bytes = result_bytes

    def output(self, handle: str) -> str:
        return self._text


def call(state: Any, **arguments: Any) -> Outcome:
    try:
        params = TOOL.parse(json.dumps({"output_id": ID, **arguments}))
        return asyncio.run(TOOL.run(params, Context(state=state)))
    except Failure as failure:
        return err(failure.code, failure.message)


def refusal(state: Any, **arguments: Any) -> tuple[ErrorCode, str]:
    outcome = call(state, **arguments)
    assert outcome.error is not None
    return outcome.error.code, outcome.error.message


def parts(outcome: Outcome) -> tuple[str, str, dict[str, Any] | None]:
    """The first line, what stands below, and the call that goes on."""
    found = MORE.search(outcome.text)
    body = outcome.text[: found.start()] if found else outcome.text
    first, blank, rest = body.split("\n", 2)
    assert blank == ""
    return first, rest, json.loads(found[1]) if found else None


# -- reading -----------------------------------------------------------------------------------


def test_a_page_says_where_it_is_and_how_to_go_on(tmp_path: Path) -> None:
    outcome = call(Kept(tmp_path, LINES))
    first, body, more = parts(outcome)
    assert first == f"[{ID}: lines 1-200 of 500, about 423 tokens; {len(LINES)} bytes are kept]"
    assert body == "".join(f"line {number}\n" for number in range(1, 201))
    assert more == {"output_id": ID, "offset": 201}
    assert outcome.data == {
        "output_id": ID,
        "line_start": 1,
        "line_end": 200,
        "total_lines": 500,
        "shown_bytes": len(body),
        "total_bytes": len(LINES),
        "next": more,
    }


def test_the_last_page_has_nothing_to_go_on_to(tmp_path: Path) -> None:
    outcome = call(Kept(tmp_path, LINES), offset=401, limit=100)
    first, body, more = parts(outcome)
    assert first.startswith(f"[{ID}: lines 401-500 of 500, ") and more is None
    assert body.splitlines()[0] == "line 401" and body.endswith("line 500\n")
    assert "next" not in outcome.data


@pytest.mark.parametrize(("limit", "shown"), [(1, 1), (2000, 2000), (2001, 2000), (10**9, 2000)])
def test_a_page_has_two_thousand_lines_at_most(tmp_path: Path, limit: int, shown: int) -> None:
    outcome = call(Kept(tmp_path, "x\n" * 3000), limit=limit)
    _, body, more = parts(outcome)
    assert body == "x\n" * shown
    assert more == {"output_id": ID, "offset": shown + 1, "limit": limit}
    assert outcome.text.count("\n") <= TOOL.bounds.output_lines


def test_a_page_has_fifty_kib_at_most(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "x" * 999 + "\n" + ("é" * 499 + "\n") * 999)
    outcome = call(kept, limit=2000)
    assert PAGE_BYTES - 2000 < len(outcome.text.encode()) <= PAGE_BYTES
    assert outcome.data["line_end"] == outcome.data["next"]["offset"] - 1 == 50


def test_what_the_window_has_room_for_bounds_a_page(tmp_path: Path) -> None:
    outcome = call(Kept(tmp_path, LINES, result_bytes=1500))
    assert 1000 < len(outcome.text.encode()) <= 1500 and outcome.data["next"]["offset"] > 90


def test_a_long_line_comes_in_pieces(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "first\n" + "é" * 40_000 + "\nlast\n")
    assert parts(call(kept))[1:] == ("first\n", {"output_id": ID, "offset": 2})
    _, one, more = parts(call(kept, offset=2))
    assert more is not None and more["offset"] == 2 and more["byte_offset"] == 2 * len(one.strip())
    outcome = call(kept, **{key: value for key, value in more.items() if key != "output_id"})
    _, two, more = parts(outcome)
    assert one[:-1] + two == "é" * 40_000 + "\nlast\n" and more is None
    assert (outcome.data["line_start"], outcome.data["line_end"]) == (2, 3)


def test_a_byte_in_a_character_is_that_character(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "a👍b\n")
    assert [parts(call(kept, byte_offset=at))[1] for at in range(7)] == ["a👍b\n", *["👍b\n"] * 4, "b\n", "\n"]
    assert refusal(kept, byte_offset=7) == (ErrorCode.OFFSET_PAST_END, "byte_offset 7: line 1 has 6 bytes")


LINE = st.one_of(st.text(max_size=30), st.integers(0, 2500).map(lambda size: "ü👍x" * size))


@given(st.lists(LINE, min_size=1, max_size=12).map("\n".join), st.integers(900, 5000), st.sampled_from([None, 1, 3]))
def test_the_pages_are_the_output(text: str, result_bytes: int, limit: int | None) -> None:
    state = Text(text, result_bytes)
    more: dict[str, Any] | None = {} if limit is None else {"limit": limit}
    pages: list[str] = []
    while more is not None:
        outcome = call(state, **more)
        _, body, more = parts(outcome)
        assert len(outcome.text.encode()) <= max(result_bytes, 1000)
        assert body.endswith("\n") or not body
        pages.append(body[:-1] if more and "byte_offset" in more else body)
        assert len(pages) < 500
    assert "".join(pages) == (text if text.endswith("\n") or not text else f"{text}\n")


# -- searching ---------------------------------------------------------------------------------


def test_matches_and_their_context(tmp_path: Path) -> None:
    outcome = call(Kept(tmp_path, LINES), pattern=r"line (7|9)$", context_before=1, context_after=2)
    first, body, more = parts(outcome)
    assert first == f"[{ID}: 2 of 2 matching lines; 500 lines are kept]"
    assert body.splitlines() == [
        "6- line 6",
        "7: line 7",
        "8- line 8",
        "9: line 9",
        "10- line 10",
        "11- line 11",
    ]
    assert more is None
    facts = {"output_id": ID, "shown": 2, "matches": 2, "total_lines": 500, "total_bytes": len(LINES)}
    assert outcome.data == facts


def test_nothing_found_is_no_error(tmp_path: Path) -> None:
    kept = Kept(tmp_path, LINES)
    assert call(kept, pattern="lamp").text == "No matches."
    assert call(kept, pattern="line 3$", offset=4).text == "No matches from line 4 on."
    assert call(kept, pattern="line 3$", offset=3).data["matches"] == 1


@pytest.mark.parametrize(
    ("limit", "shown"), [({}, 100), ({"limit": 7}, 7), ({"limit": 200}, 200), ({"limit": 201}, 200)]
)
def test_the_search_goes_on_where_it_stopped(tmp_path: Path, limit: dict[str, int], shown: int) -> None:
    kept = Kept(tmp_path, LINES)
    outcome = call(kept, pattern="line", **limit)
    _, body, more = parts(outcome)
    assert body.count("\n") == shown and outcome.data["matches"] == 500
    assert more == {"output_id": ID, "pattern": "line", "offset": shown + 1, **limit}
    _, body, _ = parts(call(kept, **{key: value for key, value in more.items() if key != "output_id"}))
    assert body.startswith(f"{shown + 1}: line {shown + 1}\n")


@pytest.mark.parametrize(("wanted", "given_"), [(5, 5), (6, 5), (99, 5)])
def test_context_has_five_lines_at_most(tmp_path: Path, wanted: int, given_: int) -> None:
    _, body, _ = parts(call(Kept(tmp_path, LINES), pattern="line 50$", context_before=wanted, context_after=wanted))
    assert len(body.splitlines()) == 2 * given_ + 1


def test_context_ends_with_the_output(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "a\nb\n")
    assert parts(call(kept, pattern="[ab]", context_before=5, context_after=5))[1] == "1: a\n2: b\n"


def test_long_lines_are_cut_in_whole_characters(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "x" * 2000 + "\n" + "x" * 2001 + "\n" + "e\u0301" * 2000 + "\n")
    rows = parts(call(kept, pattern="."))[1].splitlines()
    assert rows[0] == f"1: {'x' * 2000}"
    assert rows[1] == f"2: {'x' * 2000}... [line cut: it has 2001 bytes]"
    accented = "e\u0301" * 1000
    assert rows[2] == f"3: {accented}... [line cut: it has 6000 bytes]"


def test_the_rows_have_fifty_kib_at_most(tmp_path: Path) -> None:
    kept = Kept(tmp_path, ("👍" * 2500 + "\n") * 50)
    for offset, rows in ((1, 6), (6, 1)):  # The context of the sixth line alone would be too much.
        outcome = call(kept, pattern="👍", offset=offset, context_before=5, context_after=5)
        assert len(outcome.text.encode()) <= PAGE_BYTES
        _, body, more = parts(outcome)
        assert body.count("\n") == rows
        assert more == {
            "output_id": ID,
            "pattern": "👍",
            "offset": offset + 1,
            "context_before": 5,
            "context_after": 5,
        }


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?=a)", "holds a look-around"),
        (r"(a)\1", "holds a backreference"),
        ("[a", "is not closed"),
        ("a{1001}", "repeats more than"),
        ("(", "is no valid expression"),
    ],
)
def test_an_invalid_pattern_is_an_error(tmp_path: Path, pattern: str, words: str) -> None:
    code, message = refusal(Kept(tmp_path, LINES), pattern=pattern)
    assert code is ErrorCode.INVALID_ARGUMENTS and words in message


def test_a_search_takes_linear_time(tmp_path: Path) -> None:
    assert call(Kept(tmp_path, "a" * 100_000 + "!\n"), pattern="(a+)+$").text == "No matches."


def test_a_search_is_cancelled(tmp_path: Path) -> None:
    context = Context(state=cast(Any, Kept(tmp_path, LINES)))
    context.cancel()
    with pytest.raises(Failure) as caught:
        asyncio.run(TOOL.run(TOOL.parse(json.dumps({"output_id": ID, "pattern": "line"})), context))
    assert caught.value.code is ErrorCode.CANCELLED


# -- what makes no sense -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"offset": 0},
        {"offset": -1},
        {"limit": 0},
        {"byte_offset": -1},
        {"context_before": -1, "pattern": "x"},
        {"pattern": ""},
        {"output_id": ""},
        {"output_id": None},
        {"page": 1},
        {"pattern": "x", "byte_offset": 1},
        {"context_before": 1},
        {"context_after": 1},
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    code, message = refusal(Kept(tmp_path, LINES), **arguments)
    assert code is ErrorCode.INVALID_ARGUMENTS
    assert any(name in message for name in [*arguments, "parameters"])


def test_behind_the_end_there_is_nothing(tmp_path: Path) -> None:
    kept = Kept(tmp_path, LINES)
    assert call(kept, offset=500).ok
    said = (ErrorCode.OFFSET_PAST_END, f"offset 501 is behind the end: {ID} has 500 lines")
    assert refusal(kept, offset=501) == refusal(kept, offset=501, pattern="x") == said


def test_an_unknown_handle_is_answered_with_those_there_are(tmp_path: Path) -> None:
    code, message = refusal(Kept(tmp_path, LINES), output_id="output-of-another-run")
    assert code is ErrorCode.NOT_FOUND and message.endswith(f"are: {ID} (500 lines)")


def test_it_touches_only_what_the_run_keeps() -> None:
    params = TOOL.parse(json.dumps({"output_id": ID}))
    assert TOOL.resources(params, NOWHERE) == [Resource("state", "outputs", Effect.STATE)]
    assert (TOOL.effects, TOOL.harness, TOOL.repeatable, TOOL.retained) == ({Effect.STATE}, True, True, False)
    assert TOOL.schema()["required"] == ["output_id"]
