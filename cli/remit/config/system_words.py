"""What the user says in the system prompt of a run, and in those of its agents."""

from __future__ import annotations

import msgspec

from remit.base.errors import Fault, Faults
from remit.base.spec import BUILTIN, RunSpec
from remit.config.findings import Findings
from remit.config.flags import RunFlags
from remit.config.load import MAX_FILE_BYTES
from remit.config.profiles import Profile, Words, load_profile
from remit.config.settings import Settings

AGENTS_TOOL = "task"


class SystemWords:
    """By flags, profile and settings."""

    def __init__(self, flags: RunFlags, settings: Settings, tools: frozenset[str], found: Findings) -> None:
        self._flags = flags
        self._settings = settings
        self._tools = tools
        self._found = found

    def spoken(self, spec: RunSpec) -> RunSpec:
        """The spec with what the user says in the system prompt: in place of ours, and after it."""
        flags, base, added = self._flags, spec.system_base, ""
        profile = self._profile()
        if profile is not None:
            base, added = (profile.text, "") if profile.keys.layout == "custom" else (base, profile.text)
            self._found.files |= profile.files
        if flags.system_prompt is not None and flags.system_prompt_file is not None:
            self._found.fault("a system prompt and a file of one are given", "--system-prompt-file", "give one of them")
        if flags.system_prompt is not None:
            base = flags.system_prompt
        elif flags.system_prompt_file is not None:
            base = self._found.text(flags.system_prompt_file, MAX_FILE_BYTES) or ""
        words = Words(spec.system, flags.append_system_prompt or "")
        if self._replaced and not base.strip() and not self._found.faults:
            self._found.fault("the system prompt is empty", flags.system_prompt_file or "--system-prompt")
        spec = msgspec.structs.replace(
            spec,
            system_base=base.strip(),
            system=words.around(added),
            profile=profile.tools if profile is not None else None,
        )
        return self._with_profiles(spec, words) if AGENTS_TOOL in spec.ticks and not self._found.faults else spec

    @property
    def _replaced(self) -> bool:
        """Whether the command line says a system prompt in place of ours."""
        return self._flags.system_prompt is not None or self._flags.system_prompt_file is not None

    def _profile(self) -> Profile | None:
        name, where = self._flags.profile, "--system-prompt-profile"
        if name is None and not self._replaced:
            key = "agent.system_prompt_profile"
            name, where = self._settings.system_prompt_profile, str(self._settings.origin(key))
        if name is None or name == BUILTIN:
            return None
        try:
            return load_profile(name, self._settings.config_dir, self._tools)
        except Faults as problem:
            self._found.faults += [Fault(f.message, f.where or where, f.hint) for f in problem.faults]
            return None

    def _with_profiles(self, spec: RunSpec, words: Words) -> RunSpec:
        """The spec with the profiles that its agents may have."""
        from remit.config.agent_profiles import agent_profiles  # most runs have no agents

        try:
            profiles = agent_profiles(spec, words, self._settings, self._tools)
        except Faults as problem:
            self._found.faults += problem.faults
            return spec
        self._found.files |= profiles.files
        return msgspec.structs.replace(spec, profiles=profiles.profiles, models={**profiles.models, **spec.models})
