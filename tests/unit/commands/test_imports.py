"""What a command loads: nothing that it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.model_server import ModelServer, text

# The process ends at once after a run, so that is where to look.
LOOK = """
import atexit, os, sys
end = os._exit
def tell():
    print(*sys.modules, file=sys.stderr)
    sys.stderr.flush()
def tell_and_end(code):
    tell()
    end(code)
os._exit = tell_and_end
atexit.register(tell)
sys.argv = ["remit", *sys.argv[1:]]
from remit.__main__ import main
main()
"""

# Where the first connection is about to be made.
CONNECTING = """
import sys
sys.addaudithook(lambda event, args: event == "socket.connect" and tell_and_end(0))
"""

NEVER = {"httpx", "httpcore", "anyio", "selectolax", "jsonschema", "re2", "xllamacpp", "rich", "click"}
NOT_FOR_ASKING = {
    "ctypes",
    "typer",
    "http.client",
    "email",
    "urllib.request",
    "sqlite3",
    "yaml",
    "idna",
    "certifi",
    "sniffio",
}
NOT_BEFORE_ASKING = {
    "dataclasses",
    "h11",
    "remit.providers.openai_chat_decoder",
    "remit.providers.sse",
    "remit.providers.bodies",
}
NOT_FOR_WORDS = NEVER | {"remit.providers", "remit.tools.documents", "remit.net", "remit.wiring", "asyncio", "sqlite3"}


def loaded(home: Home, *args: str, look: str = LOOK) -> set[str]:
    """The modules in the process at its end."""
    ran = subprocess.run(
        [sys.executable, "-c", look, *args],
        cwd=home.work,
        env=home.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("run", "--help"),
        ("resume", "--help"),
        ("task", "new", "--help"),
        ("runs", "list", "--help"),
        ("man", "--help"),
        ("completion", "--words", "runs"),
        ("events",),
    ],
    ids=" ".join,
)
def test_words_load_no_network_provider_or_tool(args: tuple[str, ...], tmp_path: Path) -> None:
    modules = loaded(Home(tmp_path), *args)
    assert "typer" in modules
    assert modules & NOT_FOR_WORDS == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_made_without_network_provider_or_tool(shell: str, tmp_path: Path) -> None:
    modules = loaded(Home(tmp_path), "completion", shell)
    assert "remit.commands.policy" in modules
    assert modules & (NEVER | {"remit.providers", "remit.tools.documents", "remit.wiring"}) == set()


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_loads_nothing(flag: str, tmp_path: Path) -> None:
    modules = loaded(Home(tmp_path), flag)
    assert {name for name in modules if name.partition(".")[0] == "remit"} == {"remit", "remit.__main__"}
    assert modules & {"typer", "msgspec", "typing", "re"} == set()


def test_a_run_loads_only_the_provider_and_the_tools_it_uses(tmp_path: Path) -> None:
    home = Home(tmp_path)
    modules = loaded(home, "run", "hello", "-m", home.script({"text": "Hi."}), "--tools", "read_file")
    assert "remit.tools.documents.read_file" in modules
    assert "remit.tools.documents.analyze_csv" not in modules
    assert {name for name in modules if name.startswith("remit.providers.")} & {
        "remit.providers.openai_chat",
        "remit.providers.local",
        "remit.providers.replay",
    } == set()
    assert modules & (NEVER | {"csv", "sqlite3"}) == set()


def test_a_run_has_loaded_what_reads_an_answer_once_it_has_one_and_no_more_of_the_web(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with ModelServer([text("Hi.")]) as server:
        home.environ["OPENAI_BASE_URL"] = server.url
        modules = loaded(home, "run", "hello", "-m", "openai/m")
    assert modules >= {"h11", "remit.providers.openai_chat_decoder"}
    assert modules & (NEVER | NOT_FOR_ASKING) == set()


MAX_PATTERNS = 60
"""Compiled before the first request, those of the standard library included. Measured: 46."""

COUNTING = """
import sys
def count():
    import re
    print(f"patterns:{len(re._cache)}", file=sys.stderr)
    end(0)
sys.addaudithook(lambda event, args: event == "socket.connect" and count())
"""


def test_before_its_first_request_a_run_compiles_few_patterns(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    [told] = loaded(home, "run", "hello", "-m", "openai/m", look=COUNTING + LOOK)
    assert int(told.removeprefix("patterns:")) <= MAX_PATTERNS, told


def test_before_its_first_request_a_run_loads_nothing_that_reads_answers(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    modules = loaded(home, "run", "hello", "-m", "openai/m", look=CONNECTING + LOOK)
    assert "remit.providers.openai_chat" in modules
    assert modules & (NEVER | NOT_FOR_ASKING | NOT_BEFORE_ASKING) == set()
