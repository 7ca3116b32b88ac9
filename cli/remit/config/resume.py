"""The spec that a resumed run goes by: the one it was started with, and what its flags change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from remit.base.errors import Faults, UsageFault
from remit.base.limits import Limits
from remit.base.spec import RunSpec, Source
from remit.config.limits import limits_from, limits_from_flags
from remit.config.load import MAX_FILE_BYTES, decode, read_bytes
from remit.config.models import resolve_models
from remit.config.names import model_fault
from remit.config.resolve import RunFlags, StdinWish, build_spec
from remit.config.settings import Settings
from remit.config.task import ToolEffects


class ResumeFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of a resume; None and empty: not given."""

    approvals: str | None = None
    model: str | None = None
    reload: bool = False
    limits: dict[str, str] = {}


class _Kept(msgspec.Struct, frozen=True):
    """Stands in for standard input, which was read when the run started."""

    data: bytes
    state: Literal["none", "read", "skipped", "ignored"]


def with_command(spec: RunSpec, flags: RunFlags, cwd: str) -> RunSpec:
    """The spec with the command line it was made from, for a reload."""
    return msgspec.structs.replace(spec, command={"flags": msgspec.to_builtins(flags), "cwd": cwd})


def changed_spec(
    spec: RunSpec, flags: ResumeFlags, tool_effects: ToolEffects, settings: Settings
) -> tuple[RunSpec, list[str]]:
    """The spec to go on with, and what to tell about files that changed since. Raises Faults."""
    notes = [
        f"{path} {what} since the run started; "
        + ("its present text is used" if flags.reload else "the run goes on with what it said then (see --reload)")
        for path, what in changed_files(spec.files).items()
    ]
    if flags.reload:
        spec = _reloaded(spec, tool_effects, settings)
    values, faults = limits_from_flags(flags.limits)
    if flags.model is not None and (message := model_fault(flags.model) if flags.model else "the name is empty"):
        raise UsageFault(message, where="-m")
    if faults:
        raise Faults(faults)
    changes: dict[str, Any] = {"limits": _raised(spec.limits, values)}
    if flags.model is not None:
        found, _ = resolve_models([flags.model], settings.config_dir)
        model = found[flags.model]
        changes |= {"model": model.id, "models": {**spec.models, model.id: model}}
    if flags.approvals is not None:
        changes["approvals"] = Source(flags.approvals, _read(flags.approvals))
    return msgspec.structs.replace(spec, **changes), notes


def changed_files(files: Mapping[str, str]) -> dict[str, str]:
    """Of the files with these sha256, those that are no longer so, and how."""
    found: dict[str, str] = {}
    for path, digest in files.items():
        try:
            with open(path, "rb") as file:
                same = hashlib.sha256(file.read()).hexdigest() == digest
        except OSError:
            found[path] = "is gone or unreadable"
            continue
        if not same:
            found[path] = "changed"
    return found


def _reloaded(spec: RunSpec, tool_effects: ToolEffects, settings: Settings) -> RunSpec:
    """The spec made anew from the files as they are now. The prompt and its pictures were said already and stay."""
    if not spec.command:
        raise UsageFault("the run does not know its command line, so its files cannot be read again", where="--reload")
    flags = msgspec.convert(spec.command["flags"], RunFlags)
    flags = msgspec.structs.replace(flags, prompt=spec.prompt, prompt_file=None, inputs=(), stdin=None, images=())

    def read_stdin(wish: StdinWish) -> _Kept:
        return _Kept(b"kept", spec.stdin)

    fresh = build_spec(_placed(flags, spec.command["cwd"]), settings, tool_effects, read_stdin, spec.command["cwd"])
    kept = {
        "prompt": spec.prompt,
        "images": spec.images,
        "stdin": spec.stdin,
        "memory": spec.memory,
        "command": spec.command,
    }
    return msgspec.structs.replace(fresh, **kept)


def _placed(flags: RunFlags, cwd: str) -> RunFlags:
    """The flags with their files found from where the run was started."""

    def place(path: str | None) -> str | None:
        return os.path.join(cwd, path) if path else path

    return msgspec.structs.replace(
        flags,
        task=place(flags.task),
        approvals=place(flags.approvals),
        policies=tuple(os.path.join(cwd, path) for path in flags.policies),
    )


def _raised(limits: Limits, values: Mapping[str, object]) -> Limits:
    return limits_from({**msgspec.structs.asdict(limits), **values})


def _read(path: str) -> str:
    return decode(read_bytes(path, MAX_FILE_BYTES, pipes=True), path)
