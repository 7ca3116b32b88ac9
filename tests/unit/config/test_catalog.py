from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
import tomli

from remit.base.spec import ModelSpec, Price, PriceTier, Protocol
from remit.config import providers
from remit.config.providers import PURPOSES, Providers, load_providers
from remit.config.providers_keys import base_url_fault

CATALOG = Path(providers.__file__).with_name("catalog.toml")


@pytest.fixture(scope="module")
def catalog() -> Providers:
    return load_providers("/nonexistent")


def test_the_catalog_is_dated(catalog: Providers) -> None:
    assert date.fromisoformat(catalog.dated) >= date(2026, 11, 30)
    assert catalog.files == {}


def test_the_built_in_providers(catalog: Providers) -> None:
    assert catalog.names() == [
        "anthropic",
        "azure",
        "deepseek",
        "google",
        "groq",
        "llama-cpp",
        "local",
        "mistral",
        "ollama",
        "openai",
        "openrouter",
        "replay",
        "scripted",
        "vllm",
        "xai",
    ]
    assert {entry.where for entry in catalog.entries.values()} == {"built in"}


def test_ids_are_unique_and_each_provider_says_where_its_figures_are_from(catalog: Providers) -> None:
    ids = [spec.id for spec in catalog.models()]
    assert ids == sorted(ids) and len(set(ids)) == len(ids) >= 40
    written = tomli.loads(CATALOG.read_text(encoding="utf-8"))
    for name, entry in catalog.entries.items():
        assert len(entry.models) == len(written[name].get("models", []))
    sections = CATALOG.read_text(encoding="utf-8").split("# Source: ")
    assert len(sections) - 1 == sum(1 for entry in catalog.entries.values() if entry.models)


@pytest.mark.parametrize("spec", load_providers("/nonexistent").models(), ids=lambda spec: spec.id)
def test_the_figures_of_a_model_make_sense(spec: ModelSpec) -> None:
    window, output = spec.context_window, spec.max_output_tokens
    assert window is None or 8_000 <= window <= 4_000_000
    assert output is None or 1_000 <= output <= (window or 4_000_000)
    if spec.price is not None:
        prices = [spec.price, *spec.price.tiers]
        assert [tier.above for tier in spec.price.tiers] == sorted({tier.above for tier in spec.price.tiers})
        assert all(tier.above < (window or 4_000_000) for tier in spec.price.tiers)
        for price in prices:
            assert_sane(price)
        for cheaper, dearer in pairwise(prices):
            assert cheaper.input <= dearer.input and cheaper.output <= dearer.output
            # What is cheaper from a cache stays so in long requests: an unknown price there is the full one.
            assert (cheaper.cache_read is None) == (dearer.cache_read is None)
            assert (cheaper.cache_write is None) == (dearer.cache_write is None)


def assert_sane(price: Price | PriceTier) -> None:
    assert 0 < price.input <= price.output <= 500
    assert price.cache_read is None or 0 < price.cache_read <= price.input
    assert price.cache_write is None or price.input <= price.cache_write <= 2 * price.input


def test_the_purposes_name_models_of_the_catalog(catalog: Providers) -> None:
    named = {found for name in catalog.names() for purpose in PURPOSES if (found := catalog.purpose(purpose, name))}
    assert named <= {spec.id for spec in catalog.models()}
    for name in ("anthropic", "openai", "google"):
        best, fast = catalog.model(f"{name}/best").price, catalog.model(f"{name}/fast").price
        assert best is not None and fast is not None and fast.output < best.output


def test_each_provider_can_be_asked(catalog: Providers) -> None:
    for name, entry in catalog.entries.items():
        assert entry.protocol in get_args(Protocol) and entry.display_name
        if not entry.takes_key:
            assert (entry.protocol, entry.base_url, entry.key_env, entry.base_url_env) == (name, "", (), "")
            continue
        assert entry.key_env and entry.base_url_env
        # The address of an Azure resource is its owner's.
        assert (entry.base_url == "") == (name == "azure")
        assert not entry.base_url or base_url_fault(entry.base_url) == ""
    variables = Counter(name for entry in catalog.entries.values() for name in (*entry.key_env, entry.base_url_env))
    assert variables.pop("") == 3 and set(variables.values()) == {1}


@pytest.mark.parametrize(
    ("name", "protocol", "elsewhere", "base_url", "base_url_env", "key_env", "required"),
    [
        ("anthropic", "anthropic", None, "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", True),
        (
            "openai",
            "openai-responses",
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            True,
        ),
        ("azure", "openai", None, "", "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", True),
        ("ollama", "openai", None, "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL", "OLLAMA_API_KEY", False),
        ("vllm", "openai", None, "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", "VLLM_API_KEY", False),
        ("llama-cpp", "openai", None, "http://127.0.0.1:8080/v1", "LLAMA_CPP_BASE_URL", "LLAMA_CPP_API_KEY", False),
        (
            "google",
            "google",
            None,
            "https://generativelanguage.googleapis.com",
            "GOOGLE_GEMINI_BASE_URL",
            "GEMINI_API_KEY GOOGLE_API_KEY",
            True,
        ),
    ],
)
def test_where_the_well_known_ones_are(
    catalog: Providers,
    name: str,
    protocol: str,
    elsewhere: str | None,
    base_url: str,
    base_url_env: str,
    key_env: str,
    required: bool,
) -> None:
    spec = catalog.model(f"{name}/m")
    assert (spec.protocol, spec.protocol_elsewhere, spec.base_url) == (protocol, elsewhere, base_url)
    assert (spec.base_url_env, spec.key_env, spec.key_required) == (base_url_env, tuple(key_env.split()), required)
    assert spec.auth_header == ("api-key" if name == "azure" else "")


def test_it_is_read_in_little_more_than_the_time_of_its_parser() -> None:
    text = CATALOG.read_text(encoding="utf-8")
    assert fastest(lambda: load_providers("/nonexistent")) < 3 * fastest(lambda: tomli.loads(text))


def fastest(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of some runs."""
    took = []
    for _ in range(20):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; import remit.config.providers as p; before = set(sys.modules); "
        "p.load_providers('/nonexistent').model('openai/m'); print(*before); print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True).stdout
    before, after = (set(line.split()) for line in told.splitlines())
    assert not before & {"tomli", "yaml", "difflib", "shlex", "urllib", "json", "asyncio"}
    assert not after & {"yaml", "difflib", "shlex", "urllib", "json", "asyncio", "httpcore"}
