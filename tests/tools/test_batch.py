from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.calls import Outcome, done, err
from remit.base.errors import ErrorCode, Failure
from remit.base.messages import ImageBlock
from remit.base.ports import World
from remit.base.records import CallSettled
from remit.tools.contract import Part
from remit.tools.execution.batch import MAX_CALLS, Batch, shares

NOWHERE = cast(World, None)
TOOL = Batch()


def parts(*entries: Any) -> list[tuple[str, Any, str]]:
    """(tool, parameters, problem) of each call that a batch is made of."""
    params = TOOL.parse(json.dumps({"tool_calls": entries}))
    assert TOOL.resources(params, NOWHERE) == []
    return [(each.tool, json.loads(each.arguments), each.problem) for each in TOOL.expand(params)]


@pytest.mark.parametrize(
    ("entry", "tool", "parameters"),
    [
        ({"tool": "file_read", "parameters": {"filePath": "a"}}, "file_read", {"filePath": "a"}),
        ({"tool": "file_read", "filePath": "a"}, "file_read", {"filePath": "a"}),
        ({"tool": "f", "a": 1, "parameters": {"b": [2]}}, "f", {"a": 1, "b": [2]}),
        ({"tool": "functions.f", "a": None}, "f", {"a": None}),
        ({"tool": "functions.functions.f"}, "functions.f", {}),
        ({"tool": "f", "parameters": {"tool": "x", "parameters": {}}}, "f", {"tool": "x", "parameters": {}}),
        ({"tool": ""}, "", {}),
    ],
)
def test_an_entry_names_its_parameters_flat_or_apart(entry: Any, tool: str, parameters: Any) -> None:
    assert parts(entry) == [(tool, parameters, "")]


def test_values_are_handed_on_as_they_are_spelled() -> None:
    params = TOOL.parse('{"tool_calls": [{"tool": "f", "n": 123456789012345678901234567890, "s": "\\ud83d\\ude00"}]}')
    assert TOOL.expand(params) == [Part("f", '{"n":123456789012345678901234567890,"s":"\\ud83d\\ude00"}')]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{}", "batch: Object missing required field `tool_calls`"),
        ('{"tool_calls": []}', "batch: `tool_calls`: expected a list of at least 1 item, seen []"),
        (
            '{"tool_calls": {"tool": "f"}}',
            "batch: `tool_calls`: expected a list of at least 1 item, seen {",
        ),
        ('{"tool_calls": ["f"]}', "batch: `tool_calls[0]`: expected an object, seen 'f'"),
        ('{"tool_calls": [{"tool": "f"}], "more": 1}', "batch: Object contains unknown field `more`"),
        ('{"tool_calls": [{"tool": "f"}, {"name": "f"}]}', "tool_calls, entry 2: it has no `tool`, only 'name'"),
        ('{"tool_calls": [{}]}', "tool_calls, entry 1: it has no `tool`, only nothing"),
        ('{"tool_calls": [{"tool": 7}]}', "tool_calls, entry 1: `tool` is no text, seen 7"),
        ('{"tool_calls": [{"tool": "f", "parameters": "{}"}]}', "entry 1: `parameters` is no object, seen '{}'"),
        ('{"tool_calls": [{"tool": "f", "parameters": null}]}', "entry 1: `parameters` is no object, seen null"),
        (
            '{"tool_calls": [{"tool": "f", "a": 1, "parameters": {"a": 1}}]}',
            "tool_calls, entry 1: 'a' stands both beside `parameters` and in it; give it once; nothing was called",
        ),
    ],
)
def test_what_is_no_list_of_calls_is_refused_as_a_whole(arguments: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        TOOL.resources(TOOL.parse(arguments), NOWHERE)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert message in caught.value.message


def test_a_nested_batch_is_an_error_of_that_entry_alone() -> None:
    found = parts({"tool": "f"}, {"tool": "functions.batch", "tool_calls": [{"tool": "f"}]}, {"tool": "g"})
    assert [(tool, bool(problem)) for tool, _, problem in found] == [("f", False), ("batch", True), ("g", False)]
    assert "no other batch" in found[1][2]


def test_entries_past_the_limit_are_errors_and_not_dropped() -> None:
    found = parts(*[{"tool": "f", "n": number} for number in range(MAX_CALLS + 2)])
    assert [bool(problem) for _, _, problem in found] == [False] * 25 + [True] * 2
    assert "at most 25 calls" in found[-1][2]


def result(tool: str, content: str, outcome: Outcome | None = None) -> CallSettled:
    return CallSettled("t1.c1.b1", f"id-{tool}", tool, outcome or done({}), content)


def joined(results: list[CallSettled], max_bytes: int = 51_200) -> Outcome:
    return TOOL.join(None, results, max_bytes)  # type: ignore[arg-type]


def test_the_result_has_a_section_for_each_call_in_order() -> None:
    failed = err(ErrorCode.NOT_FOUND, "b: there is no such file")
    outcome = joined([result("f", "one\n"), result("g", failed.for_model(), failed), result("f", "three")])
    assert outcome.text == (
        '## f\none\n\n## g (error)\n{"ok":false,"error":{"code":"not_found","message":"b: there is no such file"}}'
        "\n\n## f\nthree"
    )
    assert outcome.ok and outcome.data == {
        "calls": [
            {"id": "id-f", "tool": "f", "ok": True},
            {"id": "id-g", "tool": "g", "ok": False},
            {"id": "id-f", "tool": "f", "ok": True},
        ],
        "failed": 1,
    }


def test_pictures_of_the_calls_are_seen() -> None:
    pictures = [ImageBlock("image/png", letter) for letter in "abc"]
    results = [
        result("view_image", "a.png", done({}, images=(pictures[0],))),
        result("f", "one"),
        result("view_image", "b.png", done({}, images=(pictures[1], pictures[2]))),
    ]
    assert list(joined(results).images) == pictures


def test_long_results_share_what_short_ones_leave() -> None:
    outcome = joined([result("f", "x" * 40_000), result("g", "short"), result("h", "y" * 5_000)])
    assert outcome.text.count("x") == 40_000 and outcome.text.count("y") == 5_000

    outcome = joined([result("f", "x" * 40_000), result("g", "short"), result("h", "\u20ac" * 20_000)])
    assert len(outcome.text.encode()) <= 51_200
    assert "\n\n## g\nshort\n\n## h\n" in outcome.text
    assert 25_000 < outcome.text.count("x") < 25_600 and 8_000 < outcome.text.count("\u20ac") < 8_534
    assert outcome.text.count("bytes left out") == 2


def test_a_result_fits_exactly_or_is_cut() -> None:
    room = 1_000 - len("## f\n") - 2
    assert joined([result("f", "x" * room)], 1_000).text == "## f\n" + "x" * room
    cut = joined([result("f", "x" * (room + 1))], 1_000).text
    assert "bytes left out" in cut and len(cut) <= 1_000


@given(st.lists(st.integers(0, 5_000), max_size=30), st.integers(0, 50_000))
def test_shares_are_within_the_room_and_waste_none(sizes: list[int], room: int) -> None:
    given_ = shares(sizes, room)
    assert all(0 <= share <= size for share, size in zip(given_, sizes, strict=True))
    assert sum(given_) <= room
    if sum(sizes) <= room:
        assert given_ == sizes
    else:
        assert room - sum(given_) < len(sizes)
        least = min((share for share, size in zip(given_, sizes, strict=True) if share < size), default=0)
        assert all(share <= least + 1 for share in given_)
