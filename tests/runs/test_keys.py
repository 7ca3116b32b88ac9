"""Where the key of a run comes from, and that nothing but the server ever sees it."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended
from fakes.model_server import ModelServer, Received, Reply
from fakes.speaking import WIRES, Speaker, speaking
from remit.base.errors import PreflightFault
from remit.base.spec import ModelSpec, Protocol
from remit.store.auth import AuthFile
from remit.wiring.keys import MAX_KEY_BYTES, printed_key

# Keys without the shape of one: only their values give them away.
FROM_VARIABLE = "variable.0123456789.abcdefgh"
FROM_FILE = "auth-file.0123456789.abcdefgh"
FROM_COMMAND = "command.0123456789.abcdefgh"
RENEWED = "renewed.0123456789.abcdefgh"
CHAT = speaking("openai")


def configure(home: Home, server: ModelServer, speaker: Speaker = CHAT, **keys: Any) -> None:
    """A provider `own`, whose key is looked for under a name that sounds like none. keys: more of its table."""
    values = {"protocol": speaker.protocol, "base_url": speaker.base_url(server), "api_key_env": "OWN_LOGIN", **keys}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in values.items()]
    (home.path / "config" / "providers.toml").write_text("".join(["version = 1\n[own]\n", *lines]))


def command(home: Home, body: str) -> list[str]:
    """A token command: a Python program."""
    program = home.path / "login.py"
    program.write_text(body)
    return [sys.executable, "-S", str(program)]


def printing(home: Home, *keys: str) -> list[str]:
    """A token command that prints one key after the other, one each time; then it fails."""
    for number, key in enumerate(keys):
        (home.path / f"token-{number}").write_text(key)
    folder = str(home.path)
    return command(
        home,
        f"import os\nname = min(each for each in os.listdir({folder!r}) if each.startswith('token-'))\n"
        f"path = os.path.join({folder!r}, name)\nprint(open(path).read())\nos.remove(path)\n",
    )


def stored(home: Home, key: str = FROM_FILE) -> Path:
    file = AuthFile(home.environ["REMIT_CONFIG_DIR"])
    file.set("own", key)
    return Path(file.path)


def ran(home: Home, *args: str, **environ: str) -> Ran:
    return home.stream("Go", "-m", "own/m", "-o", str(home.out), *args, environ=environ)


def key_of(received: Received) -> str:
    return received.headers["authorization"].removeprefix("Bearer ")


def assert_hidden(home: Home, done: Ran, *keys: str) -> None:
    """Neither told nor written, but where the user keeps it."""
    own = {"auth.toml", "login.py", "secret.txt"}
    for key in keys:
        assert key.encode() not in done.stdout and key not in done.stderr
        files = [path for path in home.path.rglob("*") if path.is_file() and path.name not in own]
        assert [path for path in files if key.encode() in path.read_bytes()] == []


# -- where it comes from -----------------------------------------------------------------------------

SOURCES = ("variable", "file", "command")
KEYS = {"variable": FROM_VARIABLE, "file": FROM_FILE, "command": FROM_COMMAND}


@pytest.mark.parametrize("having", [SOURCES, ("file", "command"), ("command",)], ids="+".join)
def test_the_first_source_that_has_one_counts(home: Home, having: tuple[str, ...]) -> None:
    with ModelServer([CHAT.say("Done.")]) as server:
        configure(home, server, **({"token_command": printing(home, FROM_COMMAND)} if "command" in having else {}))
        if "file" in having:
            assert stat.S_IMODE(stored(home).stat().st_mode) == 0o600
        done = ran(home, **({"OWN_LOGIN": FROM_VARIABLE} if "variable" in having else {}))
        [received] = server.requests
    assert done.result == ended(home.out, 0)
    assert key_of(received) == KEYS[having[0]]
    told = {"variable": "OWN_LOGIN", "file": f"{home.path}/config/auth.toml", "command": "the token command of own"}
    assert done.events[0]["apiKeySource"] == told[having[0]]
    # A command that is not needed is not run.
    assert (home.path / "token-0").exists() == ("command" in having and having[0] != "command")
    (home.path / "token-0").unlink(missing_ok=True)
    assert_hidden(home, done, *KEYS.values())


def test_a_key_that_was_set_is_used_by_the_next_run(home: Home) -> None:
    with ModelServer([CHAT.say("Done.")]) as server:
        configure(home, server)
        kept = home.run("auth", "set", "own", stdin=f"{FROM_FILE}\n".encode())
        assert (kept.code, kept.stderr) == (0, "")
        assert ran(home).code == 0
        assert list(map(key_of, server.requests)) == [FROM_FILE]


def test_no_key_anywhere(home: Home) -> None:
    with ModelServer([]) as server:
        configure(home, server)
        done = ran(home)
        assert server.requests == []
    assert (done.code, done.result["error_kind"]) == (8, "no_key")
    assert "OWN_LOGIN" in done.stderr and "remit auth set own" in done.stderr and not home.out.exists()


def test_an_auth_file_that_others_can_read_is_refused(home: Home) -> None:
    with ModelServer([]) as server:
        configure(home, server)
        path = stored(home)
        path.chmod(0o644)
        done = ran(home)
        assert server.requests == []
    assert (done.code, done.result["error_kind"]) == (8, "auth_file")
    assert f"chmod 600 {path}" in done.stderr and "0644" in done.stderr
    assert_hidden(home, done, FROM_FILE)


# -- token commands ----------------------------------------------------------------------------------


def test_a_key_is_renewed_when_it_is_no_longer_taken(home: Home) -> None:
    home.write("a.md", "A\n")
    look = CHAT.say(calls=[("c1", "read_file", '{"path":"a.md"}')])
    expired = CHAT.refusal(401, message=f"the token {FROM_COMMAND} has expired, unlike {RENEWED}")
    with ModelServer([look, expired, CHAT.say(f"With {RENEWED}, not {FROM_COMMAND}.")]) as server:
        configure(home, server, token_command=printing(home, FROM_COMMAND, RENEWED))
        done = ran(home)
        assert list(map(key_of, server.requests)) == [FROM_COMMAND, FROM_COMMAND, RENEWED]
    assert done.result == ended(home.out, 0) and done.result["counts"]["retry"] == 1
    [retry] = [event for event in done.events if event.get("subtype") == "api_retry"]
    assert (retry["error_status"], retry["retry_delay_ms"]) == (401, 0)
    assert done.result["result"] == "With [redacted], not [redacted]."
    assert_hidden(home, done, FROM_COMMAND, RENEWED)


def test_a_run_whose_key_cannot_be_renewed_can_be_taken_up_again(home: Home) -> None:
    with ModelServer([CHAT.refusal(401), CHAT.say("Done.")]) as server:
        configure(home, server, token_command=printing(home, FROM_COMMAND))
        done = ran(home)
        assert done.result == ended(home.out, 5)
        assert (done.result["error_kind"], done.result["resumable"]) == ("auth", True)
        assert "token command of own" in done.result["errors"][0] and "by hand" in done.result["hint"]
        printing(home, RENEWED)
        assert home.run("resume", str(home.out)).code == 0
        assert list(map(key_of, server.requests)) == [FROM_COMMAND, RENEWED]


FAILING = {
    "fails": ("import sys\nsys.exit('no session, log in')\n", "ended with exit code 1: no session, log in"),
    "prints nothing": ("", "did not print one line with a key"),
    "prints two lines": (f"print('{FROM_COMMAND}')\nprint('Welcome!')\n", "did not print one line with a key"),
}


@pytest.mark.parametrize(("body", "said"), FAILING.values(), ids=FAILING)
def test_a_token_command_that_gives_no_key(home: Home, body: str, said: str) -> None:
    with ModelServer([]) as server:
        configure(home, server, token_command=command(home, body))
        done = ran(home)
        assert server.requests == []
    assert (done.code, done.result["error_kind"]) == (8, "no_key") and not home.out.exists()
    assert said in done.stderr and "run it by hand" in done.stderr
    assert_hidden(home, done, FROM_COMMAND)


def printed(home: Home, body: str, **keys: Any) -> str:
    model = ModelSpec(id="own/m", protocol="openai", token_command=tuple(command(home, body)))
    return printed_key(model, dict(os.environ), **keys)


def fault_of(home: Home, body: str, **keys: Any) -> str:
    with pytest.raises(PreflightFault) as caught:
        printed(home, body, **keys)
    assert caught.value.kind == "no_key"
    return caught.value.what


def test_a_token_command_has_its_time(home: Home) -> None:
    began = time.monotonic()
    what = fault_of(home, f"import time\nprint('{FROM_COMMAND}', flush=True)\ntime.sleep(60)\n", seconds=0.3)
    assert "did not end within 0.3 s" in what and FROM_COMMAND not in what
    assert time.monotonic() - began < 30


def test_a_token_command_that_is_not_there() -> None:
    with pytest.raises(PreflightFault, match="cannot be started: No such file"):
        printed_key(ModelSpec(id="own/m", protocol="openai", token_command=("/nowhere/login",)), {})


def test_a_token_command_may_print_as_much_as_a_key_has_and_no_more(home: Home) -> None:
    assert len(printed(home, f"print('k' * {MAX_KEY_BYTES})")) == MAX_KEY_BYTES
    assert "one line with a key" in fault_of(home, f"print('k' * {MAX_KEY_BYTES + 1})")


def test_a_token_command_that_complains_does_not_give_its_key_away(home: Home) -> None:
    body = f"import sys\nprint('{FROM_COMMAND}')\nsys.exit('refused: {FROM_COMMAND}')\n"
    assert fault_of(home, body).endswith("exit code 1: refused: [redacted]")


# -- nobody else sees it -----------------------------------------------------------------------------


def leaking(speaker: Speaker, key: str) -> list[Reply]:
    """A server that repeats the key wherever it can."""
    write = json.dumps({"name": "r.md", "content": f"The key is {key}."})
    calls = [("call_one", "read_file", '{"path":"secret.txt"}'), ("call_two", "write_artifact", write)]
    return [
        speaker.say(f"I have {key}.", thought=f"Hm, {key}.", calls=calls),
        speaker.refusal(400, message=f"your key {key} is odd"),
    ]


@pytest.mark.parametrize(("protocol", "source"), list(zip(WIRES, ("variable", "file", "command", "file"), strict=True)))
def test_a_key_is_shown_to_its_server_alone(home: Home, protocol: Protocol, source: str) -> None:
    key = KEYS[source]
    home.write("secret.txt", f"key = {key}\n")
    speaker = speaking(protocol)
    with ModelServer(leaking(speaker, key)) as server:
        configure(
            home,
            server,
            speaker,
            **({"token_command": command(home, f"print('{key}')")} if source == "command" else {}),
        )
        if source == "file":
            stored(home)
        environ = {"OWN_LOGIN": key} if source == "variable" else {}
        done = ran(
            home, "--tools", "read_file,write_artifact", "--record", str(home.path / "recording.jsonl"), **environ
        )
        first, second = server.requests
    assert any(key in value for value in first.headers.values())
    assert key not in second.raw.decode() and second.raw.decode().count("[redacted]") >= 3
    assert done.result == ended(home.out, 5)
    assert "your key [redacted] is odd" in done.result["errors"][0]
    assert (home.out / "artifacts" / "r.md").read_text() == "The key is [redacted]."
    assert (home.path / "recording.jsonl").stat().st_size > 1000
    assert_hidden(home, done, key)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_token_command_that_prints_for_ever_is_ended(home: Home, stream: str) -> None:
    body = f"import sys\nwhile True:\n    sys.{stream}.write('y' * 65536)\n"
    assert "token command" in fault_of(home, body)


def test_what_a_token_command_leaves_running_does_not_hold_the_run(home: Home) -> None:
    """Its time is up when a program in the background holds its output, and nothing of it is left."""
    mark = home.path / "left.pid"
    body = (
        "import os, subprocess\n"
        f"left = subprocess.Popen(['sleep', '300'])\nopen({str(mark)!r}, 'w').write(str(left.pid))\n"
        f"print('{FROM_COMMAND}')\n"
    )
    assert "did not end within" in fault_of(home, body, seconds=1.5)
    pid = int(mark.read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


ODD_KEY = 'own/"odd"\\\\key-1234'


@pytest.mark.parametrize("key", ["sk.0123456789/abcdefgh", ODD_KEY, "tr0ub4do"])
@pytest.mark.parametrize("spelling", ["plain", "escaped", "escaped twice"])
def test_a_key_in_the_arguments_of_a_call_is_hidden_from_the_tool_too(home: Home, spelling: str, key: str) -> None:
    escaped = "".join(f"\\u{ord(char):04x}" for char in key)
    inner = {"plain": json.dumps(key)[1:-1], "escaped": escaped, "escaped twice": json.dumps(escaped)[1:-1]}[spelling]
    calls = [
        ("c1", "write_artifact", f'{{ "name" : "r.md",  "content" : "The key is {inner}. caf\\u00e9" }}'),
        ("c2", "read_file", f'{{"path": "{inner}"}}'),
        ("c3", "read_file", f'{{"path": "{inner}'),
        ("c4", inner, "{}"),
    ]
    path = home.path / "recording.jsonl"
    with ModelServer([CHAT.say(calls=calls), CHAT.say(f"It is {key}, or {inner}.")]) as server:
        configure(home, server)
        done = ran(home, "--tools", "read_file,write_artifact", "--record", str(path), OWN_LOGIN=key)
        sent = server.requests[1].raw.decode()
    assert done.result == ended(home.out, 0)
    assert (home.out / "artifacts" / "r.md").read_text() == "The key is [redacted]. café"
    for text in (sent, done.stdout.decode(), done.stderr, *texts_below(home)):
        assert not any(key in meant for meant in meanings(text))
    played = home.run("replay", str(path), "-o", str(home.path / "played"))
    assert played.code == 0, played.stderr
    assert (home.path / "played" / "artifacts" / "r.md").read_text() == "The key is [redacted]. café"


UNESCAPED = re.compile(r'\\(?:u[0-9a-f]{4}|["\\/])')
"""An escape of JSON in any text."""


def meanings(text: str) -> Iterator[str]:
    """A text as it is, and with the escapes of texts in texts resolved."""
    for _ in range(4):
        yield text
        text = UNESCAPED.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)


def texts_below(home: Home) -> list[str]:
    """What lies in files that are not the user's own."""
    own = {"auth.toml", "login.py", "secret.txt"}
    return [path.read_text() for path in home.path.rglob("*") if path.is_file() and path.name not in own]


@pytest.mark.parametrize(("key", "shown"), [("lm-studio", True), ("lm-studio2", False), ("EMPTYKEY", True)])
def test_a_placeholder_is_a_word_of_the_texts(home: Home, key: str, shown: bool) -> None:
    with ModelServer([CHAT.say(f"Say {key}.")]) as server:
        configure(home, server)
        stored(home, key)
        done = ran(home)
    assert done.result["result"] == (f"Say {key}." if shown else "Say [redacted].")
