from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.cli import Home
from remit.config.providers import load_providers
from remit.store.auth import AuthFile

KEY = "sk-secret-0123456789"

PROVIDERS = """\
version = 1

[mycorp]
protocol = "openai"
base_url = "https://llm.example.com/v1"
token_command = ["touch", "ran"]
headers = {"x-team" = "a-team"}
purposes = {best = "big"}

[[mycorp.models]]
id = "big"
context_window = 200_000
max_output_tokens = 999
vision = true
pdf = true
thinking = "effort"
price = {input = 3, output = 15, tiers = [{above = 1000, input = 6, output = 30}]}

[[mycorp.models]]
id = "small"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    (made.path / "config" / "providers.toml").write_text(PROVIDERS)
    return made


def test_the_table_of_a_provider(home: Home) -> None:
    ran = home.run("models", "--provider", "mycorp")
    dated = load_providers("/nonexistent").dated
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.decode().splitlines() == [
        f"catalog of {dated}; prices in US dollars per million tokens, + where long requests cost more",
        "MODEL         CONTEXT  OUTPUT  ABILITIES                 INPUT $/M  OUTPUT $/M  KEY",
        "mycorp/big    200,000     999  vision,pdf,thinking,best         3+         15+  token command",
        "mycorp/small        -       -  -                                 -           -  token command",
    ]
    assert not (home.work / "ran").exists()


def test_all_that_is_known_as_json(home: Home) -> None:
    big, small = json.loads(home.run("models", "--provider", "mycorp", "--json").stdout)
    assert big == {
        "id": "mycorp/big",
        "provider": "mycorp",
        "name": "big",
        "protocol": "openai",
        "base_url": "https://llm.example.com/v1",
        "context_window": 200_000,
        "max_output_tokens": 999,
        "output_in_window": True,
        "vision": True,
        "pdf": True,
        "thinking": "effort",
        "cache_breakpoints": False,
        "price": {
            "input": 3.0,
            "output": 15.0,
            "cache_read": None,
            "cache_write": None,
            "tiers": [{"above": 1000, "input": 6.0, "output": 30.0, "cache_read": None, "cache_write": None}],
        },
        "purposes": ["best"],
        "key_required": False,
        "key": {"source": "token command", "variable": ""},
        "gguf": "",
    }
    assert big.keys() == small.keys() and small["price"] is None and small["context_window"] is None


def test_every_model_is_listed_with_where_its_key_is(home: Home) -> None:
    AuthFile(home.environ["REMIT_CONFIG_DIR"]).set("openai", KEY)
    ran = home.run("models", "--json", environ={"GEMINI_API_KEY": KEY})
    listed = json.loads(ran.stdout)
    assert [each["id"] for each in listed] == [spec.id for spec in load_providers(str(home.path / "config")).models()]
    sources = {each["provider"]: (each["key"]["source"], each["key"]["variable"]) for each in listed}
    assert sources["openai"] == ("auth file", "")
    assert sources["google"] == ("variable", "GEMINI_API_KEY")
    assert sources["anthropic"] == ("none", "")
    assert KEY.encode() not in ran.stdout
    table = home.run("models").stdout.decode().splitlines()
    assert [line.split()[0] for line in table[2:]] == [each["id"] for each in listed]


def test_the_prices_of_the_settings_count(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text('[prices."mycorp/small"]\ninput = 1\noutput = 2.5\n')
    lines = home.run("models", "--provider", "mycorp").stdout.decode().splitlines()
    assert lines[3].split() == ["mycorp/small", "-", "-", "-", "1", "2.5", "token", "command"]


def test_a_provider_by_its_other_name(home: Home) -> None:
    listed = json.loads(home.run("models", "--provider", "gemini", "--json").stdout)
    assert listed and {each["provider"] for each in listed} == {"google"}


def test_a_provider_without_models_of_its_own(home: Home) -> None:
    ran = home.run("models", "--provider", "vllm")
    assert ran.code == 0 and len(ran.stdout.splitlines()) == 1
    assert ran.stderr == "no models of vllm are listed; any can be named: -m vllm/MODEL\n"
    assert home.run("models", "--provider", "vllm", "--json").stdout.strip() == b"[]"


def test_an_unknown_provider_is_a_usage_error(home: Home) -> None:
    ran = home.run("models", "--provider", "mycrop")
    assert (ran.code, ran.stdout) == (2, b"") and "did you mean mycorp?" in ran.stderr


def test_what_is_wrong_with_the_file_is_told_with_its_lines(home: Home) -> None:
    place = home.path / "config" / "providers.toml"
    place.write_text("version = 1\n[openai]\nbase_url = 'x'\nqueri = {}\n")
    ran = home.run("models")
    assert (ran.code, ran.stdout) == (2, b"")
    assert f"{place}:3: `openai.base_url`: expected a URL" in ran.stderr
    assert f"{place}:4: unknown key `openai.queri` (did you mean `query`?)" in ran.stderr


def test_an_auth_file_that_others_can_read_is_told(home: Home) -> None:
    AuthFile(home.environ["REMIT_CONFIG_DIR"]).set("openai", KEY)
    (home.path / "config" / "auth.toml").chmod(0o640)
    ran = home.run("models")
    assert ran.code == 8 and "chmod 600" in ran.stderr
