"""The spec that a resumed run goes by: the one it was started with, and what its flags change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from remit.base.errors import Faults, UsageFault
from remit.base.limits import Limits
from remit.base.records import UserSaid
from remit.base.spec import RunSpec, Source
from remit.config.asked import StdinRead, StdinWish
from remit.config.flags import RunFlags
from remit.config.images import FitPicture
from remit.config.limits import limits_from, limits_from_flags
from remit.config.load import MAX_FILE_BYTES, decode, read_bytes
from remit.config.models import resolve_models
from remit.config.names import model_fault
from remit.config.resolve import build_spec
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


def said_by(
    flags: RunFlags,
    settings: Settings,
    tool_effects: ToolEffects,
    read_stdin: Callable[[StdinWish], StdinRead],
    cwd: str,
    fit_picture: FitPicture,
) -> UserSaid | None:
    """The prompt that a command line gives to a session that is there already; None where a client gives it. Raises
    Faults."""
    alone = RunFlags(
        prompt=flags.prompt,
        prompt_file=flags.prompt_file,
        stdin=flags.stdin,
        images=flags.images,
        driven=flags.driven,
    )
    spec = build_spec(alone, settings, tool_effects, read_stdin, cwd, fit_picture)
    return UserSaid(spec.prompt, images=spec.images) if spec.prompt else None


def continued_spec(
    spec: RunSpec, flags: RunFlags, settings: Settings, tool_effects: ToolEffects, cwd: str
) -> tuple[RunSpec, list[str]]:
    """The spec that a session goes on with under a new command line, and what to tell of it.

    Without further flags it is what it was; else it is made anew from the flags it had, and over them the new ones.
    Raises Faults."""
    given = msgspec.structs.replace(
        flags, prompt=None, prompt_file=None, stdin=None, images=(), driven=False, mode=None
    )
    if given == RunFlags():
        return changed_spec(spec, ResumeFlags(), tool_effects, settings)
    if not spec.command:
        raise UsageFault("the session does not know its command line, so that no flag can change it")
    had = _placed(msgspec.convert(spec.command["flags"], RunFlags), spec.command["cwd"])
    new = {name: value for name, value in msgspec.structs.asdict(_placed(given, cwd)).items() if value}
    new["limits"] = {**had.limits, **given.limits}
    if not given.task and not given.workspace:
        new["workspace"] = spec.workspace
    both = msgspec.structs.replace(had, **new)
    whole = msgspec.structs.replace(spec, command={"flags": msgspec.to_builtins(both), "cwd": cwd})
    return _reloaded(whole, tool_effects, settings), []


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
    # Where a client brings the prompts, there is none of the command line's.
    said = {"prompt": spec.prompt or None, "driven": not spec.prompt}
    flags = msgspec.structs.replace(flags, prompt_file=None, inputs=(), stdin=None, images=(), **said)

    def read_stdin(wish: StdinWish) -> _Kept:
        return _Kept(b"kept", spec.stdin)

    fresh = build_spec(_placed(flags, spec.command["cwd"]), settings, tool_effects, read_stdin, spec.command["cwd"])
    kept = {
        "prompt": spec.prompt,
        "images": spec.images,
        "stdin": spec.stdin,
        "memory": spec.memory,
        "mode": spec.mode,
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
        workspace=place(flags.workspace),
        hooks=tuple(os.path.join(cwd, path) for path in flags.hooks),
    )


def _raised(limits: Limits, values: Mapping[str, object]) -> Limits:
    return limits_from({**msgspec.structs.asdict(limits), **values})


def _read(path: str) -> str:
    return decode(read_bytes(path, MAX_FILE_BYTES, pipes=True), path)
