from __future__ import annotations

import json

import pytest

from remit.base.redact import MIN_VALUE_CHARS, REDACTED, Redactor, is_secret_name


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
