from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from remit.base.errors import Faults, UsageFault
from remit.base.spec import ModelSpec, Price, PriceTier
from remit.config.providers import KeySource, Provider, Providers, key_source, load_providers

FULL = """\
version = 1

[mycorp]
display_name = "My Corp"
protocol = "anthropic"
base_url = "https://llm.example.com/v1"
base_url_env = "MC_URL"
api_key_env = ["MC_KEY", "MC_KEY_2"]
key_required = false
token_command = "my-login --as 'the bot'"
auth_header = "api-key"
headers = {"x-team" = "a"}
query = {"api-version" = "2025-01-01"}
default_model = "big"
purposes = {fast = "small", best = "big"}

[[mycorp.models]]
id = "big"
context_window = 200_000
max_output_tokens = 32_000
output_in_window = false
vision = true
pdf = false
thinking = "adaptive"
cache_breakpoints = true
price = {input = 3, output = 15.0, cache_read = 0.3, cache_write = 3.75, tiers = [
  {above = 500_000, input = 9.0, output = 30.0, cache_read = 0.9, cache_write = 9.5},
  {above = 200_000, input = 6.0, output = 22.5},
]}

[[mycorp.models]]
id = "small"
"""

CUSTOM = '[mycorp]\nprotocol = "openai"\nbase_url = "https://llm.example.com"\n'


def load(folder: Path, text: str) -> Providers:
    (folder / "providers.toml").write_text(text, encoding="utf-8")
    return load_providers(str(folder))


def faults_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(Faults) as caught:
        load(folder, text)
    return [str(fault).replace(f"{folder}/providers.toml:", "") for fault in caught.value.faults]


def test_every_key_of_a_custom_provider(tmp_path: Path) -> None:
    providers = load(tmp_path, FULL)
    assert providers.model("mycorp/big") == ModelSpec(
        id="mycorp/big",
        protocol="anthropic",
        base_url="https://llm.example.com/v1",
        base_url_env="MC_URL",
        auth_header="api-key",
        key_env=("MC_KEY", "MC_KEY_2"),
        key_required=False,
        token_command=("my-login", "--as", "the bot"),
        headers={"x-team": "a"},
        query={"api-version": "2025-01-01"},
        context_window=200_000,
        max_output_tokens=32_000,
        output_in_window=False,
        vision=True,
        pdf=False,
        thinking="adaptive",
        cache_breakpoints=True,
        small=False,
        price=Price(3.0, 15.0, 0.3, 3.75, (PriceTier(200_000, 6.0, 22.5), PriceTier(500_000, 9.0, 30.0, 0.9, 9.5))),
    )
    entry = providers.provider("mycorp")
    assert (entry.display_name, entry.where) == ("My Corp", f"{tmp_path}/providers.toml:3")
    digest = hashlib.sha256(FULL.encode()).hexdigest()
    assert providers.files == {str(tmp_path / "providers.toml"): digest}


def test_what_a_custom_provider_has_when_it_says_no_more_than_it_must(tmp_path: Path) -> None:
    providers = load(tmp_path, 'version = 1\n[my-corp]\nprotocol = "google"\nbase_url = "http://[::1]:8000/v1"\n')
    assert providers.model("my-corp/org/m:7b") == ModelSpec(
        id="my-corp/org/m:7b",
        protocol="google",
        base_url="http://[::1]:8000/v1",
        base_url_env="MY_CORP_BASE_URL",
        key_env=("MY_CORP_API_KEY",),
    )


@pytest.mark.parametrize(
    ("line", "key_env", "required"),
    [
        ("", ("MYCORP_API_KEY",), False),
        ('api_key_env = "K"', ("K",), True),
        ('api_key_env = "K"\nkey_required = false', ("K",), False),
        ("key_required = true", ("MYCORP_API_KEY",), True),
    ],
)
def test_a_key_is_needed_where_its_variable_is_named(
    tmp_path: Path, line: str, key_env: tuple[str, ...], required: bool
) -> None:
    spec = load(tmp_path, f"version = 1\n{CUSTOM}{line}\n").model("mycorp/m")
    assert (spec.key_env, spec.key_required) == (key_env, required)


@pytest.mark.parametrize("text", ["", "\n", "# version = 2\n", "version = 1\n"])
def test_a_file_that_says_nothing(tmp_path: Path, text: str) -> None:
    providers = load(tmp_path, text)
    assert providers.entries == load_providers("/nonexistent").entries
    assert list(providers.files) == [str(tmp_path / "providers.toml")]


def test_a_built_in_provider_is_overridden_key_by_key_and_model_by_model(tmp_path: Path) -> None:
    text = """\
version = 1
[anthropic]
purposes = {fast = "claude-haiku-4-5"}
headers = {"x-team" = "a"}
[[anthropic.models]]
id = "claude-opus-5"
max_output_tokens = 1000
price = {input = 1.0, output = 2.0}
[[anthropic.models]]
id = "claude-next"
vision = false
"""
    below, over = load_providers("/nonexistent"), load(tmp_path, text)
    old, new = below.model("anthropic/claude-opus-5"), over.model("anthropic/claude-opus-5")
    assert (new.max_output_tokens, new.price, new.headers) == (1000, Price(1.0, 2.0), {"x-team": "a"})
    assert (new.context_window, new.thinking, new.base_url, new.key_env, new.key_required) == (
        old.context_window,
        old.thinking,
        old.base_url,
        old.key_env,
        True,
    )
    assert over.purpose("fast", "anthropic") == "anthropic/claude-haiku-4-5"
    assert over.purpose("best", "anthropic") == below.purpose("best", "anthropic")
    assert over.model("claude-next").vision is False
    others = {name: entry for name, entry in over.entries.items() if name != "anthropic"}
    assert others == {name: entry for name, entry in below.entries.items() if name != "anthropic"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('base_url = "http://127.0.0.1:1/v1"', ("openai", None, False)),
        ('base_url = "http://127.0.0.1:1/v1"\nkey_required = true', ("openai", None, True)),
        ('base_url = "http://127.0.0.1:1/v1"\napi_key_env = "K"', ("openai", None, True)),
        ('base_url = "http://127.0.0.1:1/v1"\nprotocol = "openai-responses"', ("openai-responses", None, False)),
        ('base_url = "https://API.openai.com/v1/"', ("openai-responses", "openai", True)),
        ('protocol = "openai"', ("openai", None, True)),
        ('display_name = "x"', ("openai-responses", "openai", True)),
    ],
)
def test_another_address_speaks_what_other_servers_speak_and_needs_no_key(
    tmp_path: Path, lines: str, expected: tuple[Any, ...]
) -> None:
    spec = load(tmp_path, f"version = 1\n[openai]\n{lines}\n").model("openai/m")
    assert (spec.protocol, spec.protocol_elsewhere, spec.key_required) == expected


def test_weights_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    text = (
        'version = 1\n[[local.models]]\nid = "a"\ngguf = "/srv/w.gguf"\n[[local.models]]\nid = "b"\ngguf = "~/w.gguf"\n'
    )
    providers = load(tmp_path, text)
    assert (providers.model("local/a").gguf, providers.model("b").gguf) == ("/srv/w.gguf", "/home/me/w.gguf")
    assert providers.model("local//srv/other.gguf").name == "/srv/other.gguf"


@pytest.mark.parametrize(
    ("name", "ident"),
    [
        ("openai/gpt-4.1", "openai/gpt-4.1"),
        ("gpt-4.1", "openai/gpt-4.1"),
        ("openai/org/model:7b", "openai/org/model:7b"),
        ("openai/anything-new", "openai/anything-new"),
        ("gemini/gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("gemini/best", "google/gemini-4-carbon"),
        ("anthropic/fast", "anthropic/claude-haiku-5-5"),
        ("local//srv/w.gguf", "local//srv/w.gguf"),
        ("scripted/fast", "scripted/fast"),
        ("replay/../run.jsonl", "replay/../run.jsonl"),
        ("mycorp", "mycorp/big"),
        ("mycorp/best", "mycorp/big"),
        ("fast", "mycorp/small"),
        ("best", "mycorp/big"),
        ("small", "mycorp/small"),
    ],
)
def test_how_a_model_can_be_named(tmp_path: Path, name: str, ident: str) -> None:
    assert load(tmp_path, FULL).model(name).id == ident


def test_a_listed_model_goes_before_the_purpose_of_its_name(tmp_path: Path) -> None:
    assert load(tmp_path, 'version = 1\n[[vllm.models]]\nid = "fast"\n').model("vllm/fast").name == "fast"


def test_a_model_that_is_not_known_is_one_all_the_same() -> None:
    spec = load_providers("/nonexistent").model("openai/anything-new")
    assert (spec.context_window, spec.price, spec.vision, spec.thinking) == (None, None, None, None)
    assert spec.base_url == "https://api.openai.com/v1" and spec.output_in_window


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-4x", ("names no provider", "did you mean openai/gpt-4o?", "models are written PROVIDER/MODEL")),
        ("opnai/gpt-4o", ("no provider 'opnai'", "did you mean openai/MODEL?")),
        ("replai", ("did you mean replay/FILE?",)),
        ("", ("names no provider", "openai/MODEL", "local/PATH.gguf")),
        ("/x", ("no provider ''",)),
        ("openai/", ("names no model of openai", "write openai/MODEL")),
        ("mycorp/", ("names no model of mycorp", "write mycorp/MODEL")),
        ("openai", ("names no model of openai",)),
        ("scripted", ("names no model of scripted", "scripted/FILE")),
        ("local/", ("local/smollm2",)),
        ("vllm/fast", ("vllm has no model for the purpose `fast`", "below [vllm] in providers.toml")),
    ],
)
def test_a_name_that_is_none_says_which_are(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    providers = load(tmp_path, FULL)
    with pytest.raises(UsageFault) as caught:
        providers.model(name)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_purpose_alone_needs_one_provider_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="write PROVIDER/fast"):
        load_providers("/nonexistent").model("fast")
    both = 'version = 1\n[openai]\npurposes = {fast = "a"}\n[anthropic]\npurposes = {fast = "b"}\n'
    with pytest.raises(UsageFault, match=r"one of several providers\nhint: write one of anthropic/fast, openai/fast"):
        load(tmp_path, both).model("fast")


def test_a_name_of_several_providers_has_to_say_which(tmp_path: Path) -> None:
    text = 'version = 1\n[[vllm.models]]\nid = "gpt-4.1"\n'
    with pytest.raises(UsageFault, match=r"write one of openai/gpt-4\.1, vllm/gpt-4\.1"):
        load(tmp_path, text).model("gpt-4.1")


def test_a_provider_that_is_none_says_which_is_near() -> None:
    providers = load_providers("/nonexistent")
    assert providers.provider("gemini").name == "google"
    with pytest.raises(UsageFault, match=r"there is no provider 'antropic'\nhint: did you mean anthropic\?"):
        providers.provider("antropic")
    with pytest.raises(UsageFault, match="the providers are anthropic, azure"):
        providers.purpose("fast", "zzz")
    assert providers.purpose("fast", "vllm") == ""


FAULTS: list[tuple[str, list[str]]] = [
    ("[openai]\n", ["1: `version` is missing (write version = 1 above the providers)"]),
    ("version = 2\n[a]\n", ["1: `version`: 2 is newer than 1, the newest that is known here (a newer remit reads it)"]),
    ("version = 0\n", ["1: `version`: expected 1, seen 0"]),
    ("version = true\n", ["1: `version`: expected 1, seen true"]),
    ("version = '1'\n", ["1: `version`: expected 1, seen '1'"]),
    ("version = \n", ["1: not valid TOML: invalid value"]),
    ("version = 1\nmodels = 3\n", ["2: unknown key `models` (a provider is a table: [NAME])"]),
    (
        "version = 1\n[My_Corp]\n",
        ["2: `My_Corp` is no name of a provider (use at most 40 lower-case letters, digits and dashes)"],
    ),
    (
        "version = 1\n[-a]\n[b." + "c" * 3 + "]\n",
        [
            "2: `-a` is no name of a provider (use at most 40 lower-case letters, digits and dashes)",
            "3: unknown key `b.ccc` (known keys: display_name, base_url, base_url_env, api_key_env, key_required, "
            "token_command, auth_header, headers, query, default_model, purposes, models, protocol)",
            "3: `b.protocol` is missing (one of openai, openai-responses, anthropic, google)",
            "3: `b.base_url` is missing (such as https://llm.example.com/v1)",
        ],
    ),
    ("version = 1\n[gemini]\n", ["2: `gemini` is another name of google (write [google])"]),
    (
        "version = 1\n[antropic]\n",
        [
            "2: `antropic.protocol` is missing (did you mean `anthropic`?)",
            "2: `antropic.base_url` is missing (such as https://llm.example.com/v1)",
        ],
    ),
    (
        "version = 1\n[openai]\nprotocol = 'local'\nbas_url = 'x'\n",
        [
            "3: `openai.protocol`: expected openai | openai-responses | anthropic | google, seen 'local'",
            "4: unknown key `openai.bas_url` (did you mean `base_url`?)",
        ],
    ),
    (
        "version = 1\n[openai]\napi_key = 'sk-1'\n",
        [
            "3: `openai.api_key`: this file holds no keys (take it out, and run `remit auth set openai` or name a "
            "variable in `api_key_env`, or a program in `token_command`)"
        ],
    ),
    (
        "version = 1\n[openai]\napi_key_env = 'sk-secret'\nbase_url_env = '1X'\n",
        [
            "3: `openai.api_key_env`: expected the name of a variable, such as MYCORP_API_KEY (never the key itself)",
            "4: `openai.base_url_env`: expected the name of a variable, such as MYCORP_API_KEY (never the key itself)",
        ],
    ),
    (
        "version = 1\n[openai]\napi_key_env = [\n'OK',\n'not ok']\n",
        ["5: `openai.api_key_env[1]`: expected the name of a variable, such as MYCORP_API_KEY (never the key itself)"],
    ),
    (
        "version = 1\n[openai]\nheaders = {Authorization = 'a', x-api-key = 'b', 'a b' = 'c', x = \"d\\n\"}\n",
        [
            "3: `openai.headers.Authorization`: a header of this name holds a secret, and this file holds none "
            "(name a variable in `api_key_env`, or a program in `token_command`, and write auth_header = "
            "'Authorization' if the key goes there)",
            "3: `openai.headers.x-api-key`: a header of this name holds a secret, and this file holds none "
            "(name a variable in `api_key_env`, or a program in `token_command`, and write auth_header = "
            "'x-api-key' if the key goes there)",
            "3: `openai.headers.'a b'`: not a name of a header",
            "3: `openai.headers.x`: a header has only printable ASCII characters",
        ],
    ),
    (
        "version = 1\n[openai]\nquery = {KEY = 'a', access_token = 'b', v = 'ok'}\n",
        [
            "3: `openai.query.KEY`: a parameter of this name holds a secret, and this file holds none "
            "(name a variable in `api_key_env`, or a program in `token_command`)",
            "3: `openai.query.access_token`: a parameter of this name holds a secret, and this file holds none "
            "(name a variable in `api_key_env`, or a program in `token_command`)",
        ],
    ),
    ("version = 1\n[openai]\nauth_header = 'a: b'\n", ["3: `openai.auth_header`: not a name of a header"]),
    (
        'version = 1\n[openai]\ntoken_command = "a \'b"\n',
        [
            "3: `openai.token_command`: not a command: no closing quotation "
            "(write a list of words, or quote as for a shell)"
        ],
    ),
    (
        "version = 1\n[openai]\ntoken_command = ' '\n[xai]\ntoken_command = []\n",
        [
            "3: `openai.token_command`: the command is empty (write a list of words, or quote as for a shell)",
            "5: `xai.token_command`: the command is empty (write a list of words, or quote as for a shell)",
        ],
    ),
    (
        "version = 1\n[local]\nbase_url = 'http://x'\n[replay]\nkey_required = true\n",
        [
            "3: `local.base_url` means nothing: local models are on no server",
            "5: `replay.key_required` means nothing: replay models are on no server",
        ],
    ),
    (
        "version = 1\n[[local.models]]\nid = 'a'\ngguf = 'w'\n[[openai.models]]\nid = 'b'\ngguf = '/w'\n",
        [
            "4: `local.models[0].gguf`: expected an absolute path, seen 'w'",
            "7: `openai.models[0].gguf` means nothing: only models of [local] have weights here",
        ],
    ),
    (
        "version = 1\n[[openai.models]]\nid = 'a'\n[[openai.models]]\nid = 'a'\n[[openai.models]]\nid = ' b'\n",
        [
            "5: `openai.models[1].id`: 'a' is given twice (a model has one entry)",
            "7: `openai.models[2].id`: a name has no control characters and no blanks around it",
        ],
    ),
    (
        "version = 1\n[[openai.models]]\nid = 'a'\ncontext_window = 0\nmax_output_tokens = 1.5\nthinking = 'much'\n"
        "vision = 'yes'\nprice = {input = -1, cache_read = 1000000000, cache_write = 1e308}\nthinkin = 'none'\n",
        [
            "4: `openai.models[0].context_window`: expected a whole number of at least 1, seen 0",
            "5: `openai.models[0].max_output_tokens`: expected a whole number of at least 1, seen 1.5",
            "6: `openai.models[0].thinking`: expected none | budget | adaptive | effort | level, seen 'much'",
            "7: `openai.models[0].vision`: expected true or false, seen 'yes' (write true or false)",
            "8: `openai.models[0].price.input`: expected a number of at least 0 and of at most 1000000000, seen -1",
            "8: `openai.models[0].price.cache_write`: expected a number of at least 0 and of at most 1000000000, "
            "seen 1e+308",
            "8: `openai.models[0].price.output` is missing",
            "9: unknown key `openai.models[0].thinkin` (did you mean `thinking`?)",
        ],
    ),
    (
        "version = 1\n[openai]\napi_key_env = []\n",
        ["3: `openai.api_key_env`: the list is empty (name a variable, or leave the key out)"],
    ),
    ("version = 1\n[[openai.models]]\nvision = true\n", ["2: `openai.models[0].id` is missing"]),
    (
        "version = 1\n[[openai.models]]\nid = 'a'\nprice = {input = 1, output = 1, tiers = ["
        "{above = 5, input = 1, output = 1}, {above = 5, input = 2, output = 2}]}\n",
        ["4: `openai.models[0].price.tiers`: two tiers begin at the same size"],
    ),
    (
        "version = 1\n[openai]\npurposes = {cheap = 'a'}\n",
        ["3: unknown key `openai.purposes.cheap` (known keys: fast, best)"],
    ),
]


@pytest.mark.parametrize(("text", "faults"), FAULTS, ids=range(len(FAULTS)))
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert faults_of(tmp_path, text) == faults


FRAMING = "accept-encoding connection content-encoding content-length Content-Type expect HOST keep-alive"
FRAMING += " proxy-authorization Proxy-Connection TE trailer Transfer-Encoding upgrade"


@pytest.mark.parametrize("name", FRAMING.split())
@pytest.mark.parametrize("line", ["headers = {{{} = 'x'}}", "auth_header = '{}'"])
def test_headers_that_frame_the_request_are_not_the_users(tmp_path: Path, name: str, line: str) -> None:
    [fault] = faults_of(tmp_path, f"version = 1\n[openai]\n{line.format(name)}\n")
    assert "a header of this name says how the request travels, and is not yours to set" in fault


SECRETS = "Ocp-Apim-Subscription-Key x-api-key api-key apikey X-ApiKey-2 authorization cookie x-auth-token x-key-id"
SECRETS += " X-Secret-Of-Mine password-for-x Authentication clientSecret x_access_token accessKey"


@pytest.mark.parametrize("name", SECRETS.split())
def test_a_header_or_parameter_with_the_name_of_a_secret_is_refused(tmp_path: Path, name: str) -> None:
    for table in ("headers", "query"):
        [fault] = faults_of(tmp_path, f"version = 1\n[openai]\n{table} = {{{name} = 'hunter2'}}\n")
        assert f"`openai.{table}.{name}`" in fault and "holds a secret" in fault and "hunter2" not in fault
        assert "`api_key_env`" in fault and ("auth_header" in fault) == (table == "headers")


OPEN = (
    "x-team anthropic-beta OpenAI-Organization x-max-tokens x-author http-referer x-title x-monkey user-agent x-route"
)


@pytest.mark.parametrize("name", OPEN.split())
def test_a_header_with_any_other_name_is_sent(tmp_path: Path, name: str) -> None:
    text = f"version = 1\n[openai]\nheaders = {{{name} = 'a'}}\n"
    assert load(tmp_path, text).provider("openai").headers == {name: "a"}


THINKING = {
    "openai": {"none", "effort"},
    "openai-responses": {"none", "effort"},
    "anthropic": {"none", "budget", "adaptive"},
    "google": {"none", "budget", "level"},
}


@pytest.mark.parametrize("protocol", THINKING)
@pytest.mark.parametrize("word", ["none", "budget", "adaptive", "effort", "level"])
def test_how_to_think_is_told_in_words_of_the_protocol(tmp_path: Path, protocol: str, word: str) -> None:
    known = f'version = 1\n[b]\nprotocol = "{protocol}"\nbase_url = "http://h"\n'
    text = f'{known}[[b.models]]\nid = "m"\nthinking = "{word}"\n'
    if word in THINKING[protocol]:
        assert load(tmp_path, text).model("b/m").thinking == word
    else:
        [fault] = faults_of(tmp_path, text)
        assert fault.startswith(
            f"7: `b.models[0].thinking`: '{word}' cannot be told in the protocol {protocol} (one of "
        )


def test_a_built_in_provider_has_its_words_to_think(tmp_path: Path) -> None:
    text = "version = 1\n[[{}.models]]\nid = 'm'\nthinking = 'adaptive'\n"
    assert load(tmp_path, text.format("anthropic")).model("anthropic/m").thinking == "adaptive"
    assert "the protocol openai-responses" in faults_of(tmp_path, text.format("openai"))[0]
    for model in load_providers("/nonexistent").models():
        assert (model.thinking or "none") in THINKING.get(model.protocol, {"none"}), model.id


def test_the_faults_of_all_providers_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = faults_of(tmp_path, "version = 1\n[xai]\nkey_required = 1\n[b]\n[openai]\nauth_header = ':'\n")
    assert [fault.partition(":")[0] for fault in found] == ["3", "4", "4", "6"]


@pytest.mark.parametrize("secret", ["sk-secret", "u:p4ss"])
def test_no_message_shows_what_may_be_a_key(tmp_path: Path, secret: str) -> None:
    text = (
        f"version = 1\n[openai]\napi_key = '{secret}'\napi_key_env = '{secret}'\nbase_url = 'https://{secret}@h/v1'\n"
        f"headers = {{authorization = '{secret}'}}\nquery = {{key = '{secret}'}}\n"
    )
    found = faults_of(tmp_path, text)
    assert len(found) == 5 and secret not in "".join(found)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://h", ""),
        ("HTTP://h:65535/a/b", ""),
        ("http://[::1]:8000/v1/", ""),
        ("http://127.0.0.1:11434/v1", ""),
        ("h/v1", "expected a URL that starts with https:// or http://"),
        ("ftp://h", "expected a URL that starts with https:// or http://"),
        ("https://", "the URL names no host"),
        ("https://h:65536", "a port is at most 65535"),
        ("https://h:x", "the URL names no host"),
        ("https://h h/v1", "the URL names no host"),
        ("https://u:p@h/v1", "a base URL holds no user name and no password"),
        ("https://u@h", "a base URL holds no user name and no password"),
        ("https://h/v1#a", "a base URL ends before ? and #; what follows ? stands in `query`"),
        ("https://h/v1?a=b", "a base URL ends before ? and #; what follows ? stands in `query`"),
        ("https://h/a b", "a URL has no blanks, no control characters and only ASCII"),
        ("https://h/\\t", "a URL has no blanks, no control characters and only ASCII"),
        ("https://h/ä", "a URL has no blanks, no control characters and only ASCII"),
    ],
)
def test_which_base_urls_can_be_used(tmp_path: Path, url: str, fault: str) -> None:
    text = f'version = 1\n[mycorp]\nprotocol = "openai"\nbase_url = "{url}"\n'
    if fault:
        assert faults_of(tmp_path, text) == [f"4: `mycorp.base_url`: {fault}"]
    else:
        assert load(tmp_path, text).model("mycorp/m").base_url == url


@pytest.mark.parametrize(("length", "good"), [(40, True), (41, False)])
def test_how_long_a_name_may_be(tmp_path: Path, length: int, good: bool) -> None:
    text = f'version = 1\n[{"a" * length}]\nprotocol = "openai"\nbase_url = "https://h"\n'
    if good:
        assert load(tmp_path, text).provider("a" * length).where.endswith(":2")
    else:
        assert len(faults_of(tmp_path, text)) == 1


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    place = tmp_path / "providers.toml"
    place.symlink_to("gone")
    with pytest.raises(Faults, match="this link leads to no file"):
        load_providers(str(tmp_path))
    place.unlink()
    place.write_bytes(b"version = 1\n\xff")
    with pytest.raises(Faults, match=r"providers.toml:2: not valid UTF-8"):
        load_providers(str(tmp_path))


@pytest.mark.parametrize(
    ("environ", "stored", "command", "expected"),
    [
        ({"A": "k"}, {"p"}, ("x",), KeySource("variable", "A")),
        ({"A": " ", "B": "k"}, {"p"}, ("x",), KeySource("variable", "B")),
        ({"A": "", "C": "k"}, {"p"}, ("x",), KeySource("auth file")),
        ({}, {"q"}, ("x",), KeySource("token command")),
        ({}, set(), (), KeySource("none")),
    ],
)
def test_the_source_of_a_key_that_counts(
    environ: dict[str, str], stored: set[str], command: tuple[str, ...], expected: KeySource
) -> None:
    provider = Provider(name="p", key_env=("A", "B"), token_command=command)
    assert key_source(provider, environ, stored) == expected
    assert str(expected) == f"{expected.kind} {expected.name}".strip()
