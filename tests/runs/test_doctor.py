"""`remit doctor`: what it finds, and that no key is ever shown."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from fakes.cli import Home

KEY = "sk-very-secret-0123456789abcdef"


def findings(home: Home, *args: str, code: int = 0, **environ: str) -> dict[tuple[str, str], Any]:
    ran = home.run("doctor", "--json", *args, environ=environ)
    assert ran.code == code, ran.stderr
    return {(each["area"], each["name"]): each for each in json.loads(ran.stdout)}


def test_a_fresh_place(home: Home) -> None:
    told = findings(home)
    assert told["keys", ""]["state"] == "note"
    assert told["settings", "model"]["state"] == "note"
    assert told["places", "state"]["state"] == "ok"
    assert {area for area, _ in told} >= {
        "remit",
        "python",
        "settings",
        "keys",
        "servers",
        "policy",
        "sandbox",
        "places",
    }


def test_keys_are_named_and_never_shown(home: Home) -> None:
    ran = home.run("doctor", environ={"OPENAI_API_KEY": KEY})
    assert "keys openai: variable OPENAI_API_KEY" in ran.stdout.decode()
    assert KEY not in ran.stdout.decode() + ran.stderr


def test_a_server_on_loopback_is_found(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        assert findings(home, VLLM_BASE_URL=url)["servers", "vllm"]["state"] == "ok"
    assert findings(home, VLLM_BASE_URL=url)["servers", "vllm"]["state"] == "note"


def test_rule_files_in_force_are_named(home: Home) -> None:
    rules = 'version = 1\n[[rule]]\ntools = ["shell"]\ndecide = "deny"\nwhy = "no"\n'
    (home.path / "config" / "policy.toml").write_text(rules)
    home.write(".remit/policy.toml", rules)
    told = [each for (area, _), each in findings(home).items() if area == "policy"]
    assert [each["detail"] for each in told] == ["user, always holds", "project, only tightens"]


@pytest.mark.parametrize(
    ("name", "text", "area"),
    [
        ("remit.toml", "nonsense = 1\n", "settings"),
        ("policy.toml", "version = 9\n", "policies"),
        ("providers.toml", "version = 1\n[x]\nnope = 1\n", "keys"),
    ],
)
def test_what_is_broken_is_told_and_ends_with_8(home: Home, name: str, text: str, area: str) -> None:
    (home.path / "config" / name).write_text(text)
    broken = [each for each in findings(home, code=8).values() if each["state"] == "broken"]
    assert area in {each["area"] for each in broken}
    assert name in broken[0]["detail"]


def test_every_part_works(home: Home) -> None:
    told = findings(home, "--parts")
    parts = {name: each["state"] for (area, name), each in told.items() if area == "parts"}
    assert parts == dict.fromkeys(["tools", "grammars", "ripgrep", "bash", "interpreter", "pictures", "tls"], "ok")
