"""Names of models to what is known of them, with the user's providers.toml read only where it matters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from remit.base.errors import UsageFault
from remit.base.spec import ModelSpec, Protocol
from remit.config.providers import FILE_NAME, Providers, Purpose, load_providers

_OF_THIS_MACHINE: dict[str, Protocol] = {"local": "local", "scripted": "scripted", "replay": "replay"}


def resolve_models(
    names: Iterable[str], config_dir: str, where: Mapping[str, str] | None = None
) -> tuple[dict[str, ModelSpec], dict[str, str]]:
    """Each name's model, and the sha256 of the files that were read for it. where: the place of each name,
    for the fault of one that no model has. Raises Faults, UsageFault."""
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}, {}
    if not os.path.lexists(os.path.join(config_dir, FILE_NAME)) and (plain := _plain(wanted)):
        return plain, {}
    providers: Providers = load_providers(config_dir)
    found: dict[str, ModelSpec] = {}
    for name in wanted:
        try:
            found[name] = providers.model(name)
        except UsageFault as problem:
            problem.where = (where or {}).get(name, problem.where)
            raise
    return found, providers.files


def fast_model(name: str, config_dir: str) -> ModelSpec | None:
    """The model of the same provider for small work, None where it has none. name: `provider/model`. Raises Faults."""
    return purpose_model("fast", name, config_dir)


def purpose_model(purpose: Purpose, name: str, config_dir: str) -> ModelSpec | None:
    """The model of the same provider for a purpose, None where it has none. name: `provider/model`. Raises Faults."""
    if name.partition("/")[0] in _OF_THIS_MACHINE:
        return None
    providers = load_providers(config_dir)
    found = providers.purpose(purpose, name.partition("/")[0])
    return providers.model(found) if found else None


def _plain(names: list[str]) -> dict[str, ModelSpec]:
    """Models that are files of this machine need no catalog, and no time to read it."""
    found: dict[str, ModelSpec] = {}
    for name in names:
        provider, _, model = name.partition("/")
        if provider not in _OF_THIS_MACHINE or not model:
            return {}
        found[name] = ModelSpec(id=name, protocol=_OF_THIS_MACHINE[provider])
    return found
