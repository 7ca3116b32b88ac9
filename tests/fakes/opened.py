"""Providers opened on a server of the test, without configuration files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from remit.base.spec import ModelSpec, Protocol
from remit.providers.catalog import PROTOCOLS
from remit.providers.opening import Credential, Opening
from remit.providers.timing import Timing

NAMES: dict[Protocol, str] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai",
    "google": "google",
}


def opening(
    model: str = "m",
    *,
    protocol: Protocol = "openai",
    base_url: str,
    api_key: str = "",
    key_source: str = "",
    environ: Mapping[str, str] | None = None,
    timing: Timing | None = None,
    retry_seconds: float = 300.0,
    connect_seconds: float = 10.0,
    silence_seconds: float = 300.0,
    **facts: Any,
) -> Opening:
    """facts: fields of ModelSpec."""
    return Opening(
        model=ModelSpec(id=f"{NAMES[protocol]}/{model}", protocol=protocol, base_url=base_url, **facts),
        credential=Credential(api_key, key_source or ("OPENAI_API_KEY" if api_key else "none")),
        environ=environ or {},
        timing=timing or Timing(),
        retry_seconds=retry_seconds,
        connect_seconds=connect_seconds,
        silence_seconds=silence_seconds,
    )


def opened(model: str = "m", *, protocol: Protocol = "openai", **keys: Any) -> Any:
    """A provider of this protocol; keys as those of `opening`."""
    module = import_module(f"remit.providers.{PROTOCOLS[protocol]}")
    return module.open_provider(opening(model, protocol=protocol, **keys))


def by_name(model: str, environ: Mapping[str, str], *, config_dir: str = "/nowhere", **keys: Any) -> Any:
    """The provider that a run of this user would ask, by the model's name and the environment."""
    from remit.base.redact import KeyGuard
    from remit.config.models import resolve_models
    from remit.providers.catalog import open_provider
    from remit.wiring.keys import find_credential

    found = resolve_models([model], config_dir)[0][model]
    credential = find_credential(found, environ, config_dir, KeyGuard())
    return open_provider(Opening(model=found, credential=credential, environ=environ, **keys))
