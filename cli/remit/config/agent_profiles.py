"""The profiles that a run may send agents with: those of the user, and remit's own."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from remit.base.errors import Fault, Faults, UsageFault
from remit.base.messages import Effort
from remit.base.spec import BUILTIN, AgentProfile, ModelSpec, RunSpec
from remit.config.models import purpose_model, resolve_models
from remit.config.profiles import Profile, Words, load_profile, profile_names
from remit.config.providers import PURPOSES
from remit.config.settings import Settings

OWN_MODEL = ("", "chat", "plan")
"""Words for the model of the run itself."""


class Found(msgspec.Struct):
    """Profiles by name, their models by id, and the sha256 of the files that were read for them."""

    profiles: dict[str, AgentProfile]
    models: dict[str, ModelSpec]
    files: dict[str, str]


def agent_profiles(spec: RunSpec, words: Words, settings: Settings, tools: Collection[str]) -> Found:
    """The profiles that agents of this run may have. Raises Faults with all that is wrong with any of them."""
    found = Found({}, {}, {})
    faults: list[Fault] = []
    builtin = AgentProfile(words=words.around(""))
    for name, profile in (BUILTIN, None), *_loaded(settings.config_dir, tools, faults):
        where = profile.tools.where if profile is not None else str(settings.origin("agent.subagent_model"))
        told = _agent_profile(profile, words) if profile is not None else builtin
        if name == spec.own_profile:
            told = msgspec.structs.replace(told, base=spec.system_base, words=spec.system)
        model, effort = _bound(profile, settings)
        try:
            known, files = _model(model, spec.model, settings.config_dir, where)
        except Faults as problem:
            faults += problem.faults
            continue
        except UsageFault as problem:
            faults.append(Fault(f"`subagent_model`: {problem.what}", where, problem.hint))
            continue
        if known is not None:
            found.models[known.id] = known
        model_id = known.id if known is not None else ""
        found.profiles[name] = msgspec.structs.replace(told, model=model_id, effort=effort, where=where)
        found.files |= files | (profile.files if profile is not None else {})
    if faults:
        raise Faults(list(dict.fromkeys(faults)))
    return found


def _loaded(config_dir: str, tools: Collection[str], faults: list[Fault]) -> list[tuple[str, Profile]]:
    loaded = []
    for name in profile_names(config_dir):
        try:
            loaded.append((name, load_profile(name, config_dir, tools)))
        except Faults as problem:
            faults += problem.faults
    return loaded


def _agent_profile(profile: Profile, words: Words) -> AgentProfile:
    custom = profile.keys.layout == "custom"
    return AgentProfile(
        description=profile.keys.description,
        base=profile.text if custom else "",
        words=words.around("" if custom else profile.text),
        tools=profile.tools,
    )


def _bound(profile: Profile | None, settings: Settings) -> tuple[str, Effort | None]:
    """What the profile says of its model and how much that thinks, else the settings."""
    own = (profile.keys.subagent_model, profile.keys.subagent_thinking) if profile is not None else ("", None)
    return own[0] or settings.subagent_model, own[1] or settings.subagent_thinking


def _model(word: str, own: str, config_dir: str, where: str) -> tuple[ModelSpec | None, dict[str, str]]:
    """The model for a word of a profile, None: that of the run. Raises Faults, UsageFault."""
    if word in OWN_MODEL:
        return None, {}
    if word in PURPOSES:
        return (purpose_model(word, own, config_dir) if own else None), {}
    models, files = resolve_models([word], config_dir, {word: where})
    return models[word], files
