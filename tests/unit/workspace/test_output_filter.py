"""Rules on what programs print: their examples, recorded outputs, and what no rule may do."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.workspace.output_command import command_of
from remit.workspace.output_filter import ERROR, MAX_BYTES, Filtered, filter_output
from remit.workspace.output_rules import DIRECTORY, FAMILIES, Example, Rule, family_rules, parse_rules, rule_for
from remit.workspace.terminal import Screen

RECORDED = Path(__file__).parent / "filter_outputs"
CASES: list[dict[str, Any]] = json.loads((RECORDED / "cases.json").read_text())
RULES = [rule for family in sorted(set(FAMILIES.values())) for rule in family_rules(family)]
EXAMPLES = [(rule, example) for rule in RULES for example in rule.examples]

NOTICE = re.compile(r"\n\[filtered: [a-z ,]+\]\n\Z")


def text_of(case: dict[str, Any]) -> str:
    screen = Screen(MAX_BYTES)
    screen.feed((RECORDED / case["file"]).read_bytes())
    return screen.finish().text


def size(text: str) -> int:
    return len(text.encode())


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))


def lost_errors(before: str, after: str) -> list[str]:
    """Lines that look like errors whose words are not in the result."""
    left = words(after)
    return [line for line in before.split("\n") if re.search(ERROR, line) and words(line) not in left]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=lambda value: getattr(value, "name", ""))
def test_an_example_comes_out_as_its_rule_says(rule: Rule, example: Example) -> None:
    argv = shlex.split(example.command)
    assert rule_for(command_of(argv)) == rule
    seen = filter_output(argv, example.before, example.exit)
    assert seen.text == example.after
    assert bool(seen.stages) is (example.before != example.after)
    if seen.stages:
        assert size(seen.text) < size(example.before)
        assert NOTICE.search(seen.text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_a_recorded_output_keeps_what_matters(case: dict[str, Any]) -> None:
    raw = text_of(case)
    seen = filter_output(case["argv"], raw, case["exit"])
    assert [part for part in case["survives"] if part not in seen.text] == []
    assert size(seen.text) <= size(raw)
    for code in (1, None):
        assert lost_errors(raw, filter_output(case["argv"], raw, code).text) == []


def test_every_file_of_rules_is_reached_by_a_program() -> None:
    files = {name.removesuffix(".toml") for name in os.listdir(DIRECTORY)}
    assert files == set(FAMILIES.values())
    for rule in RULES:
        for command in rule.commands:
            assert rule_for(command_of(command.split())) == rule, command


def test_recorded_outputs_are_all_cases() -> None:
    assert {path.name for path in RECORDED.glob("*.txt")} == {case["file"] for case in CASES}


def test_patterns_are_linear() -> None:
    for rule in RULES:
        patterns = [*(each.pattern for each in rule.replace), *(each.pattern for each in rule.match)]
        for pattern in [*patterns, *rule.drop, *rule.keep]:
            re2.compile(pattern)


RULE = """
[[rules]]
name = "one"
commands = ["prog"]
"""
EXAMPLE = """
[[rules.examples]]
command = "prog"
before = "a"
after = "a"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RULE, "missing required field `examples`"),
        (RULE + "examples = []", "length >= 1"),
        (RULE + "colour = 1" + EXAMPLE, "unknown field `colour`"),
        (RULE + "head = 0" + EXAMPLE, ">= 1"),
        (RULE + "drop = ['a']\nkeep = ['b']" + EXAMPLE, "the rule one has both drop and keep"),
        ((RULE + EXAMPLE) * 2, "two rules have the same name"),
        ("[[rules]\n", "Expected"),
    ],
)
def test_rules_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_rules(text)


def test_rules_are_taken_by_name() -> None:
    text = (RULE.replace("one", "b") + EXAMPLE) + (RULE.replace("one", "a") + EXAMPLE)
    assert [rule.name for rule in parse_rules(text)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("git status", ("git", "status")),
        ("/usr/bin/git -C sub -c a.b=c --no-pager status src", ("git", "status", "src")),
        ("LANG=C env -u X A=b git log", ("git", "log")),
        ("timeout -s KILL 5 git log", ("git", "log")),
        ("sudo -u ada nice -n 5 git log", ("git", "log")),
        ("python -m pytest -q tests", ("pytest", "tests")),
        ("python3.11 -m unittest test_a", ("unittest", "test_a")),
        ("uv run --with x pytest", ("pytest",)),
        ("npx --yes tsc -p .", ("tsc", ".")),
        ("pnpm exec eslint src", ("eslint", "src")),
        ("npm exec -- jest", ("jest",)),
        ("npm --prefix web test", ("npm", "test")),
        ("cargo +nightly test", ("cargo", "test")),
        ("kubectl -n parts get pods", ("kubectl", "get", "pods")),
        ("pip3 install x", ("pip", "install", "x")),
        ("pip3.11 install x", ("pip", "install", "x")),
        ("python script.py", ("python", "script.py")),
        ("A=b", ()),
        ("", ()),
        ("timeout", ()),
        ("python -m", ()),
    ],
)
def test_command_of(line: str, found: tuple[str, ...]) -> None:
    assert command_of(line.split()).words == found


@pytest.mark.parametrize(
    "line",
    [
        "git status --porcelain",
        "git log --format=%h",
        "git diff --stat",
        "yarn why x",
        "ls2",
        "mygit status",
        "git stash",
        "",
    ],
)
def test_other_commands_have_no_rule(line: str) -> None:
    assert rule_for(command_of(line.split())) is None


def test_what_no_rule_is_for_is_returned_as_it_is() -> None:
    assert filter_output(["./prog"], "some text\n\n", 0) == Filtered("some text\n\n", ())
    assert filter_output([], "", 0) == Filtered("", ())


def test_a_message_that_all_is_well_is_for_exit_code_zero() -> None:
    passed = "=" * 30 + " test session starts " + "=" * 30 + "\n" + "=" * 30 + " 3 passed in 0.01s " + "=" * 30 + "\n"
    assert filter_output(["pytest"], passed, 0).text == "3 passed in 0.01s\n[filtered: rewritten, summary]\n"
    for code in (1, 2, None):
        assert "summary" not in filter_output(["pytest"], passed, code).stages


def test_a_message_does_not_stand_for_an_error() -> None:
    text = "x" * 200 + "\nTraceback (most recent call last):\n" + "=" * 30 + " 3 passed in 0.01s " + "=" * 30 + "\n"
    assert "Traceback" in filter_output(["pytest"], text, 0).text


def test_nothing_left_has_a_message_for_exit_code_zero_alone() -> None:
    text = "make: Nothing to be done for 'all'.\n" * 3
    assert filter_output(["make"], text, 0).text == "Nothing to be done.\n[filtered: lines, summary]\n"
    assert filter_output(["make"], text, 2) == Filtered(text, ())


def test_the_middle_is_left_out_of_many_lines() -> None:
    names = [f"./src/file_{index}.py" for index in range(1000)]
    seen = filter_output(["find", "."], "\n".join(names) + "\n", 0)
    lines = seen.text.split("\n")
    assert seen.stages == ("middle",)
    assert lines[:60] == names[:60]
    assert lines[60] == "[... 925 lines left out ...]"
    assert lines[61:76] == names[-15:]


@pytest.mark.parametrize(("count", "stages"), [(76, ()), (77, ("middle",))])
def test_the_middle_is_left_out_when_it_is_more_than_its_mark(count: int, stages: tuple[str, ...]) -> None:
    names = "".join(f"./a/long/name/of/a/folder/file_{index}.py\n" for index in range(count))
    assert filter_output(["find"], names, 0).stages == stages


def test_a_failure_keeps_the_first_and_last_lines_and_the_errors_between() -> None:
    lines = [f"line {index}" for index in range(1000)]
    lines[500] = "src/a.c:1:2: error: no such part"
    seen = filter_output(["find"], "\n".join(lines), 1).text.split("\n")
    assert seen[:60] == lines[:60]
    assert seen[60:63] == ["[... 440 lines left out ...]", lines[500], "[... 439 lines left out ...]"]
    assert seen[63:123] == lines[-60:]


def test_long_lines_are_cut() -> None:
    seen = filter_output(["find"], "x" * 1000 + "\nshort\n", 0)
    assert seen.stages == ("long lines",)
    assert (
        seen.text == "x" * 225 + " [... 700 characters left out ...] " + "x" * 75 + "\nshort\n[filtered: long lines]\n"
    )
    assert filter_output(["find"], "error " + "x" * 1000, 1).stages == ()
    assert filter_output(["find"], "error " + "x" * 5000, 1).stages == ("long lines",)


def test_colours_are_taken_out() -> None:
    seen = filter_output(["ls"], "\x1b[01;34msrc\x1b[0m\n" * 10, 0)
    assert seen == Filtered("src\n" * 10 + "[filtered: colours]\n", ("colours",))


def test_what_was_left_out_before_is_still_said() -> None:
    text = "PASS a.test.js\n" * 20 + "[... 30 lines, 900 bytes left out ...]\n" + "PASS b.test.js\n" * 20
    assert filter_output(["jest"], text, 0).text == "[... 30 lines, 900 bytes left out ...]\n[filtered: lines]\n"


def test_frames_on_lines_of_their_own_are_folded() -> None:
    frames = "".join(
        f"Downloading model: {done:3}% |{'█' * (done // 10):10}| {done}.1/100 MB\n" for done in range(0, 101, 5)
    )
    seen = filter_output(["./load"], f"start\n{frames}end\n", 0)
    assert seen.stages == ("progress",)
    lines = frames.splitlines()
    assert seen.text == f"start\n{lines[0]}\n[... 19 lines left out ...]\n{lines[-1]}\nend\n[filtered: progress]\n"


@pytest.mark.parametrize(
    "lines",
    [
        ["load 10%", "load 20%", "load 30%", "load 40%"],
        [f"load {done}%" for done in range(100, 0, -1)],
        [f"part {name} 10%" for name in "abcdefghij"],
        [f"line {index} of text" for index in range(100)],
    ],
)
def test_what_is_not_progress_stays(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    assert filter_output(["./load"], text, 0) == Filtered(text, ())


def test_progress_of_a_failure_keeps_errors() -> None:
    text = "".join(f"error {done}%\n" for done in range(100))
    assert filter_output(["./load"], text, 1) == Filtered(text, ())
    assert filter_output(["./load"], text, 0).stages == ("progress",)


def test_a_text_over_the_bound_is_returned_as_it_is() -> None:
    line = "PASS a.test.js\n"
    text = line * (MAX_BYTES // len(line))
    text += "x" * (MAX_BYTES - len(text))
    assert filter_output(["jest"], text, 0).stages == ("lines",)
    assert filter_output(["jest"], text + "x", 0) == Filtered(text + "x", ())


LINES = st.one_of(
    st.sampled_from(sorted({line for _, example in EXAMPLES for line in example.before.split("\n")})),
    st.sampled_from(
        [
            "error: it broke",
            "    raise ValueError('error')",
            "FAILED tests/test_a.py::test_b - AssertionError",
            "test a::b ... FAILED",
            "fatal: not a repository",
            "Traceback (most recent call last):",
            "--- FAIL: TestBad (0.00s)",
            "thread 'main' panicked at src/main.rs:1:1:",
            " 2 | error in a frame",
            "npm ERR! code 1",
            "PASS but error.test.js",
            "error 10%",
            "    error 20%",
            "\u2028",
            "世界 error",
            "\ud800",
        ]
    ),
    st.text(max_size=30),
    st.text("ab \t|^~=_-\n", max_size=30),
    st.just("x error " * 300),
)


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from([*(command.split() for rule in RULES for command in rule.commands), ["other"]]),
    st.lists(LINES, max_size=40).map("\n".join),
    st.sampled_from([0, 1, 101, None]),
    st.integers(1, 8),
)
def test_no_rule_breaks_a_promise(argv: list[str], text: str, code: int | None, times: int) -> None:
    text = text.replace("\x1b", "") * times
    seen = filter_output(argv, text, code)
    assert size(seen.text) <= len(text.encode("utf-8", "surrogatepass"))
    if seen.stages:
        assert NOTICE.search(seen.text)
    if code != 0:
        short = "\n".join(line for line in text.split("\n") if len(line) <= 2000)
        assert lost_errors(short, seen.text) == []


def test_replacements_among_errors_are_made_as_far_as_they_are_checked() -> None:
    line = "error" + "    x" * 90 + "\n"
    seen = filter_output(["docker", "ps"], line * 300, 1).text.split("\n")
    assert seen[0] == "error" + "  x" * 90
    assert seen[299] == line.rstrip("\n")
    assert filter_output(["docker", "ps"], "error" + "    x" * 250 + "\n", 1).stages == ()
