"""The first request of a run that works on code, as the server of each wire gets it."""

from __future__ import annotations

import json

from fakes.cli import Home
from fakes.model_server import ModelServer
from fakes.speaking import KEY, speaking
from remit.base.spec import Protocol
from remit.tools import registry

PROMPT = "Fix the failing test."
WANTED = (
    *("file_read", "file_write", "file_edit", "file_apply_patch", "file_glob", "file_grep", "file_index"),
    *("shell", "task", "task_control", "todo_write", "python_execution", "execution_environment"),
    *("code_map", "code_context", "code_refs", "code_impact", "code_expand"),
)
"""Files, search, shell, agents and todos, and what can be loaded beside them."""

MAX_BYTES = 8000
MAX_SYSTEM_BYTES = 2000


def first_request(home: Home, protocol: Protocol, model: str = "m") -> bytes:
    """The body of the request. model: of which nothing is known, so that it gets as little as a small one."""
    speaker = speaking(protocol)
    ticks = [f"{name}=auto" for name in WANTED if name in registry.places()]
    with ModelServer([speaker.say("Done.")]) as server:
        tables = f'version = 1\n[own]\nprotocol = "{protocol}"\nbase_url = "{speaker.base_url(server)}"\n'
        (home.path / "config" / "providers.toml").write_text(f'{tables}api_key_env = "OWN_KEY"\n')
        flags = ("-m", f"own/{model}", "--tools", ",".join(ticks), "-o", str(home.out))
        ran = home.stream(PROMPT, *flags, environ={"OWN_KEY": KEY})
    assert ran.code == 0, ran.stderr
    return server.requests[0].raw


def system_bytes(body: bytes, protocol: Protocol) -> int:
    """Bytes of the system prompt's text in a request."""
    data = json.loads(body)
    if protocol == "anthropic":
        blocks = data["system"] if isinstance(data["system"], list) else [{"text": data["system"]}]
        return sum(len(block["text"].encode()) for block in blocks)
    if protocol == "google":
        return sum(len(part["text"].encode()) for part in data["systemInstruction"]["parts"])
    if protocol == "openai-responses":
        return len(data["instructions"].encode())
    return len(data["messages"][0]["content"].encode())
