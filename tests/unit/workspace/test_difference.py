from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.difference import MAX_PATCH_BYTES, Region, common_end, common_start, compare, differing

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  a", "x" * 30]), max_size=14)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def patched(tmp_path: Path, old: str, patch: str) -> str:
    """What the real `patch` makes of it."""
    file = tmp_path / "f"
    file.write_text(old)
    if patch:
        done = subprocess.run(
            ["patch", "-s", "--fuzz=0", str(file)], input=patch, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout + patch
    return file.read_text()


def unpatched(old: str, patch: str) -> str:
    """The patch applied by hand: every line of it must be where it says."""
    lines = old.splitlines(True)
    result: list[str] = []
    at = 0
    rows = patch.splitlines(True)[2:]
    for index, row in enumerate(rows):
        bare = index + 1 < len(rows) and rows[index + 1].startswith("\\")
        text = row[1:-1] if bare else row[1:]
        if row.startswith("@@"):
            start, _, length = row.split()[1][1:].partition(",")
            begin = int(start) - (length != "0")
            result += lines[at:begin]
            at = begin
        elif row[0] in " -":
            assert lines[at] == text, (row, lines[at])
            at += 1
            result += [text] * (row[0] == " ")
        elif row[0] == "+":
            result.append(text)
    return "".join(result + lines[at:])


@given(TEXTS, TEXTS)
def test_a_diff_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    diff = compare(old, new, "f")
    assert unpatched(old, diff.patch) == new
    assert (diff.patch == "") == (old == new)
    body = diff.patch.splitlines()[2:]
    assert sum(line.startswith("+") for line in body) == diff.additions
    assert sum(line.startswith("-") for line in body) == diff.deletions
    assert not diff.truncated


@given(st.integers(0, 1 << 32))
def test_long_texts_are_compared_line_by_line_too(seed: int) -> None:
    """More pairs of lines than are all looked at: unique lines lead the way."""
    draw = random.Random(seed)
    lines = [f"line {number}" for number in draw.sample(range(400), 230)]
    other = [line for line in lines if draw.random() > 0.1]
    gone = len(lines) - len(other)
    for _ in range(10):
        other.insert(draw.randrange(len(other)), "same")
    old, new = "\n".join(lines) + "\n", "\n".join(other) + "\n"
    diff = compare(old, new, "f")
    assert unpatched(old, diff.patch) == new
    assert (diff.additions, diff.deletions) == (10, gone)


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program patch (apt) is missing")
def test_the_real_patch_program_takes_it(tmp_path: Path) -> None:
    draw = random.Random(3)
    for _ in range(40):
        old = "".join(f"{draw.randrange(12)}\n" for _ in range(draw.randrange(40)))
        lines = old.splitlines(True)
        for _ in range(draw.randrange(6)):
            lines.insert(draw.randrange(len(lines) + 1), "new\n")
        new = "".join(lines)[: None if draw.random() > 0.3 else -1]
        assert patched(tmp_path, old, compare(old, new, "f").patch) == new


def test_new_removed_and_odd_names() -> None:
    assert compare(None, "a\n", "f").patch == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
    assert compare("a\n", None, "f").patch == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert compare("", "", "f") == ("", 0, 0, False)
    assert compare("a\n", "b\n", "x\n+++ y").patch.startswith("--- a/x\\n+++ y\n+++ b/x\\n+++ y\n@@")
    assert compare("\udcff\n", "b\n", "f").patch.endswith("-\ufffd\n+b\n")


def test_known_regions_spare_the_search() -> None:
    old = "".join(f"{n}\n" for n in range(40))
    new = old.replace("5\n", "five\n")
    regions, at, shift = [], old.find("5\n"), 0
    while at >= 0:
        start = old.rfind("\n", 0, at) + 1
        regions.append(Region(start, at + 2, start + shift, at + 5 + shift))
        shift += 3
        at = old.find("5\n", at + 2)
    assert compare(old, new, "f", regions) == compare(old, new, "f")


@given(TEXTS, TEXTS)
def test_outside_of_the_region_texts_are_alike(old: str, new: str) -> None:
    a, b, c, d = differing(old, new)
    assert old[:a] == new[:c]
    assert old[b:] == new[d:]
    assert a == 0 or old[a - 1] == "\n"
    assert b == len(old) or old[b - 1] == "\n" or b == a
    assert d == len(new) or new[d - 1] == "\n" or d == c


@given(st.text("ab", max_size=8), st.text("ab", max_size=8))
def test_common_ends(one: str, other: str) -> None:
    start = common_start(one, other)
    assert one[:start] == other[:start]
    assert start == min(len(one), len(other)) or one[start] != other[start]
    end = common_end(one, other, min(len(one), len(other)))
    assert one[len(one) - end :] == other[len(other) - end :]
    assert end == min(len(one), len(other)) or one[-end - 1] != other[-end - 1]


def test_a_diff_is_cut_at_a_line_and_counted_whole() -> None:
    old = "".join(f"line {n}\n" for n in range(9000))
    diff = compare(old, "", "f")
    assert diff.truncated
    assert diff.deletions == 9000
    assert len(diff.patch.encode()) <= MAX_PATCH_BYTES
    assert diff.patch.endswith("\n")
    assert len(diff.patch.encode()) + 12 > MAX_PATCH_BYTES
    exact = compare("", "x" * (MAX_PATCH_BYTES - len("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+\n")) + "\n", "f")
    assert not exact.truncated
    assert len(exact.patch) == MAX_PATCH_BYTES
    over = compare("", "x" * (MAX_PATCH_BYTES + 1 - len("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+\n")) + "\n", "f")
    assert over.truncated


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["same", "two", "shuffled", "periodic"])
def test_no_text_takes_long(kind: str) -> None:
    draw = random.Random(1)
    lines = {
        "same": ["x\n"] * 100_000,
        "two": [draw.choice(["a\n", "b\n"]) for _ in range(100_000)],
        "shuffled": [f"{n}\n" for n in range(100_000)],
        "periodic": [f"{n % 300}\n" for n in range(100_000)],
    }[kind]
    other = list(lines)
    draw.shuffle(other)
    began = time.process_time()
    diff = compare("".join(lines), "".join(other) + "end\n", "f")
    assert diff.additions == diff.deletions + 1
    assert time.process_time() - began < 10
