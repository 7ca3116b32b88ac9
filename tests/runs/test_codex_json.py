"""`--output-format codex-json`: the lines, and the fields of each."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.cli import Home

ITEMS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "agent_message": {"text": str},
    "reasoning": {"text": str},
    "command_execution": {
        "command": str,
        "aggregated_output": str,
        "exit_code": (int, type(None)),
        "status": str,
    },
    "file_change": {"changes": list, "status": str},
    "mcp_tool_call": {
        "server": str,
        "tool": str,
        "arguments": dict,
        "result": (dict, type(None)),
        "error": (dict, type(None)),
        "status": str,
    },
    "todo_list": {"items": list},
}
USAGE = {
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
}
LINES: dict[str, set[str]] = {
    "thread.started": {"thread_id"},
    "turn.started": set(),
    "turn.completed": {"usage"},
    "turn.failed": {"error"},
    "error": {"message"},
    "item.started": {"item"},
    "item.updated": {"item"},
    "item.completed": {"item"},
}


def hold(line: dict[str, Any]) -> dict[str, Any]:
    """Exactly the fields that its type has."""
    assert set(line) - {"type"} == LINES[line["type"]], line
    if "item" in line:
        item = line["item"]
        fields = ITEMS[item["type"]]
        assert set(item) == {"id", "type", *fields}, item
        assert all(isinstance(item[name], kinds) for name, kinds in fields.items()), item
    if "usage" in line:
        assert set(line["usage"]) == USAGE
    return line


def played(home: Home, *turns: dict[str, Any], code: int = 0, tools: str = "") -> list[dict[str, Any]]:
    args = ["--tools", tools] if tools else []
    ran = home.run("run", "-m", home.script(*turns), *args, "--output-format", "codex-json", "-q", "go")
    assert ran.code == code, ran.stderr
    return [hold(line) for line in ran.events]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


def test_an_answer(home: Home) -> None:
    seen = played(home, {"text": "Done.", "thinking": "Hm.", "usage": {"input": 5, "output": 2, "cache_read": 3}})
    kinds = [line["type"] for line in seen]
    assert kinds == ["thread.started", "turn.started", "item.completed", "item.completed", "turn.completed"]
    assert [line["item"]["type"] for line in seen[2:4]] == ["reasoning", "agent_message"]
    assert seen[3]["item"] == {"id": "item_1", "type": "agent_message", "text": "Done."}
    assert seen[-1]["usage"]["input_tokens"] == 8 and seen[-1]["usage"]["cached_input_tokens"] == 3


@pytest.mark.parametrize(("command", "code", "status"), [("echo hi", 0, "completed"), ("echo hi; exit 3", 3, "failed")])
def test_a_command(home: Home, command: str, code: int, status: str) -> None:
    seen = played(home, call("shell", command=command), {"text": "Done."}, tools="shell=auto")
    started, ended = (line["item"] for line in seen if line.get("item", {}).get("type") == "command_execution")
    assert (started["status"], started["exit_code"]) == ("in_progress", None)
    assert (ended["status"], ended["exit_code"], ended["aggregated_output"].strip()) == (status, code, "hi")
    assert started["id"] == ended["id"]


def test_a_change_of_a_file_and_one_that_is_refused(home: Home) -> None:
    write = call("file_write", filePath="a.txt", content="A")
    again = call("file_edit", filePath="a.txt", oldString="A", newString="B")
    seen = played(home, write, again, {"text": "Done."}, tools="file_write=auto,file_edit=deny")
    [changed] = [line["item"] for line in seen if line.get("item", {}).get("type") == "file_change"]
    assert changed["changes"] == [{"path": str(home.work / "a.txt"), "kind": "add"}]


def test_a_list_of_things_to_do(home: Home) -> None:
    first = [{"content": "one", "status": "pending", "priority": "high"}]
    second = [{**first[0], "status": "completed"}]
    seen = played(
        home, call("todo_write", todos=first), call("todo_write", todos=second), {"text": "Done."}, tools="todo_write"
    )
    told = [(line["type"], line["item"]["items"]) for line in seen if line.get("item", {}).get("type") == "todo_list"]
    due = [("item.started", False), ("item.updated", True), ("item.completed", True)]
    assert told == [(kind, [{"text": "one", "completed": done}]) for kind, done in due]


def test_other_tools_and_their_failures(home: Home) -> None:
    home.write("a.txt", "A\n")
    seen = played(
        home,
        call("file_read", filePath="a.txt"),
        call("file_read", filePath="b.txt"),
        {"text": "Done."},
        tools="file_read",
    )
    ended = [line["item"] for line in seen if line["type"] == "item.completed" and "tool" in line["item"]]
    assert [(item["server"], item["tool"], item["status"]) for item in ended] == [
        ("remit", "file_read", "completed"),
        ("remit", "file_read", "failed"),
    ]
    assert ended[0]["result"]["structured_content"] is None and "b.txt" in ended[1]["error"]["message"]


def test_a_failure(home: Home) -> None:
    seen = played(home, {"error": {"kind": "auth", "message": "bad key"}}, code=5)
    assert [line["type"] for line in seen[-2:]] == ["error", "turn.failed"]
    assert seen[-2]["message"] == seen[-1]["error"]["message"]
    assert "bad key" in seen[-2]["message"]
