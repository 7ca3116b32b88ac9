from __future__ import annotations

import contextlib
import json
import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest

from fakes.cli import REMIT, Home, Ran
from remit.commands.auth import MAX_KEY_BYTES
from remit.store.auth import AuthFile

KEY = "sk-secret-0123456789"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def keys(home: Home) -> dict[str, str]:
    return AuthFile(home.environ["REMIT_CONFIG_DIR"]).read()


def store(home: Home, provider: str = "openai", stdin: bytes = f"{KEY}\n".encode(), **keys: object) -> Ran:
    return home.run("auth", "set", provider, stdin=stdin, **keys)


def hidden(ran: Ran, secret: str = KEY) -> bool:
    """Whether nothing of the key was shown, not even its end."""
    told = ran.stdout.decode() + ran.stderr
    return not any(secret[start : start + 4] in told for start in range(len(secret) - 3))


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_key_is_read_from_a_pipe(home: Home, end: bytes) -> None:
    ran = store(home, stdin=KEY.encode() + end)
    path = home.path / "config" / "auth.toml"
    assert (ran.code, ran.stdout.decode(), ran.stderr) == (0, f"stored the key of openai in {path}\n", "")
    assert keys(home) == {"openai": KEY} and stat.S_IMODE(path.stat().st_mode) == 0o600


def typed(home: Home, answer: bytes) -> tuple[int, bytes, bytes]:
    """`remit auth set openai` on a terminal where this is typed at the prompt: exit code, stdout, and what the
    terminal showed."""
    ours, theirs = pty.openpty()
    try:
        with home.started("auth", "set", "openai", stdin=theirs, stderr=theirs, start_new_session=True) as process:
            os.close(theirs)
            shown = b""
            while b"key of openai: " not in shown:
                shown += os.read(ours, 4096)
            os.write(ours, answer)
            stdout, _ = process.communicate(timeout=30)
            with contextlib.suppress(OSError):
                while part := os.read(ours, 4096):
                    shown += part
            return process.returncode, stdout, shown
    finally:
        os.close(ours)


def test_a_key_is_asked_for_on_a_terminal_and_not_shown(home: Home) -> None:
    code, stdout, shown = typed(home, f"{KEY}\n".encode())
    assert code == 0 and keys(home) == {"openai": KEY}
    assert hidden(Ran(code, stdout, shown.decode())) and b"stored the key" in stdout


def test_a_terminal_whose_input_is_ended_gives_no_key(home: Home) -> None:
    code, _, shown = typed(home, b"\x04")
    assert code == 2 and b"no key came on standard input" in shown


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        (b"", "no key came on standard input"),
        (b"\n", "no key came on standard input"),
        (f"{KEY}\n{KEY}\n".encode(), "more than one line"),
        (f"{KEY}\n\n".encode(), "more than one line"),
        (f"{KEY}\t".encode(), "printable ASCII"),
        (f"{KEY}ä".encode(), "printable ASCII"),
        (f"{KEY}\xff".encode("latin-1"), "printable ASCII"),
        (f"{KEY}\0".encode(), "printable ASCII"),
        (f" {KEY}".encode(), "a blank before or after"),
        (f"{KEY} \n".encode(), "a blank before or after"),
        (b"k" * (MAX_KEY_BYTES + 1), "larger than 65536 bytes"),
    ],
)
def test_what_can_be_no_key_is_refused(home: Home, stdin: bytes, words: str) -> None:
    ran = store(home, stdin=stdin)
    assert ran.code == 2 and words in ran.stderr and hidden(ran)
    assert 'hint: printf %s "$KEY" | remit auth set openai' in ran.stderr
    assert keys(home) == {}


def test_the_longest_key(home: Home) -> None:
    assert store(home, stdin=b"k" * MAX_KEY_BYTES).code == 0
    assert keys(home) == {"openai": "k" * MAX_KEY_BYTES}


def test_without_a_standard_input_there_is_no_key(home: Home) -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *REMIT, "auth", "set", "openai"]
    done = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no key came on standard input" in done.stderr


@pytest.mark.parametrize(
    "args",
    [("openai", KEY), ("openai", KEY, KEY), ("openai", "--", KEY), (KEY,), (KEY, "openai"), ("gsk_0123456789abcdefg",)],
)
def test_a_key_is_never_taken_from_the_command_line(args: tuple[str, ...], home: Home) -> None:
    ran = home.run("auth", "set", *args, stdin=b"another")
    assert ran.code == 2 and hidden(ran) and hidden(ran, "gsk_0123456789abcdefg") and keys(home) == {}
    assert "the key is read from standard input, not from the command line" in ran.stderr
    assert "| remit auth set " in ran.stderr and "history" in ran.stderr


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("opnai", "there is no provider 'opnai'\nhint: did you mean openai?"),
        ("scripted", "scripted takes no key: its models are on no server"),
        ("local", "local takes no key"),
    ],
)
def test_only_providers_with_a_server_take_a_key(home: Home, provider: str, words: str) -> None:
    ran = store(home, provider)
    assert ran.code == 2 and words in ran.stderr and hidden(ran) and keys(home) == {}


def test_another_name_of_a_provider_is_the_same_one(home: Home) -> None:
    assert store(home, "gemini").code == 0
    assert keys(home) == {"google": KEY}
    assert home.run("auth", "remove", "gemini").code == 0
    assert keys(home) == {}


def test_a_variable_that_goes_before_the_file_is_told(home: Home) -> None:
    ran = store(home, environ={"OPENAI_API_KEY": "sk-other"})
    assert ran.code == 0 and ran.stderr == "note: OPENAI_API_KEY is set, and goes before it\n"


def test_without_keys_the_list_is_empty(home: Home) -> None:
    ran = home.run("auth", "list")
    assert (ran.code, ran.stdout) == (0, b"") and ran.stderr.startswith("no keys: ")
    assert json.loads(home.run("auth", "list", "--json").stdout) == []


def test_the_list_says_where_keys_come_from_and_never_shows_one(home: Home) -> None:
    (home.path / "config" / "providers.toml").write_text(
        'version = 1\n[mycorp]\nprotocol = "openai"\nbase_url = "https://h"\n'
        f'token_command = "touch {home.path}/ran"\n[gone]\nprotocol = "openai"\nbase_url = "https://h"\n'
    )
    environ = {"ANTHROPIC_API_KEY": KEY, "GOOGLE_API_KEY": KEY, "XAI_API_KEY": ""}
    for provider in ("anthropic", "openai", "gone"):
        assert store(home, provider).code == 0
    config = home.path / "config" / "providers.toml"
    config.write_text(config.read_text().partition("[gone]")[0])

    ran = home.run("auth", "list", environ=environ)
    assert ran.stdout.decode().splitlines() == [
        "anthropic  variable ANTHROPIC_API_KEY, before the auth file",
        "gone       auth file, for a provider that is not configured",
        "google     variable GOOGLE_API_KEY",
        "mycorp     token command",
        "openai     auth file",
    ]
    as_json = home.run("auth", "list", "--json", environ=environ)
    assert json.loads(as_json.stdout)[:2] == [
        {
            "provider": "anthropic",
            "source": "variable",
            "variable": "ANTHROPIC_API_KEY",
            "stored": True,
            "known": True,
        },
        {"provider": "gone", "source": "auth file", "variable": "", "stored": True, "known": False},
    ]
    assert hidden(ran) and hidden(as_json)
    assert not (home.path / "ran").exists()


def test_names_in_the_file_cannot_move_the_cursor(home: Home) -> None:
    AuthFile(home.environ["REMIT_CONFIG_DIR"]).set("\x1b[2J", KEY)
    ran = home.run("auth", "list")
    assert ran.code == 0 and b"\x1b" not in ran.stdout


def test_a_key_is_removed_once(home: Home) -> None:
    store(home)
    path = home.path / "config" / "auth.toml"
    ran = home.run("auth", "remove", "openai")
    assert (ran.code, ran.stdout.decode()) == (0, f"removed the key of openai from {path}\n")
    ran = home.run("auth", "remove", "openai")
    assert ran.code == 2 and f"there is no key of openai in {path}" in ran.stderr
    ran = home.run("auth", "remove", "opnai")
    assert ran.code == 2 and "did you mean openai?" in ran.stderr


def test_the_key_of_a_provider_that_is_configured_no_more_can_be_removed(home: Home) -> None:
    AuthFile(home.environ["REMIT_CONFIG_DIR"]).set("gone", KEY)
    assert home.run("auth", "remove", "gone").code == 0
    assert keys(home) == {}


@pytest.mark.parametrize("args", [("set", "openai"), ("list",), ("remove", "openai")])
def test_a_file_that_others_can_read_is_told_before_anything_is_done(home: Home, args: tuple[str, ...]) -> None:
    store(home)
    path = home.path / "config" / "auth.toml"
    path.chmod(0o644)
    ran = home.run("auth", *args, stdin=b"new")
    assert ran.code == 8 and f"hint: chmod 600 {path}" in ran.stderr and hidden(ran)
