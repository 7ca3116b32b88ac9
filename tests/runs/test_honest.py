"""The verdict and the figures say what is so, also where somebody had a hand in it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from fakes.cli import Home, Ran
from fakes.model_server import ModelServer, delta, stream, text

WRITE = {"tool": "write_artifact", "arguments": {"name": "a.md", "content": "as written"}}
TURNS: tuple[dict[str, Any], ...] = ({"calls": [WRITE]}, {"text": "done"})


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ('rm "$REMIT_OUT/a.md"', "artifact a.md was written, and is gone"),
        ('echo more >> "$REMIT_OUT/a.md"', "artifact a.md was changed after it was written"),
    ],
)
def test_an_artifact_that_a_check_destroys_is_not_promised_any_more(home: Home, command: str, told: str) -> None:
    task = home.task(
        prompt="go", tools={"write_artifact": "auto"}, expect={"artifacts": ["a.md"], "checks": [f"sh -c '{command}'"]}
    )
    ran = home.stream("-t", task, "-m", home.script(*TURNS), "-o", "out")
    assert (ran.code, ran.result["unmet"]) == (3, [told])


def test_an_artifact_changed_between_stop_and_resume_is_told(home: Home) -> None:
    task = home.task(prompt="go", tools={"write_artifact": "auto"}, expect={"artifacts": ["a.md"]})
    stopped = home.run("run", "-t", task, "-m", home.script(*TURNS), "-o", "out", "--max-turns", "1")
    assert stopped.code == 7, stopped.stderr
    (home.work / "out" / "artifacts" / "a.md").write_text("by another hand")
    resumed = home.run("resume", "out", "--max-turns", "5", "--output-format", "stream-json")
    assert (resumed.code, resumed.result["unmet"]) == (3, ["artifact a.md was changed after it was written"])


def shell(*commands: str) -> list[dict[str, Any]]:
    turns = [{"calls": [{"tool": "shell", "arguments": {"command": each}}]} for each in commands]
    return [*turns, {"text": "done"}]


def test_what_commands_write_among_the_artifacts_is_promised_and_listed(home: Home) -> None:
    task = home.task(
        prompt="go", tools={"shell": "auto", "write_artifact": "auto"}, expect={"artifacts": ["a.md", "b.csv"]}
    )
    turns = [{"calls": [WRITE]}, *shell('echo more >> "$REMIT_OUT/a.md"', 'echo x > "$REMIT_OUT/b.csv"')]
    ran = home.stream("-t", task, "-m", home.script(*turns), "-o", "out", "--record", "run.jsonl")
    assert (ran.code, ran.result["unmet"]) == (0, []), ran.stderr
    listed = [(each["name"], each["bytes"], each["call"]) for each in ran.result["artifacts"]]
    assert listed == [("a.md", 15, "t2.c1"), ("b.csv", 2, "t3.c1")]
    index = json.loads((home.work / "out" / "artifacts.json").read_text())["artifacts"]
    assert [(each["name"], each["bytes"], each["call"]) for each in index] == listed
    assert [event["name"] for event in ran.events if event.get("subtype") == "artifact"] == ["a.md", "a.md", "b.csv"]
    played = home.run("replay", "run.jsonl", "--output-format", "stream-json")
    assert (played.code, played.result["verdict"]) == (0, "done"), played.stderr


def test_an_artifact_that_a_command_gives_another_name(home: Home) -> None:
    task = home.task(prompt="go", tools={"shell": "auto"}, expect={"artifacts": ["a.md"]})
    turns = shell('echo x > "$REMIT_OUT/part"', 'cd "$REMIT_OUT" && mv part a.md')
    ran = home.stream("-t", task, "-m", home.script(*turns), "-o", "out", "--record", "run.jsonl")
    assert (ran.code, [each["name"] for each in ran.result["artifacts"]]) == (0, ["a.md"]), ran.stderr
    played = home.run("replay", "run.jsonl", "-o", "again")
    assert played.code == 0, played.stderr
    assert "artifact a.md, which the recording holds no content of" in played.stderr


def test_no_link_stays_among_the_artifacts(home: Home) -> None:
    """Who uploads them would follow it, to what no command can read."""
    (home.path / "key").write_text("secret")
    task = home.task(prompt="go", tools={"shell": "auto"}, expect={"checks": ["sh -c 'ln -s / \"$REMIT_OUT/root\"'"]})
    turns = shell(f'ln -s {home.path}/key "$REMIT_OUT/key.md"; ln -s /etc "$REMIT_OUT/etc"; mkfifo "$REMIT_OUT/p"')
    ran = home.stream("-t", task, "-m", home.script(*turns), "-o", "out")
    assert ran.code == 0, ran.stderr
    assert list((home.work / "out" / "artifacts").iterdir()) == []
    (told,) = [event["message"]["content"][0]["content"] for event in ran.events if event["type"] == "user"]
    assert "[etc was removed from the artifacts, which are files: it was a link to /etc]" in told
    notices = [event["text"] for event in ran.events if event.get("kind") == "artifacts"]
    assert [text.split()[0] for text in notices] == ["etc", "key.md", "p", "root"]


def test_links_that_a_killed_run_left_are_removed_by_the_next(home: Home) -> None:
    task = home.task(prompt="go", tools={"shell": "auto"})
    model = home.script(*shell('ln -s /etc "$REMIT_OUT/etc"; sleep 60'))
    link = home.work / "out" / "artifacts" / "etc"
    with home.started("run", "-t", task, "-m", model, "-o", "out") as process:
        deadline = time.monotonic() + 30
        while not link.is_symlink() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
    assert link.is_symlink()
    assert home.stream("Hi", "-m", home.script({"text": "Hi"}), "-o", "other").code == 0
    assert not link.is_symlink()


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("read_file", {"path": ".env"}, "file_refused"),
        ("read_file", {"path": "../x.md"}, "path_refused"),
        ("fetch_url", {"url": "http://169.254.169.254/latest"}, "address_refused"),
        ("fetch_url", {"url": "ftp://example.org/"}, "url_refused"),
        ("fetch_url", {"url": "http://example.org:22/"}, "port_refused"),
    ],
)
def test_what_a_tool_refuses_by_itself_is_a_refusal(home: Home, tool: str, arguments: Any, code: str) -> None:
    model = home.script({"calls": [{"tool": tool, "arguments": arguments}]}, {"text": "done"})
    task = home.task(
        prompt="go", tools={"read_file": "auto", "fetch_url": {"decide": "auto", "hosts": ["example.org"]}}
    )
    goes_on = home.stream("-t", task, "-m", model, "-o", "out")
    (result,) = (event["tool_use_result"] for event in goes_on.events if event["type"] == "user")
    assert (goes_on.code, result["error"]["code"]) == (0, code)
    (denial,) = goes_on.result["permission_denials"]
    assert (denial["source"], goes_on.result["counts"]["refusals"], goes_on.result["counts"]["failed_calls"]) == (
        "floor", 1, 0,
    )  # fmt: skip
    (decision,) = (home.work / "out" / "decisions.jsonl").read_text().splitlines()
    assert json.loads(decision)["decide"] == "deny"
    fails = home.stream("-t", task, "-m", model, "--on-deny", "fail")
    assert (fails.code, fails.result["verdict"]) == (4, "refused")


UNTOLD = stream(delta({"content": "a fairly short answer"}), delta(finish_reason="stop"))


def asked(home: Home, url: str, *more: str) -> Ran:
    return home.stream("go", "-m", "openai/m", *more, environ={"OPENAI_BASE_URL": url})


def test_a_server_that_tells_no_usage_is_estimated_and_the_cost_is_not_known(home: Home) -> None:
    with ModelServer([UNTOLD]) as server:
        ran = asked(home, server.url)
    assert ran.code == 0
    assert ran.result["spent"]["tokens"] > 100 and ran.result["cost_known"] is False
    assert [event["kind"] for event in ran.events if event.get("subtype") == "notice"] == ["usage"]


def test_a_token_cap_holds_without_usage(home: Home) -> None:
    called = stream(
        delta({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "list_files", "arguments": "{}"}}]}),
        delta(finish_reason="tool_calls"),
    )
    with ModelServer([called, text("too late")]) as server:
        ran = asked(home, server.url, "--max-tokens", "50")
        assert len(server.requests) == 1
    assert (ran.code, ran.result["error_kind"]) == (7, "tokens")


def test_an_answer_that_goes_over_its_cap_is_done_and_says_so(home: Home) -> None:
    model = home.script({"text": "done", "usage": {"input": 1000, "output": 5}})
    ran = home.stream("go", "-m", model, "--max-tokens", "10")
    assert (ran.code, ran.result["spent"]["tokens"]) == (0, 1005)
    (notice,) = (event for event in ran.events if event.get("subtype") == "notice")
    assert notice["text"] == "the answer went over the limit tokens = 10 (1005 are spent); nothing more is asked"


@pytest.mark.parametrize("schema", [{"type": ["string", "null"]}, {}])
def test_a_result_that_is_no_object_stands_in_value_and_nowhere_else(home: Home, schema: dict[str, Any]) -> None:
    (home.path / "s.json").write_text(json.dumps(schema))
    lost = {"calls": [{"tool": "structured_output", "arguments": {"answer": "the real answer"}}]}
    given = {"calls": [{"tool": "structured_output", "arguments": {"value": "the real answer"}}]}
    task = home.task(prompt="go", expect={"schema": "s.json"})
    ran = home.stream("-t", task, "-m", home.script(lost, given))
    codes = [event["tool_use_result"].get("error", {}).get("code") for event in ran.events if event["type"] == "user"]
    assert codes == ["invalid_arguments", None]
    assert (ran.code, ran.result["structured_output"]) == (0, "the real answer")


@pytest.mark.parametrize("decide", ["ask", "deny"])
def test_a_call_of_a_withheld_tool_is_a_refusal_too(home: Home, decide: str) -> None:
    model = home.script({"calls": [{"tool": "read_file", "arguments": {"path": "a"}}]}, {"text": "done"})
    ran = home.stream("go", "-m", model, "--tools", f"read_file={decide}", "--on-deny", "fail")
    assert (ran.code, ran.result["verdict"]) == (4, "refused")


@pytest.mark.parametrize("raw", ["[" * 5000, '{"path":' + "[" * 5000 + "]" * 5000 + "}", '{"a":' * 120])
def test_arguments_nested_without_end_are_wrong_arguments(home: Home, raw: str) -> None:
    model = home.script({"calls": [{"tool": "read_file", "raw": raw}]}, {"text": "done"})
    ran = home.stream("go", "-m", model, "--tools", "read_file")
    (result,) = (event["tool_use_result"] for event in ran.events if event["type"] == "user")
    assert (ran.code, result["error"]["code"]) == (0, "invalid_arguments"), ran.stderr
    assert "nested deeper than 100 levels" in result["error"]["message"]


def test_a_tool_that_is_withheld_is_not_an_unknown_one(home: Home) -> None:
    model = home.script({"calls": [{"tool": "read_file", "arguments": {"path": "a"}}]}, {"text": "done"})
    ran = home.stream("go", "-m", model, "--tools", "read_file=ask")
    (result,) = (event["tool_use_result"] for event in ran.events if event["type"] == "user")
    assert result["error"]["code"] == "denied"
    assert ran.result["counts"]["refusals"] == len(ran.result["permission_denials"]) == 1
    assert "read_file is not offered in this run: every call would be refused" in result["error"]["message"]


@pytest.mark.parametrize(
    "args",
    [("run", "go", "-o", ""), ("run", "go", "-o", "k\udcff"), ("run", "go", "--record", ""), ("resume", "")],
)
def test_an_empty_or_unreadable_name_is_no_directory(home: Home, args: tuple[str, ...]) -> None:
    model = ("-m", home.script({"text": "done"})) if args[0] == "run" else ()
    before = sorted(home.work.iterdir())
    ran = home.run(*args, *model)
    assert ran.code == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    assert sorted(home.work.iterdir()) == before


def test_the_last_run_is_the_newest_also_within_a_second(home: Home) -> None:
    model = home.script({"text": "done"})
    for number in range(4):
        home.run("run", "go", "-m", model, "-q", "-o", f"run{number}")
        shown = json.loads(home.run("runs", "show", "last", "--json").stdout)
        assert shown["directory"].endswith(f"/run{number}")


@pytest.mark.parametrize(("pattern", "code"), [(r"^\p{L}+$", 0), ("(?!a)", 2), (r"(a)\1", 2)])
def test_patterns_of_a_schema_are_those_of_re2(home: Home, pattern: str, code: int) -> None:
    (home.path / "s.json").write_text(json.dumps({"type": "object", "properties": {"a": {"pattern": pattern}}}))
    checked = home.run("task", "check", home.task(prompt="go", expect={"schema": "s.json"}))
    assert checked.code == code, checked.stderr
    assert "absl" not in checked.stderr and "b'" not in checked.stderr


def test_a_link_to_a_directory_is_the_directory(home: Home) -> None:
    """Also one that a run is taken up in again, by the link."""
    (home.work / "real").mkdir()
    (home.work / "out").symlink_to("real")
    task = home.task(prompt="go", tools={"write_artifact": "auto"}, expect={"artifacts": ["a.md"]})
    ran = home.stream("-t", task, "-m", home.script({"calls": [WRITE]}, {"text": "done"}), "-o", "out")
    assert (ran.code, ran.result["verdict"]) == (0, "done")
    assert (home.work / "real" / "artifacts" / "a.md").read_text() == "as written"
    assert (home.work / "real" / "artifacts.json").exists()
    more = home.run("resume", "out", "more", "-m", home.script({"calls": [WRITE]}, {"text": "done"}, {"text": "more"}))
    assert (more.code, home.run("runs", "show", "out").code) == (0, 0), more.stderr
