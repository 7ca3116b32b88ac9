"""Whatever is redacted in a recording, it can be played."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.commands.stdin import stdin_reader
from remit.config.flags import RunFlags
from remit.config.resolve import build_spec
from remit.config.settings import load_settings
from remit.tools.registry import tool_effects
from remit.wiring import Listeners, Ports, ReadyRun, start
from remit.wiring.replayed import replay

WORDS = (
    *("read_file", "write_artifact", "structured_output", "additionalProperties", "assistant", "workspace", "tool_use"),
    *(
        "redacted",
        "[redacted]",
        "hunter2-hunter2",
        "12345678",
        "1234.5678",
        "sk-abcdefghijklmnop0123",
        "/nowhere/at/all",
    ),
    *('pass"word\\1', 'a","b":"c', "line one\nline two", "pässwörd-9", "\U0001f511-key-1", "}}}}{{{{", "/usr/bin"),
)
VALUES = st.one_of(st.sampled_from(WORDS), st.text('ab"\\/{}[]:, 01é\n', min_size=1, max_size=20))
NAMES = st.sampled_from(["DB_PASSWORD", "SESSION", "API_TOKEN", "PWD", "OLDPWD", "DESKTOP_SESSION"])
SCHEMA = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["note"],
    "additionalProperties": False,
}


def ended(ready: ReadyRun) -> tuple[int, list[str]]:
    try:
        result = asyncio.run(ready.run.go())
        return result.exit_code, [result.verdict, *result.errors]
    finally:
        ready.close()


def recorded(place: Path, environ: Mapping[str, str], texts: list[str]) -> tuple[int, list[str]]:
    """A run that is prompted with, reads, writes and gives these texts."""
    prompt, content, written, name, note = texts
    (place / "work").mkdir()
    (place / "work" / "a.md").write_text(content)
    plain = {"name": "a.md", "content": written}
    calls = [
        {"tool": "read_file", "arguments": {"path": "a.md"}},
        {"tool": "read_file", "arguments": {"path": name}},
        {"tool": "write_artifact", "arguments": plain},
        {"tool": "write_artifact", "raw": json.dumps({"content": written, "name": name}, indent=1)},
    ]
    output = {"tool": "structured_output", "arguments": {"note": note, "n": 12345678}}
    turns = [{"text": note, "calls": calls}, {"calls": [output]}, {"text": written or "Done."}]
    (place / "script.yaml").write_text(json.dumps({"version": 1, "turns": turns}, ensure_ascii=False))
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    tools = {"read_file": "auto", "write_artifact": "auto"}
    task = {"version": 1, "prompt": f"Go: {prompt}", "workspace": "work", "tools": tools}
    task["expect"] = {"schema": "schema.json"}
    (place / "task.yaml").write_text(json.dumps(task, ensure_ascii=False))
    known = load_settings(environ)
    flags = RunFlags(task=str(place / "task.yaml"), model=f"scripted/{place}/script.yaml", stdin=False)
    spec = build_spec(flags, known, tool_effects(), stdin_reader(), str(place))
    path = str(place / "recording.jsonl")
    return ended(start(spec, known, str(place / "out"), Listeners(), Ports(environ), record=path))


def played(place: Path, environ: Mapping[str, str], out: str, **keys: Any) -> tuple[int, list[str]]:
    path = str(place / "recording.jsonl")
    return ended(replay(path, load_settings(environ), str(place / out), Listeners(), Ports(environ), **keys))


@settings(max_examples=25)
@given(
    secrets=st.dictionaries(NAMES, VALUES, max_size=3),
    texts=st.lists(st.lists(st.one_of(VALUES, st.integers(0, 2)), max_size=4), min_size=5, max_size=5),
)
@example({"DB_PASSWORD": "hunter2-hunter2"}, [[0, "a"], ["x", 0], [0, " and ", 0], [0], ["see ", 0]])
@example({"PWD": "/usr/bin", "SESSION": "read_file"}, [[0, "/usr/bin"], [1], ["read_file"], [0], [0, 1]])
def test_a_recording_can_be_played_whatever_is_a_secret(secrets: dict[str, str], texts: list[list[str | int]]) -> None:
    values = list(secrets.values()) or ["x"]
    whole = ["".join(values[part % len(values)] if isinstance(part, int) else part for part in text) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        own = {"HOME": folder, "REMIT_STATE_DIR": f"{folder}/state", "REMIT_CONFIG_DIR": f"{folder}/config"}
        code, told = recorded(place, {**own, **secrets}, whole)
        assert played(place, own, "played") == (code, told)
        assert played(place, {**own, **secrets}, "live", live=True) == (code, told)
