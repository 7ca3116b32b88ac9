"""Results that are cut, kept, paged and searched, in whole runs."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, ended, journal
from fakes.recorded import play, record, told

DRIVER = Path(__file__).parents[1] / "crash" / "driver.py"
NUMBERS = "seq 20000"
DONE = {"text": "Done."}
OFF = {"REMIT_SANDBOX": "off"}


def calls(tool: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": each} for each in arguments]}


def read(**arguments: Any) -> dict[str, Any]:
    return calls("tool_output", {"output_id": "output-seq", **arguments})


LOOK = [calls("shell", {"command": NUMBERS}), read(offset=9000, limit=2), read(pattern="^1234", limit=3), DONE]


def contents(out: Path) -> list[str]:
    return [settled["content"] for settled in journal(out, "call_settled")]


def run(home: Home, *turns: dict[str, Any], tools: dict[str, Any] | None = None, **keys: Any) -> list[dict[str, Any]]:
    """The events of a run with the shell."""
    task = home.task(prompt="Go", tools=tools or {"shell": "auto"}, **keys)
    ran = home.stream("-t", task, "-m", home.script(*turns), "-o", str(home.out), environ=OFF)
    assert ran.result == ended(home.out, 0), ran.stderr
    return ran.events


def holds(out: Path) -> None:
    """What was cut is kept, and was read."""
    shell, page, found = contents(out)
    assert shell.startswith("exit code 0\n1\n2\n") and shell.endswith("\n20000")
    assert len(shell.encode()) <= 24 * 1024
    hint = re.search(r'read on with tool_output (\{"output_id": "output-seq", "offset": \d+\}), or search', shell)
    assert hint is not None
    gap = json.loads(hint[1])["offset"]
    assert f"\n{gap - 2}\n[... lines {gap}-" in shell
    assert page.startswith("[output-seq: lines 9000-9001 of 20001, ") and "\n\n8999\n9000\n\n[more: " in page
    assert "\n\n1235: 1234\n12341: 12340\n12342: 12341\n\n[more: tool_output " in found
    kept = out / "outputs" / "output-seq.txt"
    assert kept.read_text() == "exit code 0\n" + "\n".join(map(str, range(1, 20_001)))
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_cut_output_is_paged_and_searched(home: Home) -> None:
    events = run(home, *LOOK)
    holds(home.out)
    assert events[0]["tools"] == ["shell", "tool_output"]
    [meta] = [event["tool_result_meta"][0] for event in events if event["type"] == "user"][:1]
    size = (home.out / "outputs" / "output-seq.txt").stat().st_size
    assert meta["output"] == {"id": "output-seq", "bytes": size, "lines": 20_001}
    # What is kept is not told twice.
    assert journal(home.out, "call_settled")[0]["outcome"].get("text", "") == ""


@pytest.mark.parametrize("how", ["after", "torn"])
def test_after_a_kill_it_still_is(home: Home, how: str) -> None:
    """At the records around the outcome of the command, which is the first that a handle stands in."""
    task = home.task(prompt="Go", tools={"shell": "auto"})
    model = home.script(*LOOK)
    home.environ |= OFF
    assert home.run("run", "-t", task, "-m", model, "-o", str(home.path / "whole"), "-q").code == 0
    kinds = [record["type"] for record in journal(home.path / "whole")]
    first = kinds.index("call_settled") + 1
    second = kinds.index("call_settled", first) + 1
    for number in (first + (how == "torn"), second, second + 1):
        out = home.path / f"killed-{number}"
        command = [sys.executable, str(DRIVER), str(number), how, task, model, str(out)]
        done = subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert home.run("resume", str(out), "-q").code == 0
        holds(out)


def test_a_call_that_died_with_its_output_leaves_nothing_that_counts(home: Home) -> None:
    """The file was written, its record was not: the next output takes its name."""
    turns = [calls("shell", {"command": NUMBERS}), calls("shell", {"command": "seq 30000"}), DONE]
    task, model = home.task(prompt="Go", tools={"shell": "auto"}), home.script(*turns)
    home.environ |= OFF
    home.run("run", "-t", task, "-m", model, "-o", str(home.path / "whole"), "-q")
    number = [record["type"] for record in journal(home.path / "whole")].index("call_settled") + 1
    command = [sys.executable, str(DRIVER), str(number), "torn", task, model, str(home.out)]
    subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
    assert os.listdir(home.out / "outputs") == ["output-seq.txt"]
    assert home.run("resume", str(home.out), "-q").code == 0
    assert [each.get("output") is not None for each in journal(home.out, "call_settled")] == [False, True]
    assert (home.out / "outputs" / "output-seq.txt").read_text().endswith("\n30000")


def test_the_same_output_is_the_same_result(home: Home) -> None:
    """A third identical call is not made, also where the result is cut."""
    run(home, *[calls("shell", {"command": NUMBERS})] * 3, DONE)
    one, two, three = contents(home.out)
    assert one == two and '"repeated_call"' in three
    assert os.listdir(home.out / "outputs") == ["output-seq.txt"]


def test_rules_do_not_take_it_away(home: Home) -> None:
    task = home.task(prompt="Go", tools={"shell": "auto"})
    flags = ["--deny", "tool_output", "-t", task, "-m", home.script(*LOOK), "-o", str(home.out)]
    policy = home.path / "rules.toml"
    policy.write_text('version = 1\n[[rule]]\ntools = ["tool_output"]\ndecide = "deny"\nwhy = "no"\n')
    ran = home.stream(*flags, "--policy", str(policy), environ=OFF)
    assert ran.code == 0 and ran.events[0]["tools"] == ["shell", "tool_output"]
    holds(home.out)
    judged = [each for each in journal(home.out, "call_checked") if each["tool"] == "tool_output"]
    assert {each["decision"]["rule"]["source"] for each in judged} == {"floor"}


@pytest.mark.parametrize(
    ("tools", "offered"),
    [
        ({"read_file": "auto"}, False),
        ({"todo_write": "auto"}, False),
        ({"file_grep": "auto"}, True),
        ({"todo_write": "auto", "shell": "ask"}, False),
        ({"read_file": "auto", "tool_output": "auto"}, True),
    ],
)
def test_it_is_offered_where_results_may_be_cut(home: Home, tools: dict[str, str], offered: bool) -> None:
    events = run(home, DONE, tools=tools)
    assert ("tool_output" in events[0]["tools"]) is offered


def test_parts_of_a_batch_are_kept_where_the_whole_has_no_room(home: Home) -> None:
    home.write("a.txt", "".join(f"a{number}\n" for number in range(4000)))
    home.write("b.txt", "".join(f"b{number}\n" for number in range(1500)))
    entries = [{"tool": "file_read", "filePath": name} for name in ("a.txt", "b.txt", "a.txt")]
    entries += [{"tool": "shell", "command": "seq 12000"}]
    again = [calls("tool_output", {"output_id": name, "limit": 1}) for name in ("output-file_read", "output-seq")]
    tools = dict.fromkeys(("batch", "file_read", "shell"), "auto")
    run(home, calls("batch", {"tool_calls": entries}), *again, DONE, tools=tools)
    settled = {each["id"]: each for each in journal(home.out, "call_settled")}
    whole = settled["call_1_1"]
    assert len(whole["content"].encode()) <= 51_200 and whole["output"] is None
    handles = [settled[f"call_1_1.b{number}"]["output"]["handle"] for number in range(1, 5)]
    assert handles == ["output-file_read", "output-file_read-2", "output-file_read", "output-seq"]
    # Cut for the whole, or before that by its own bound.
    assert all(f"whole, output_id {handle} ...]" in whole["content"] for handle in handles[:3])
    assert f'tool_output {{"output_id": "{handles[3]}", "offset": ' in whole["content"]
    assert "\n\n1: a0\n" in settled["call_2_1"]["content"] and "\n\nexit code 0\n" in settled["call_3_1"]["content"]


def test_a_foreign_handle_is_none(home: Home) -> None:
    turns = [calls("shell", {"command": NUMBERS}), calls("tool_output", {"output_id": "../journal"}), DONE]
    run(home, *turns)
    error = json.loads(contents(home.out)[1])["error"]
    assert error == {
        "code": "not_found",
        "message": "there is no output '../journal'; the outputs of this run are: output-seq (20001 lines)",
    }


def test_a_recorded_run_is_played(home: Home) -> None:
    """Without what was kept: the calls that read it give what they gave."""
    task = home.task(prompt="Go", tools={"shell": "auto"})
    home.environ |= OFF
    path, ran = record(home, "-t", task, "-m", home.script(*LOOK))
    assert ran.code == 0
    played = play(home, path)
    assert played.code == 0, played.stderr
    assert told(played) == told(ran)


def test_a_recorded_run_is_played_with_live_tools(home: Home) -> None:
    home.write("a.txt", "".join(f"a{number}\n" for number in range(1500)))
    task = home.task(prompt="Go", tools={"file_read": "auto"})
    search = calls("tool_output", {"output_id": "output-file_read", "pattern": "a7[12]$"})
    path, ran = record(home, "-t", task, "-m", home.script(calls("file_read", {"filePath": "a.txt"}), search, DONE))
    found = [event["message"]["content"][0]["content"] for event in ran.events if event["type"] == "user"]
    assert found[1].endswith("\n\n72: 72: a71\n73: 73: a72\n")
    played = play(home, path, "--live-tools", "-C", str(home.work))
    assert played.code == 0, played.stderr
    assert told(played) == told(ran)
    assert (home.path / "played" / "outputs" / "output-file_read.txt").exists()
