from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.workspace.patch import MAX_PATCH_BYTES, MAX_SECTIONS, Line, Section, apply, read_patch


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(*lines: str) -> Section:
    (section,) = read_patch(patch("*** Update File: f", *lines))
    return section


def lines_of(text: str) -> list[Line]:
    lines = []
    for line in text.splitlines(True):
        bare = line.rstrip("\r\n")
        lines.append(Line(bare, line[len(bare) :]))
    return lines


def applied(text: str, *chunk: str, end: str = "\n") -> str:
    result = apply(update(*chunk).chunks, lines_of(text), end, "f")
    return "".join(line.text + line.end for line in result)


def refusal(text: str) -> Failure:
    with pytest.raises(Failure) as caught:
        read_patch(text)
    assert caught.value.code is ErrorCode.PATCH_INVALID
    return caught.value


# -- reading -----------------------------------------------------------------------------------


def test_all_kinds_of_sections() -> None:
    text = patch(
        "*** Add File: new.txt",
        "+one",
        "+",
        "*** Delete File: old.txt",
        "*** Update File: a.py",
        "*** Move to: b.py",
        "@@ def f():",
        " kept",
        "-gone",
        "+come",
        "@@",
        "+last",
        "*** End of File",
    )
    add, delete, change = read_patch(f"words before\n{text}\nwords behind")
    assert (add.kind, add.path, add.content) == ("add", "new.txt", ["one", ""])
    assert (delete.kind, delete.path) == ("delete", "old.txt")
    assert (change.kind, change.path, change.move, change.line) == ("update", "a.py", "b.py", 7)
    first, last = change.chunks
    assert (first.contexts, first.lines, first.at_end) == (
        ["def f():"],
        [(" ", "kept"), ("-", "gone"), ("+", "come")],
        False,
    )
    assert (last.contexts, last.lines, last.at_end) == ([], [("+", "last")], True)


@pytest.mark.parametrize("before", ["cat <<'EOF'\n", "apply_patch <<EOF\n", ""])
def test_a_heredoc_around_it_and_crlf_do_not_matter(before: str) -> None:
    text = patch("*** Update File: f", "@@", "-a", "+b")
    for wrapped in (f"{before}{text}\nEOF\n", f"{before}{text}\nEOF\n".replace("\n", "\r\n")):
        (section,) = read_patch(wrapped)
        assert section.chunks[0].lines == [("-", "a"), ("+", "b")]


def test_what_writers_leave_out() -> None:
    """The first `@@`, the blank of an empty kept line, and nothing between sections."""
    section = update(" a", "", "-b", "")
    assert section.chunks[0].lines == [(" ", "a"), (" ", ""), ("-", "b")]
    add, other = read_patch(patch("*** Add File: a", "+x", "", "*** Add File: b", ""))
    assert (add.content, other.content) == (["x"], [])


def test_marks_within_lines_are_text() -> None:
    section = update(" *** End Patch", "-*** End of File", "+@@ x", "+*** Update File: g")
    assert [line for _, line in section.chunks[0].lines] == [
        "*** End Patch",
        "*** End of File",
        "@@ x",
        "*** Update File: g",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no line '*** Begin Patch'"),
        ("*** Begin Patch\n*** Add File: a\n+x", "no line '*** End Patch'"),
        (patch(), "line 1 of the patch: it is empty"),
        (patch("*** Rename File: a"), "line 2 of the patch: '*** Rename File: a' begins no section"),
        (patch("*** Add File:  "), "line 2 of the patch: a path is missing"),
        (patch("*** Add File: a", "x"), "line 3 of the patch: every line of an added file begins with '+'"),
        (patch("*** Delete File: a", "-x"), "line 3 of the patch: a deleted file has no lines"),
        (patch("*** Update File: a"), "line 2 of the patch: the update of 'a' has no chunk"),
        (patch("*** Update File: a", "*** Move to: "), "line 3 of the patch: a path is missing"),
        (patch("*** Update File: a", "@@", "x"), "line 4 of the patch: a line of a chunk begins with"),
        (patch("*** Update File: a", "@@", "@@ b"), "line 3 of the patch: a chunk has no lines"),
        (patch("*** Update File: a", " x", "@@"), "line 4 of the patch: a chunk has no lines"),
        (patch("*** Add File: a", "*** Delete File: a"), "line 3 of the patch: 'a' occurs twice"),
        (
            patch("*** Add File: b", "*** Update File: a", "*** Move to: b", " x"),
            "line 3 of the patch: 'b' occurs twice",
        ),
        (patch("*** Update File: a", "@@", " x", "*** End of File", "@@", " y"), "line 6 of the patch: '@@' follows"),
        (
            patch("*** Update File: a", " x", "*** End of File", "+y"),
            "line 5 of the patch: '+y' follows '*** End of File' of line 4, which stands at the end of the last chunk",
        ),
        (patch("*** Add File: a") + "\n" + patch("*** Add File: b"), "line 4 of the patch: a second patch begins"),
    ],
)
def test_what_is_no_patch(text: str, told: str) -> None:
    assert told in refusal(text).message


def test_a_move_alone_is_enough() -> None:
    assert update("*** Move to: g").move == "g"


def test_limits() -> None:
    sections = [f"*** Delete File: {n}" for n in range(MAX_SECTIONS)]
    assert len(read_patch(patch(*sections))) == MAX_SECTIONS
    assert "has 101 sections" in refusal(patch(*sections, "*** Delete File: x")).message
    frame = len(patch("*** Add File: a", "+"))
    read_patch(patch("*** Add File: a", "+" + "x" * (MAX_PATCH_BYTES - frame)))
    assert "1048577 bytes" in refusal(patch("*** Add File: a", "+" + "x" * (MAX_PATCH_BYTES - frame + 1))).message


# -- applying ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "chunk", "result"),
    [
        ("a\nb\nc\n", ["@@", " a", "-b", "+B", " c"], "a\nB\nc\n"),
        ("a\nb\nc\n", ["-a"], "b\nc\n"),
        ("a\n", ["-a"], ""),
        ("", ["+a", "+b"], "a\nb\n"),
        # Lines that are only added go to the end, whatever was sought.
        ("a\nb\n", ["@@ a", "+z"], "a\nb\nz\n"),
        ("a\nb", ["+z"], "a\nb\nz"),
        # `@@` seeks a whole line, and what follows begins behind it; several seek in turn.
        ("x\nf\nx\n", ["@@ f", "-x", "+y"], "x\nf\ny\n"),
        ("class A\nf\nx\nclass B\nf\nx\n", ["@@ class B", "@@ f", "-x", "+y"], "class A\nf\nx\nclass B\nf\ny\n"),
        # The cursor only moves forward.
        ("x\nx\nx\n", ["-x", "+1", "@@", "-x", "+2"], "1\n2\nx\n"),
        ("a\nx\nb\nx\n", ["-x", "+y", "*** End of File"], "a\nx\nb\ny\n"),
        # Exactly, else but for blanks at the end, else at both ends; the file's own lines stay.
        ("x \nx\n", ["-x", "+y"], "x \ny\n"),
        ("  k \n  x\t\n", [" k", "-x", "+  y"], "  k \n  y\n"),
        ("\tk\nx \n", [" \tk", "-x", "+y"], "\tk\ny\n"),
        # The empty line that readers see behind the last line is none.
        ("a\nb\n", ["-b", "+c", " "], "a\nc\n"),
        ("a\nb\n\n", ["-b", "+c", " "], "a\nc\n\n"),
        # The last line stays without an end, or with one.
        ("a\nb", ["-b", "+c"], "a\nc"),
        ("a\nb", ["-a", "+c"], "c\nb"),
        ("a\nb", [" a", "-b"], "a"),
        ("a\nb", [" b", "+c"], "a\nb\nc"),
        # CRLF
        ("a\r\nb\r\nc\r\n", [" a", "-b", "+B", "+BB", " c"], "a\r\nB\r\nBB\r\nc\r\n"),
        ("a\r\nb\nc\r\n", ["-b", "+B", " c", "+d"], "a\r\nB\nc\r\nd\r\n"),
        ("a\r\nb", ["-b", "+c", "+d"], "a\r\nc\r\nd"),
        # Bytes that are no text, as readers see them.
        ("caf\udce9\nb\n", [" caf\ufffd", "-b", "+c"], "caf\udce9\nc\n"),
    ],
)
def test_chunks(text: str, chunk: Sequence[str], result: str) -> None:
    assert applied(text, *chunk, end="\r\n" if "\r" in text else "\n") == result


@pytest.mark.parametrize(
    ("text", "chunk", "told"),
    [
        ("a\nb\n", ["-c"], "line 3 of the patch: its kept and removed lines are not in 'f'; no file was changed."),
        ("a\nb\n", ["@@ zz", "-a"], "line 3 of the patch: its context line is not in 'f'"),
        ("x\na\n", ["@@ a", "-x"], "not in 'f' from line 3 on"),
        (
            "x\ny\n",
            ["-z", "*** End of File"],
            "line 3 of the patch: its kept and removed lines are not in 'f' at its end",
        ),
        (
            "x\ny\n",
            ["-x", "*** End of File"],
            "line 4 of the patch: '*** End of File' says that 'f' ends with the chunk of line 3, but its lines end at "
            "line 1 of 2; no file was changed.",
        ),
        ("first line\nsecond line\n", [" first line", "-second  line"], "the nearest text is at line 2"),
        ("\u00a0x = 1\n", ["-x = 2"], "U+0031 '1'"),
        ("", ["-a"], "not in 'f'"),
        ("a\n", ["-a", "@@", "-a"], "line 4 of the patch"),
    ],
)
def test_chunks_that_do_not_fit(text: str, chunk: Sequence[str], told: str) -> None:
    with pytest.raises(Failure) as caught:
        applied(text, *chunk)
    assert caught.value.code is ErrorCode.TEXT_NOT_FOUND
    assert told.lower() in caught.value.message.lower()


def written(old: Sequence[str], new: Sequence[str], context: int) -> list[str]:
    """Chunks that lead from one list of lines to the other."""
    rows: list[str] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        rows.append("@@")
        for tag, i1, i2, j1, j2 in group:
            rows += [f" {line}" for line in old[i1:i2]] if tag == "equal" else [f"-{line}" for line in old[i1:i2]]
            rows += [] if tag == "equal" else [f"+{line}" for line in new[j1:j2]]
    return rows


LINES = st.lists(st.sampled_from(["a", "b", "c d", "", "  e", "\tf", "é"]), max_size=12)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_patch_leads_from_one_text_to_the_other(old: list[str], new: list[str], end: str, closed: bool) -> None:
    """With all of the file as context, the place is certain."""
    if old == new or not old or (not closed and (not new or not old[-1] or not new[-1])):
        return
    rows = written(old, new, 100)
    text, wanted = end.join(old) + end * closed, end.join(new) + end * (closed and bool(new))
    assert applied(text, *rows, end=end) == wanted
    assert applied(text, *"\r\n".join(rows).replace("\r\n", "\n").split("\n"), end=end) == wanted


@given(st.lists(st.integers(0, 1000), unique=True, min_size=1, max_size=40), st.integers(0, 1 << 30))
def test_unique_lines_need_little_context(numbers: list[int], seed: int) -> None:
    old = [str(number) for number in numbers]
    new = [line if (seed >> index) & 1 else f"new {line}" for index, line in enumerate(old)]
    if old != new:
        assert applied("\n".join(old) + "\n", *written(old, new, 1)) == "\n".join(new) + "\n"


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for given_text in (text, patch(*text.split("\n")), patch("*** Update File: f", *text.split("\n"))):
        try:
            sections = read_patch(given_text)
            apply(sections[0].chunks, lines_of("a\nb\n"), "\n", "f")
        except Failure as failure:
            assert failure.code in (ErrorCode.PATCH_INVALID, ErrorCode.TEXT_NOT_FOUND)
