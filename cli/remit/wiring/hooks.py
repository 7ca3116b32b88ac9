"""The hooks of a run: commands of the user, outside of the sandbox of the agent, each ended with its tree."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from remit.base.errors import PreflightFault, UsageFault
from remit.base.ports import Finished
from remit.base.resources import Effect, Resource
from remit.base.spec import Hook, RunSpec
from remit.engine.recorder import Recorder
from remit.store.rundir import RunDir
from remit.wiring.ports import Ports

if TYPE_CHECKING:
    from remit.engine.command_hooks import Runner
    from remit.engine.hooks import HookList

MAX_OUTPUT_BYTES = 1 << 20


def hold_hooks(spec: RunSpec, environ: Mapping[str, str], record: str | None) -> None:
    """Raise PreflightFault for a hook whose program is not there: it could only refuse; UsageFault where the run is to
    be recorded. record: the file that the run
    is recorded in, if it is."""
    if not spec.hooks:
        return
    if record is not None:
        raise UsageFault(
            "a run with hooks cannot be recorded: a recording is played without them",
            where=spec.hooks[0].where,
            hint="leave --record out, or the hooks",
        )
    import shutil

    path = _path(spec, environ)
    for hook in spec.hooks:
        program = hook.argv[0]
        if shutil.which(program, path=path) is None:
            there = os.path.isabs(program) and os.path.exists(program)
            raise PreflightFault(
                f"the hook's program {program} {'cannot be executed' if there else 'was not found'}",
                where=hook.where,
                hint="make it an executable file" if there else "names are looked up on PATH, outside of the workspace",
                kind="hook",
            )


def add_hooks(
    hooks: HookList,
    spec: RunSpec,
    recorder: Recorder,
    directory: RunDir,
    session_id: str,
    ports: Ports,
) -> None:
    """Have the hooks of a spec heard, in their order."""
    # A recording is data: what it says is never run.
    if not spec.hooks or spec.played:
        return
    from remit.engine.command_hooks import CommandHook
    from remit.engine.hooks import Facts

    facts = Facts(session_id, directory.events_path, spec.workspace, lambda: recorder.state.mode)
    if ports.response is not None:
        facts = msgspec.structs.replace(facts, response=ports.response)
    run = _runner(spec, directory, ports.environ)
    for hook in spec.hooks:
        hooks.add(CommandHook(hook, run, recorder, facts, ports.new_uuid, ports.names))


def _runner(spec: RunSpec, directory: RunDir, environ: Mapping[str, str]) -> Runner:
    from remit.workspace.process import ProcessGrant

    environment = {
        "PATH": _path(spec, environ),
        "REMIT_OUT": os.path.realpath(directory.artifacts_path),
        "REMIT_RUN_DIR": os.path.realpath(directory.path),
        "REMIT_WORKSPACE": spec.workspace,
        "CLAUDE_PROJECT_DIR": spec.workspace,
    }

    async def run(hook: Hook, stdin: bytes) -> Finished:
        command = Resource("command", shlex.join(hook.argv), Effect.EXECUTE)
        process = ProcessGrant(spec.workspace, [command], environment)
        return await process.run(hook.argv, seconds=hook.seconds, max_bytes=MAX_OUTPUT_BYTES, stdin=stdin)

    return run


def _path(spec: RunSpec, environ: Mapping[str, str]) -> str:
    from remit.workspace.environment import trusted_path

    return trusted_path(environ.get("PATH", os.defpath), spec.workspace)
