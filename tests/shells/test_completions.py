"""What bash, zsh and fish offer when TAB is pressed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.programs import needs
from remit.commands.manual import page_words
from remit.commands.shells import SHELLS, completion_script
from remit.commands.shells.words import known_words
from remit.commands.task import example_names
from remit.commands.tree import command_tree
from remit.config.providers import load_providers
from remit.store.memory import MemoryProposals
from remit.tools.registry import places
from shells.sessions import ask, session

TOOLS = set(places())
EXAMPLES = set(example_names(resources.files("remit").joinpath("examples")))
FILES = {"a b.yaml", "sub", "task.yaml"}
SELECTORS = {f"fetch_url:{name}=" for name in ("path", "host", "url", "command", "topic", "agent", "name")}

OFFERED: dict[str, set[str]] = {
    "remit ": {child.name for child in command_tree().children},
    "remit ru": {"run", "runs"},
    "remit task ": {"check", "schema", "new"},
    "remit run --ta": {"--task"},
    "remit run --max-a": {"--max-artifact-bytes", "--max-artifacts-total-bytes"},
    "remit run -t task.yaml --qu": {"--quiet"},
    "remit run 'a prompt' --qu": {"--quiet"},
    "remit run --no-": {"--no-instructions", "--no-rtk", "--no-stdin"},
    "remit run ": set(),
    "remit run -i ": set(),
    "remit run --max-turns ": set(),
    # values of choices
    "remit run --output-format ": {"text", "json", "stream-json", "codex-json"},
    "remit run --output-format=j": {"--output-format=json"},
    "remit run --on-ask ": {"deny", "stop"},
    "remit completion ": set(SHELLS),
    "remit completion bash ": set(),
    # files and directories
    "remit run -t ": FILES,
    "remit run --task=ta": {"--task=task.yaml"},
    "remit run -t sub/": {"sub/script.yaml"},
    "remit run -o ": {"sub"},
    "remit task check task.yaml ": FILES,
    "remit policy check ": FILES,
    # names
    "remit run --tools ": TOOLS,
    "remit run --tools an": {"analyze_csv"},
    "remit run --tools read_file,an": {"read_file,analyze_csv"},
    "remit run --tools read_file=": {"read_file=auto", "read_file=ask", "read_file=deny"},
    "remit run --tools read_file=as": {"read_file=ask"},
    "remit run --tools read_file=auto,an": {"read_file=auto,analyze_csv"},
    "remit run --tools read_file,analyze_csv=d": {"read_file,analyze_csv=deny"},
    "remit run --tools=an": {"--tools=analyze_csv"},
    "remit run --allow fe": {"fetch_url"},
    "remit run --deny fetch_url:": SELECTORS,
    "remit run --allow fetch_url:ho": {"fetch_url:host="},
    "remit policy explain ": TOOLS,
    "remit policy explain -p task.yaml li": {"list_files"},
    "remit policy explain read_file ": set(),
    "remit run -m ": {f"{name}/" for name in load_providers("").names()},
    "remit run -m scripted/sub/": {"scripted/sub/script.yaml"},
    "remit resume last --model=opena": {"--model=openai/"},
    "remit run --example ": EXAMPLES,
    "remit task new --example ": EXAMPLES,
    "remit man ": set(page_words()),
    "remit man task": {"task", "task.5"},
    # after -- there are no flags
    "remit run -- -": set(),
}


def plain(word: str) -> str:
    """A word as it is compared: its last part, as shells split it, without a mark at its end."""
    return re.split("[=:/]", word.replace("\\", "").rstrip(" =/:"))[-1]


def plain_words(line: str, words: list[str]) -> set[str]:
    """Where nothing else may stand zsh offers the flags, unasked; those are passed over."""
    asked = line.rpartition(" ")[2].startswith("-")
    return {plain(word) for word in words if asked or not word.startswith("-")}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A workspace with some files, and the remit of this environment on PATH."""
    home = Home(tmp_path)
    home.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{home.environ['PATH']}"
    for name in ("a b.yaml", "task.yaml", "sub/script.yaml"):
        home.write(name, "")
    return home


def script_of(shell: str, home: Home) -> Path:
    """The script under the name it is installed by."""
    script = home.path / SHELLS[shell]
    script.write_text(completion_script(shell, command_tree(), known_words()), encoding="utf-8")
    return script


@pytest.mark.parametrize("shell", SHELLS)
def test_offers_what_may_stand_there(shell: str, home: Home) -> None:
    needs(shell)
    answers = ask(shell, list(OFFERED), script_of(shell, home), home.work, home.environ)
    seen = {line: plain_words(line, words) for line, words in zip(OFFERED, answers, strict=True)}
    assert seen == {line: {plain(word) for word in words} for line, words in OFFERED.items()}


@pytest.mark.parametrize("shell", SHELLS)
def test_offers_every_flag_of_every_command(shell: str, home: Home) -> None:
    needs(shell)
    lines = {}
    for command in command_tree().walk():
        flags = {name for flag in command.flags for name in (*flag.names, *flag.negative)}
        lines[" ".join(("remit", *command.path, "-"))] = flags
    answers = ask(shell, list(lines), script_of(shell, home), home.work, home.environ)
    assert {line: set(map(plain, words)) for line, words in zip(lines, answers, strict=True)} == lines


@pytest.mark.parametrize("shell", SHELLS)
def test_offers_the_users_own_runs_and_proposals(shell: str, home: Home) -> None:
    needs(shell)
    assert home.run("run", "hello", "-m", home.script({"text": "Hi."})).code == 0
    proposal = MemoryProposals(home.environ["REMIT_STATE_DIR"]).propose(
        "20260301-120000-abcdef", "t1.c1", task="t", text="a fact: true", tags=(), reason="", created=0.0
    )
    (run_id,) = home.run("completion", "--words", "runs").stdout.decode().split("\t")[:1]
    lines = ["remit resume ", "remit runs show 2", "remit memory accept ", "remit memory reject other "]
    answers = ask(shell, lines, script_of(shell, home), home.work, home.environ)
    resumed, shown, accepted, rejected = [{plain(word) for word in words} for words in answers]
    assert {"last", run_id} <= resumed
    assert shown == {run_id}
    assert accepted == rejected == {proposal}


@pytest.mark.parametrize("shell", SHELLS)
def test_offers_nothing_of_the_user_without_remit_on_the_path(shell: str, home: Home) -> None:
    needs(shell)
    binaries = home.path / "bin"
    binaries.mkdir()
    (binaries / shell).symlink_to(needs(shell))
    home.environ["PATH"] = f"{binaries}{os.pathsep}/usr/bin{os.pathsep}/bin"
    answers = ask(shell, ["remit memory accept "], script_of(shell, home), home.work, home.environ)
    assert answers == [[]]


INSERTED = {
    "remit run --tools read_file=auto,an": ["run", "--tools", "read_file=auto,analyze_csv"],
    "remit run --task=ta": ["run", "--task=task.yaml"],
    "remit run -t a": ["run", "-t", "a b.yaml"],
    "remit run -m scripted/sub/s": ["run", "-m", "scripted/sub/script.yaml"],
    "remit run --allow fetch_url:ho": ["run", "--allow", "fetch_url:host="],
    "remit run -C su": ["run", "-C", "sub/"],
}


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_line_reads_as_it_was_meant(shell: str, home: Home) -> None:
    needs(shell)
    with session(shell, script_of(shell, home), home.work, home.environ) as opened:
        taken = {line: opened.takes(line) for line in INSERTED}
    assert {line: [word.rstrip("/") for word in words] for line, words in taken.items()} == {
        line: [word.rstrip("/") for word in words] for line, words in INSERTED.items()
    }


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_bad_settings_file_leaves_the_terminal_alone(shell: str, home: Home) -> None:
    needs(shell)
    (home.path / "config" / "remit.toml").write_text("modle = 1\n", encoding="utf-8")
    with session(shell, script_of(shell, home), home.work, home.environ) as opened:
        assert opened.offers("remit memory accept ") == []
        assert b"modle" not in opened.screen


def test_the_zsh_script_can_be_sourced(home: Home) -> None:
    code = "autoload -Uz compinit; compinit -u -D; source $1; print -r -- $_comps[remit]"
    ran = subprocess.run(
        [needs("zsh"), "-f", "-c", code, "zsh", str(script_of("zsh", home))],
        env=home.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == ("_remit\n", "")
