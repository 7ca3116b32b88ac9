"""Whole numbers at the ends of what they may be, and far behind them, in whole runs."""

from __future__ import annotations

import json
from typing import Any

from fakes.cli import Home, ended, journal
from remit.tools import registry
from remit.tools.contract import full_schema

REST: dict[str, dict[str, Any]] = {
    "code_context": {"task": "make f better"},
    "code_impact": {"symbol": "f"},
    "code_map": {},
    "code_refs": {"symbol": "f"},
    "file_grep": {"pattern": "f"},
    "file_read": {"filePath": "a.py"},
    "python_execution": {"code": "1"},
    "read_file": {"path": "a.py"},
    "shell": {"command": "true"},
    "task_control": {"action": "list"},
    "tool_output": {"output_id": "none"},
}
"""What else a call of each tool with a whole number needs."""

HUGE = 10**30


def calls() -> list[dict[str, Any]]:
    """Each parameter at its least, at its most, and behind both."""
    made = []
    for tool in registry.all_tools().values():
        for name, node in full_schema(tool.Params)["properties"].items():
            for choice in node.get("anyOf", [node]):
                if choice.get("type") == "integer":
                    values = (choice["minimum"], choice["maximum"], HUGE, -HUGE)
                    made += [
                        {"tool": tool.name, "raw": json.dumps({**REST[tool.name], name: value})} for value in values
                    ]
    return made


def test_no_number_is_a_bug(home: Home) -> None:
    home.write("a.py", "def f():\n    pass\n")
    made = calls()
    script = home.script({"calls": made}, {"text": "Done."})
    tools = ",".join(f"{name}=auto" for name in REST)
    ran = home.stream("go", "-m", script, "-o", str(home.out), "--tools", tools, "--max-calls", "none")
    ended(home.out, 0)
    outcomes = [each["outcome"] for each in journal(home.out, "call_settled")]
    assert len(outcomes) == len(made), ran.stderr
    codes = [outcome["ok"] or outcome["error"]["code"] for outcome in outcomes]
    behind = ["invalid_arguments", "denied"]
    assert all(code in behind for code in codes[2::4] + codes[3::4]), codes
    assert set(codes) <= {True, *behind, "not_found", "offset_past_end"}, codes
    assert codes.count(True) > 20
    assert "Traceback" not in (home.out / "journal.jsonl").read_text()
