"""How much a run that works on code says before the model has said anything."""

from __future__ import annotations

import json

import pytest

from fakes.cli import Home
from fakes.first_request import MAX_BYTES, MAX_SYSTEM_BYTES, first_request, system_bytes
from fakes.speaking import WIRES
from remit.base.spec import Protocol


@pytest.mark.parametrize("protocol", WIRES)
def test_the_first_request_of_a_coding_run_is_small(home: Home, protocol: Protocol) -> None:
    home.write(".git/HEAD", "ref: refs/heads/feature/short-names\n")
    body = first_request(home, protocol)
    assert len(body) <= MAX_BYTES, f"{len(body)} bytes"
    assert system_bytes(body, protocol) <= MAX_SYSTEM_BYTES
    said = json.dumps(json.loads(body))
    assert "Git branch: feature/short-names" in said
    for name in ("file_read", "file_edit", "file_grep", "shell", "todo_write", "code_map", "python_execution"):
        assert name in said, f"{name} can neither be called nor loaded"
