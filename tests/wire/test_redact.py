from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.base.redact import (
    MAX_SPELLED_CHARS,
    MIN_VALUE_CHARS,
    REDACTED,
    KeyGuard,
    Redactor,
    is_hidden_key,
    is_secret_name,
    secrets_of,
)


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apikey", "X-Api-Key", "OPENAI_API_KEY", "apiKey", "privateKey", "client_key", "db_pass", "key_pass",
        "password", "PASSWD", "pwd", "secret", "clientSecret", "AWS_SECRET_ACCESS_KEY", "token", "access_token",
        "GITHUB_TOKEN", "credential", "credentials", "bearer", "cookie", "Set-Cookie", "session", "dsn", "SENTRY_DSN",
        "connection_string", "connectionString", "Authorization", "proxy-authorization",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "tokens",
        "session_id",
        "keyboard",
        "key",
        "monkey",
        "passage",
        "secretary",
        "tokenizer",
        "author",
        "PWD",
        "OLDPWD",
        "",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_values_are_found_wherever_they_stand() -> None:
    redact = Redactor(['pass"word\\1', "abcdefgh", "abcdefgh-long"])
    assert redact.text("x abcdefgh y abcdefgh-long z") == f"x {REDACTED} y {REDACTED} z"
    assert redact.text(json.dumps({"a": 'pass"word\\1'})) == json.dumps({"a": REDACTED})


def test_a_value_of_a_few_letters_is_a_word_and_stays() -> None:
    short, enough = "x" * (MIN_VALUE_CHARS - 1), "y" * MIN_VALUE_CHARS
    assert Redactor([short, enough, ""]).text(f"{short} {enough}") == f"{short} {REDACTED}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bearer abcdef1234567890", f"Bearer {REDACTED}"),
        ("bearer authentication is used", None),
        ("https://user:pa55word@host/x", f"https://user:{REDACTED}@host/x"),
        ("https://host:8080/a@b", None),
        ("sk-proj-abcdefghijklmnop1234", REDACTED),
        ("a risk-averse-investor-portfolio", None),
        ("ghp_0123456789abcdefghijABCDEFGHIJ0123", REDACTED),
    ],
)
def test_shapes_of_keys(text: str, expected: str | None) -> None:
    assert Redactor().text(text) == (text if expected is None else expected)


def test_data_is_cleaned_in_depth_and_twice_is_once() -> None:
    redact = Redactor(["abcdefgh"])
    value = {
        "list": [{"token": "t0ps3cret"}, "abcdefgh"],
        "nested": '{"password": "p", "n": 1.50}',
        "pin": 5,
        "token": "",
    }
    cleaned = redact.data(value)
    assert cleaned["list"] == [{"token": REDACTED}, REDACTED] and cleaned["pin"] == 5 and cleaned["token"] == ""
    assert json.loads(cleaned["nested"]) == {"password": REDACTED, "n": 1.5}
    assert redact.data(cleaned) == cleaned


@pytest.mark.parametrize("text", ['{"n": 1.50,  "a":"b"}', "{not json", "[" * 100_000, '{"a": NaN}'])
def test_text_with_nothing_to_hide_stays_as_it_was_spelled(text: str) -> None:
    assert Redactor(["abcdefgh"]).data(text) == text


@pytest.mark.parametrize("depth", [100, 450, 600, 900, 5000])
def test_a_text_nested_deep_loses_its_values_all_the_same(depth: int) -> None:
    text = '{"a":' * depth + '"hunter2-hunter2"' + "}" * depth
    cleaned = Redactor(["hunter2-hunter2"]).data({"arguments": text})
    assert cleaned == {"arguments": text.replace("hunter2-hunter2", REDACTED)}


def test_what_is_hidden_in_json_leaves_the_rest_as_it_was_spelled() -> None:
    text = '{ "n": 1.50,  "note" : "caf\\u00e9 hunter2-hunter2",\n "deep": "{\\"token\\" : \\"x\\"}" }'
    cleaned = Redactor(["hunter2-hunter2"]).data(text)
    assert cleaned == (f'{{ "n": 1.50,  "note" : "café {REDACTED}",\n "deep": "{{\\"token\\" : \\"{REDACTED}\\"}}" }}')
    assert Redactor(["hunter2-hunter2"]).data(cleaned) == cleaned


def test_a_number_that_is_a_secret_leaves_json_that_can_be_read() -> None:
    assert json.loads(Redactor(["12345678"]).data('{"a": 12345678, "b": [1, -123456789.5e3]}')) == {
        "a": REDACTED,
        "b": [1, REDACTED],
    }


@pytest.mark.parametrize("value", [REDACTED, "redacted", "[redacted] and more"])
def test_the_mark_itself_is_no_secret(value: str) -> None:
    assert Redactor([value]).text(f"a {value} b") == f"a {value} b"


def test_secrets_are_what_variables_can_hold(tmp_path: Path) -> None:
    environ = {
        "PWD": "/nowhere/to/be/found",
        "OLDPWD": "/nowhere/to/be/found",
        "DB_PASSWORD": "hunter2-hunter2",
        "MY_LOGIN": "tr0ub4dor",
        "SESSION": str(tmp_path),
        "SSH_SESSION": f"{tmp_path}/gone",
        "API_TOKEN": "project",
        "GIT_TOKEN": "long-project",
        "OTHER": "value-of-other",
    }
    found = secrets_of(environ, ["MY_LOGIN"], ["/home/me/long-project/work", "tok"])
    assert found == ["hunter2-hunter2", "tr0ub4dor", f"{tmp_path}/gone"]
    assert secrets_of({"API_TOKEN": "/\0"}) == ["/\0"]


# -- keys of models --------------------------------------------------------------------------------

KEY = "sk-ab/cd-0123456789"
ODD = 'ab"c\\\\d/e-0123\t9'


def spelled(text: str, times: int = 1) -> str:
    """Each character as an escape of JSON, in a text so many texts deep."""
    escaped = "".join(f"\\u{ord(char):04X}" for char in text)
    for _ in range(times - 1):
        escaped = json.dumps(escaped)[1:-1]
    return escaped


@pytest.mark.parametrize("key", [KEY, ODD, "pässwörd-\U0001f511-1"])
@pytest.mark.parametrize("deep", [1, 2, 3, 4])
def test_a_key_is_found_however_deep_it_is_spelled(key: str, deep: int) -> None:
    guard = KeyGuard([key])
    text = f"the key {key} here"
    for _ in range(deep):
        text = json.dumps({"name": "a.md", "text": text})
    assert guard.finds(text.encode())
    cleaned = guard.data(text)
    for _ in range(deep):
        cleaned = json.loads(cleaned)["text"]
    assert cleaned == f"the key {REDACTED} here"


@pytest.mark.parametrize("deep", [1, 2, 3])
@pytest.mark.parametrize("key", [KEY, ODD])
def test_a_key_in_escapes_is_found(key: str, deep: int) -> None:
    text = f'{{"content": "a {spelled(key, deep)} b"}}'
    guard = KeyGuard(["another-key-0123456789", key])
    assert guard.finds(text.encode()) and guard.finds(json.dumps({"arguments": text}).encode())
    assert guard.data({"arguments": text}) == {"arguments": f'{{"content": "a {REDACTED} b"}}'}
    assert not guard.finds(f'{{"content": "{spelled(key[1:], deep)}"}}'.encode())


def test_a_slash_may_be_escaped_and_single_characters_too() -> None:
    guard = KeyGuard([KEY])
    text = f'{{"a": 1.50, "b": "{KEY.replace("/", chr(92) + "/")} \\u0073{KEY[1:]} caf\\u00e9"}}'
    assert guard.data(text) == f'{{"a": 1.50, "b": "{REDACTED} {REDACTED} caf\\u00e9"}}'


@pytest.mark.parametrize("length", [MAX_SPELLED_CHARS, MAX_SPELLED_CHARS + 1, 64 * 1024])
def test_long_keys_are_found_in_json(length: int) -> None:
    key = "\\k" * (length // 2) + "k" * (length % 2)
    guard = KeyGuard([key])
    line = json.dumps({"arguments": json.dumps({"x": key})})
    assert guard.finds(line.encode()) and guard.data(json.loads(line)) == {"arguments": f'{{"x": "{REDACTED}"}}'}


@pytest.mark.parametrize("key", ["tr0ub4do", "aBcDeFgH", "12345678", "correct-horse-ba"])
def test_keys_that_are_hidden(key: str) -> None:
    assert is_hidden_key(key) and KeyGuard([key]).finds(f'"{key}"'.encode())


@pytest.mark.parametrize(
    "key", ["", "EMPTY", "none", "ollama", "lm-studio", "NOT_NEEDED", "Placeholder", "tr0ub4d", "correct-horse-b"]
)
def test_keys_that_are_words_of_the_texts(key: str) -> None:
    assert not is_hidden_key(key) and not KeyGuard([key]).active


def test_a_key_may_be_the_name_of_an_argument() -> None:
    assert KeyGuard([KEY]).data({KEY: [KEY, 5, None]}) == {REDACTED: [REDACTED, 5, None]}
