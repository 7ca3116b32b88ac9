from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.outline import (
    MAX_FIELDS,
    MAX_LINE_BYTES,
    Item,
    Outline,
    OutlineLine,
    Section,
    outline_of,
    shown,
)


def outlined(text: str, name: str = "a.txt") -> list[str]:
    return [line.text for line in shown(outline_of(name, dedent(text).strip("\n"))).lines]


PLAIN = [
    ("one\ntwo\n\nthree", ["lines [1-4]", "  one [1-2]", "  three [4]"]),
    ("import a\nimport b\n\n\ndef f():\n    x\n\n    y\n\nz = 1", [
        "lines [1-10]", "  import a [1-2]", "  def f(): [5-8]", "  z = 1 [10]",
    ]),
    ("import a\ndef f():\n    x", ["lines [1-3]", "  import a [1]", "  def f(): [2-3]"]),
    ("a: 1\nb:\n  c: 2\nd: 3\ne: 4", ["lines [1-5]", "  a: 1 [1]", "  b: [2-3]", "  d: 3 [4-5]"]),
    ("# why\n@decorated\ndef f():\n    x\ny", ["lines [1-5]", "  def f(): [1-4]", "  y [5]"]),
    ("x\n# why\ndef f():\n    x", ["lines [1-4]", "  x [1]", "  def f(): [2-4]"]),
    ("f() {\n  x\n} else {\n  y\n}\ng() {\n  z\n}", ["lines [1-8]", "  f() { [1-5]", "  g() { [6-8]"]),
    ("def f\n  x\nend\ndef g\n  y\nend", ["lines [1-6]", "  def f [1-3]", "  def g [4-6]"]),
    ("ending\n  x\nendless\n  y", ["lines [1-4]", "  ending [1-2]", "  endless [3-4]"]),
    ('{\n  "a": 1,\n  "b": {\n    "c": 2\n  },\n  "d": 3\n}', [
        "{ [1-7]", '  "a": 1, [2]', '  "b": { [3-5]', '  "d": 3 [6]',
    ]),
    ("    indented\n    more", ["lines [1-2]", "  indented [1-2]"]),
    ("\tx\n\t\ty\n\tz", ["lines [1-3]", "  x [1-2]", "  z [3]"]),
    ("only", ["lines [1]", "  only [1]"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PLAIN, ids=range(len(PLAIN)))
def test_any_text_has_an_outline_by_its_margin(text: str, expected: list[str]) -> None:
    assert [line.text for line in shown(outline_of("a.txt", text)).lines] == expected


@pytest.mark.parametrize("text", ["", "\n\n", "  \n\t\n"])
def test_a_blank_text_has_none(text: str) -> None:
    assert outline_of("a.txt", text) == Outline(())


def test_headings_of_markdown_reach_to_the_next_one_that_is_not_below() -> None:
    text = """
        # One
        text
        ## Two
        ```sh
        # no heading
        ```
        ### Three
        Under
        =====
        #no heading
            # code
        ~~~~
        # no
        ~~~
        # no
        ~~~~
        ## Last
        """
    assert outlined(text, "README.MD") == [
        "headings [1-17]",
        "  # One [1-7]",
        "  ## Two [3-7]",
        "  ### Three [7]",
        "  # Under [8-17]",
        "  ## Last [17]",
    ]


def test_markdown_without_headings_is_text() -> None:
    assert outlined("a\n\nb", "a.md") == ["lines [1-3]", "  a [1]", "  b [3]"]


def test_fields_beyond_eight_are_counted() -> None:
    fields = tuple(Item(f"f{number}", (number, number)) for number in range(1, MAX_FIELDS + 3))
    outline = Outline((Section("types", (1, 12), (Item("struct S", (1, 12), fields),)),), about="What it is for.")
    lines = shown(outline).lines
    assert lines[:4] == [
        OutlineLine(1, "What it is for.", "plain"),
        OutlineLine(2, "types [1-12]", "section", (1, 12)),
        OutlineLine(3, "  struct S [1-12]", "item", (1, 12)),
        OutlineLine(4, "    f1 [1]", "item", (1, 1)),
    ]
    assert lines[-1] == OutlineLine(3 + MAX_FIELDS + 1, "    2 more truncated", "dimmed")


@pytest.mark.parametrize("size", [MAX_LINE_BYTES - 6, MAX_LINE_BYTES - 5, 10_000])
def test_a_long_line_is_cut_and_keeps_its_range(size: int) -> None:
    [_, line] = outlined("x" * size)
    assert len(line) == min(MAX_LINE_BYTES, size + 6) and line.endswith(" [1]")


def test_the_room_decides_how_much_is_shown() -> None:
    outline = outline_of("a.txt", "one\n\ntwo")
    whole = shown(outline)
    size = sum(len(line.text) + 1 for line in whole.lines)
    assert shown(outline, size) == whole and not whole.truncated
    cut = shown(outline, size - 1)
    assert cut.truncated and cut.lines == whole.lines[:-1]


TEXTS = st.lists(st.sampled_from(["", "a", "  b", "\tc", "# d", "}", "    e", "```", "def f():", "==="])).map("\n".join)


@given(TEXTS, st.sampled_from(["a.txt", "a.md"]))
def test_ranges_lie_in_the_file_and_items_of_any_text_do_not_overlap(text: str, name: str) -> None:
    number = len(text.split("\n"))
    for section in outline_of(name, text).sections:
        ends = [0]
        for item in section.items:
            assert 1 <= item.range[0] <= item.range[1] <= number
            assert name == "a.md" or item.range[0] > ends[-1]
            ends.append(item.range[1])


@given(TEXTS)
def test_no_line_at_the_margin_is_lost(text: str) -> None:
    lines = text.split("\n")
    [*sections] = outline_of("a.txt", text).sections
    covered = {number for each in sections for item in each.items for number in range(item.range[0], item.range[1] + 1)}
    if sections and sections[0].title == "lines":
        assert covered >= {number for number, line in enumerate(lines, 1) if line.strip()}
