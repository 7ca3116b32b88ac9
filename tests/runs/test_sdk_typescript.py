"""The official TypeScript client drives `remit-sdk` as it drives the program it was made for."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home
from fakes.sdk import program

PACKAGES = {"@anthropic-ai/claude-agent-sdk": "0.3.332", "zod": "4.1.12"}
CLIENT = Path(__file__).parents[1] / "fakes" / "sdk_client.mjs"
LIMIT = 90

pytestmark = pytest.mark.heavy

DONE = {"text": "Done."}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


WRITE = call("file_write", filePath="a.txt", content="A")


@pytest.fixture(scope="session")
def modules() -> Path:
    """Where the packages are: installed once for a user and a set of versions, by whichever test comes first."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("the TypeScript client needs npm and node")
    named = "-".join(version for version in PACKAGES.values())
    place = Path(tempfile.gettempdir()) / f"remit-test-npm-{os.getuid()}-{named}"
    place.mkdir(mode=0o700, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "installed").exists():
            _install(npm, place)
    return place


def _install(npm: str, place: Path) -> None:
    (place / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    # Without the program that the client would bring along, which is large and not what is driven here.
    flags = ("--no-audit", "--no-fund", "--omit=optional", "--ignore-scripts", "--fetch-retries=0")
    try:
        done = subprocess.run(
            [npm, "install", *flags], cwd=place, capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the registry of npm did not answer within 300 s")
    if any(word in done.stderr for word in ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH")):
        pytest.skip(f"the registry of npm cannot be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    (place / "installed").touch()


def drive(home: Home, modules: Path, scenario: str, *turns: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The lines of the client after a scenario."""
    given = {
        "modules": str(modules),
        "pathToClaudeCodeExecutable": str(program(home)),
        "cwd": str(home.work),
        "env": home.environ,
        "model": home.script(*turns),
        **options,
    }
    node = shutil.which("node")
    assert node is not None
    ran = subprocess.run(
        [node, str(CLIENT), scenario],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def of_type(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == kind]


def results(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks of results of tools."""
    contents = (line["message"]["content"] for line in of_type(lines, "user"))
    return [block for content in contents if isinstance(content, list) for block in content if "tool_use_id" in block]


def test_a_question_and_its_answer(home: Home, modules: Path) -> None:
    home.write("a.txt", "hello\n")
    lines = drive(home, modules, "question", call("file_read", filePath="a.txt"), {"text": "It says hello."})
    [told] = results(lines)
    assert "hello" in told["content"]
    [last] = of_type(lines, "result")
    assert (last["subtype"], last["result"], last["num_turns"]) == ("success", "It says hello.", 2)


def test_a_permission_with_changed_input(home: Home, modules: Path) -> None:
    lines = drive(home, modules, "allow", WRITE, DONE)
    [seen] = of_type(lines, "seen")
    assert (seen["name"], seen["input"]["content"]) == ("Write", "A")
    assert (home.work / "a.txt").read_text() == "B"
    assert of_type(lines, "result")[0]["subtype"] == "success"


def test_a_permission_that_is_refused(home: Home, modules: Path) -> None:
    lines = drive(home, modules, "deny", WRITE, DONE)
    [told] = results(lines)
    assert (told["content"], told["is_error"]) == ("not here", True)
    [last] = of_type(lines, "result")
    assert [denial["tool_name"] for denial in last["permission_denials"]] == ["Write"]
    assert not (home.work / "a.txt").exists()


def test_a_question_that_a_person_answers(home: Home, modules: Path) -> None:
    questions = [{"question": "Which one?", "header": "Choice", "options": [{"label": "red"}, {"label": "blue"}]}]
    lines = drive(home, modules, "answer", call("question", questions=questions), DONE)
    [seen] = of_type(lines, "seen")
    assert seen["name"] == "AskUserQuestion"
    [told] = results(lines)
    assert told["content"] == "Choice: red"


def test_an_interrupt(home: Home, modules: Path) -> None:
    slow = call("shell", command="sleep 60")
    lines = drive(home, modules, "interrupt", slow, DONE, allowedTools=["Bash"])
    [last] = of_type(lines, "result")
    assert last["subtype"] == "error_during_execution"


def test_structured_output(home: Home, modules: Path) -> None:
    lines = drive(home, modules, "schema", call("structured_output", total=3), DONE)
    [last] = of_type(lines, "result")
    assert (last["subtype"], last["structured_output"]) == ("success", {"total": 3})


def test_tools_that_live_in_the_client(home: Home, modules: Path) -> None:
    lines = drive(home, modules, "server", call("mcp__demo__add", a=2, b=3), DONE)
    assert [(seen["a"], seen["b"]) for seen in of_type(lines, "seen")] == [(2, 3)]
    [told] = results(lines)
    assert told["content"] == [{"type": "text", "text": "5"}]
    assert of_type(lines, "result")[0]["subtype"] == "success"
