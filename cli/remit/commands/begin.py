"""What `remit run` does, once its command line is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from remit.base.errors import UsageFault
from remit.commands.caps import limits

if TYPE_CHECKING:
    from remit.commands.sessions import SessionFlags
    from remit.config.flags import RunFlags
    from remit.config.settings import Settings
    from remit.store.run_list import RunEntry
    from remit.wiring import Listeners, Ports, ReadyRun

MANY = ("allowed_tools", "disallowed_tools", "allow", "deny", "fallback_models", "images", "inputs", "hooks")
"""Parameters of `remit run` that may come several times, and are flags of the run under the same name."""

ONE = (
    "task",
    "prompt",
    "prompt_file",
    "model",
    "goal",
    "goal_limit",
    "profile",
    "system_prompt",
    "system_prompt_file",
    "append_system_prompt",
    "approvals",
    "workspace",
    "on_ask",
    "on_deny",
    "stdin",
    "effort",
    "no_rtk",
    "no_instructions",
    "mode",
)
SESSION = ("latest", "resume", "fork", "session_id", "ephemeral", "implement", "clear")


def begin(given: Mapping[str, Any]) -> None:
    """Start the run, and end the process with its exit code. given: the parameters of `remit run`, by name; all of
    them. Raises Faults."""
    from remit.commands.sessions import SessionFlags
    from remit.config.flags import RunFlags

    output_format, prompt, prompt_file = given["output_format"], given["prompt"], given["prompt_file"]
    driven = given["input_format"] == "stream-json"
    if driven:
        hold_driven(output_format, given["stdin"], prompt, prompt_file)
    several: dict[str, Any] = {name: tuple(given[name] or ()) for name in MANY}
    flags = RunFlags(
        **{name: given[name] for name in ONE},
        **several,
        tools=None if given["tools"] is None else tuple(given["tools"]),
        policies=tuple(given["policy"] or ()),
        limits=limits(given),
        driven=driven,
    )
    session = SessionFlags(**{name: given[name] for name in SESSION})
    new = {"--example": given["example"], "--record": given["record"]}
    session.hold(out=given["out"], new=new, prompt=prompt or prompt_file)
    if given["partial"] and output_format != "stream-json":
        raise UsageFault("only stream-json carries parts of answers", where="--include-partial-messages")
    _start(flags, session, given)


def hold_driven(output_format: str, stdin: bool | None, *prompts: str | None) -> None:
    """A client program needs both directions. Raises UsageFault."""
    if output_format != "stream-json":
        raise UsageFault(
            "a client that sends JSON lines reads JSON lines",
            where="--input-format",
            hint="add --output-format stream-json",
        )
    if stdin is not None or "-" in prompts:
        raise UsageFault(
            "stdin carries the lines of the client, so that no prompt is read there", where="--input-format"
        )


class _Begun(msgspec.Struct, frozen=True):
    """What a command line comes to, before there is a run."""

    flags: RunFlags
    session: SessionFlags
    settings: Settings
    environ: dict[str, str]
    here: str
    out: str | None
    record: str | None


def _start(flags: RunFlags, session: SessionFlags, given: Mapping[str, Any]) -> None:
    """Resolve the flags, start the run, and end the process with its exit code."""
    from remit import wiring
    from remit.commands.execute import Watch, catch_signals, drive, leave, listeners
    from remit.config.settings import load_settings

    watch = Watch()
    catch_signals(watch)
    environ = dict(os.environ)
    settings = load_settings(environ)
    if given["example"] is not None:
        from remit.commands.example import with_example

        flags = with_example(flags, given["example"], settings, quiet=given["quiet"])
    here = wiring.current_directory()
    begun = _Begun(flags, session, settings, environ, here, given["out"], given["record"])
    entry = session.entry(settings.state_dir, begun.here, flags.workspace)
    make = _new(begun) if entry is None else _taken_up(begun, entry)
    heard = listeners(
        given["output_format"],
        quiet=given["quiet"],
        verbose=given["verbose"],
        environ=environ,
        watch=watch,
        partial=given["partial"],
    )
    watch.begin()
    leave(drive(make(heard), watch, settings.client_seconds if flags.driven else None))


def _ports(begun: _Begun) -> Ports:
    from remit.wiring import Ports

    if not begun.flags.driven:
        return Ports(begun.environ)
    from remit.engine.client_questions import Person

    return Ports(begun.environ, client=True, person=Person())


def _new(begun: _Begun) -> Callable[[Listeners], ReadyRun]:
    """A new session."""
    from remit import wiring
    from remit.commands.stdin import stdin_reader
    from remit.config.resolve import build_spec
    from remit.config.resume import with_command
    from remit.tools.registry import tool_effects
    from remit.workspace.pictures import fit_picture

    flags, settings, here = begun.flags, begun.settings, begun.here
    fresh = wiring.Fresh(begun.session.hold_id(settings.state_dir), begun.session.ephemeral)
    spec = build_spec(flags, settings, tool_effects(), stdin_reader(), here, fit_picture)
    spec = wiring.with_memory(with_command(spec, flags, here), settings)
    spec = spec if flags.no_instructions else wiring.with_instructions(spec, settings)
    ports = _ports(begun)
    return lambda heard: wiring.start(spec, settings, begun.out, heard, ports, record=begun.record, fresh=fresh)


def _taken_up(begun: _Begun, entry: RunEntry) -> Callable[[Listeners], ReadyRun]:
    """A session that is there already, or a copy of it."""
    from remit import wiring
    from remit.commands.sessions import noted
    from remit.commands.stdin import stdin_reader
    from remit.config.resume import continued_spec, said_by
    from remit.store.rundir import RunDir
    from remit.tools.registry import tool_effects
    from remit.workspace.pictures import fit_picture

    flags, settings, here = begun.flags, begun.settings, begun.here
    fresh = wiring.Fresh(begun.session.hold_id(settings.state_dir), begun.session.ephemeral)
    change = noted(lambda old: continued_spec(old, flags, settings, tool_effects(), here))
    ports = _ports(begun)
    mode, clear = flags.mode or "", begun.session.clear
    if begun.session.implement is not None:
        return lambda heard: wiring.implement(
            entry, change, settings, heard, ports, clear=clear, mode=mode, out=begun.out, fresh=fresh
        )
    said = said_by(flags, settings, tool_effects(), stdin_reader(), here, fit_picture)
    if begun.session.fork:
        return lambda heard: wiring.fork(
            entry, change, settings, begun.out, heard, ports, said=said, mode=mode, fresh=fresh
        )
    directory = RunDir.open(entry.path)
    return lambda heard: wiring.resume(directory, change, settings, heard, ports, said=said, further=True, mode=mode)
