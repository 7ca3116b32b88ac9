"""What a hook puts in the place of a result."""

from __future__ import annotations

from typing import Any

import pytest

from remit.base.calls import done
from remit.base.hook_outputs import EMPTY, replaced

HAD = done({"stdout": "secret", "stderr": "", "exit_code": 0, "text": "secret"}, "secret")


@pytest.mark.parametrize(
    ("tool", "value", "text", "data"),
    [
        ("shell", {"stdout": "a", "stderr": "b"}, "a\nb", {**HAD.data, "stdout": "a", "stderr": "b"}),
        ("shell", "a", "a", "a"),
        ("file_read", {"type": "text", "file": {"content": "a"}}, "a", {**HAD.data, "text": "a"}),
        ("file_read", {"text": "a"}, "a", {**HAD.data, "text": "a"}),
        ("mcp__s__t", [{"type": "text", "text": "a"}], "a", {"content": [{"type": "text", "text": "a"}]}),
        ("mcp__s__t", {"content": [{"text": "a"}, {"text": "b"}]}, "a\nb", {"content": [{"text": "a"}, {"text": "b"}]}),
        ("file_glob", {"files": []}, '{"files":[]}', {"files": []}),
        ("file_glob", "", EMPTY, ""),
    ],
)
def test_it_is_taken_in_the_shape_of_the_tool(tool: str, value: Any, text: str, data: Any) -> None:
    outcome = replaced(tool, HAD, value)
    assert outcome is not None and (outcome.ok, outcome.for_model(), outcome.data) == (True, text, data)


@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("shell", {"output": "a"}),
        ("shell", ["a"]),
        ("file_read", {"file": {}}),
        ("mcp__s__t", {"content": "a"}),
        ("mcp__s__t", [{"type": "image"}]),
        ("file_glob", 7),
    ],
)
def test_another_shape_is_not_taken(tool: str, value: Any) -> None:
    assert replaced(tool, HAD, value) is None
