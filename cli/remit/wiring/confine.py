"""The sandbox of a run's commands: what this machine lends for it, held against what the settings demand."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from remit.base.errors import PreflightFault
from remit.base.events import Notice
from remit.base.resources import Effect, Resource
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.policy.decide import RuleSet
from remit.policy.load import ruling_files
from remit.policy.rules import CHECK_TOOL
from remit.policy.selectors import PathSelector
from remit.store.durable import environment_fault
from remit.store.leavings import Leavings
from remit.store.rundir import RunDir, own_files
from remit.wiring.offer import Offer

if TYPE_CHECKING:
    from remit.workspace.sandbox import Layer

MAX_NAMED = 20
"""Files that a notice names."""

SHELL = "shell"
"""The tool whose reading stands for that of all commands."""


class Confined(msgspec.Struct, frozen=True):
    """sandbox: a `workspace.sandbox.Sandbox`, or None. layers: for the init event. hosts: by tool, those that its
    commands can be connected to. closed: why they cannot be connected to hosts that the rules grant, or that nothing
    keeps them to these. home: the home directory, where it lies in the workspace."""

    sandbox: Any
    layers: dict[str, str]
    hosts: Mapping[str, Collection[str]] = {}
    closed: str = ""
    home: str = ""

    def notices(self) -> list[Notice]:
        """What the user has to know beyond the init event."""
        told = [Notice(kind="sandbox", text=self.closed)] if self.closed else []
        if self.sandbox is None:
            return told
        told += [Notice(kind="sandbox", text=text) for text in self._of_workspace()]
        missing = [f"{name}: {layer.how}" for name, layer in self.sandbox.layers().items() if not layer.held]
        if not missing:
            return told
        return [Notice(kind="sandbox", text=f"commands are not confined in every way: {'; '.join(missing)}"), *told]

    def _of_workspace(self) -> Iterator[str]:
        if self.home:
            yield (
                f"the workspace holds the home directory {self.home}: commands may write there what programs of the "
                "user run later; what is there of the settings of git, shells and sessions stays as it is"
            )
        tracked = self.sandbox.tracked()
        if tracked:
            more = f" and {len(tracked) - MAX_NAMED} more" if len(tracked) > MAX_NAMED else ""
            yield (
                f"git tracks files that commands cannot read: {', '.join(tracked[:MAX_NAMED])}{more}; commands that "
                "would record or restore them (git commit -a, git add -A, git stash) fail"
            )

    def enter(self, directory: RunDir) -> None:
        """Take what the run keeps on disk into account, once it is there."""
        if self.sandbox is not None:
            # The files one by one too, for a directory that is the workspace itself.
            self.sandbox.enter((directory.path, *own_files(directory.path)), directory.artifacts_path)

    def close(self) -> None:
        if self.sandbox is not None:
            self.sandbox.close()


def confine(spec: RunSpec, settings: Settings, policy: RuleSet, offer: Offer, leavings: Leavings) -> Confined:
    """How the commands of this run will be held. Nothing is tried out for a run that starts none.

    Raises PreflightFault when the sandbox is required and a layer of it does not hold here."""
    if not _starts_commands(spec, offer):
        return Confined(None, {"sandbox": "unused: this run starts no commands"})
    hosts = granted_hosts(spec, policy, offer)
    named = ", ".join(dict.fromkeys(host for each in hosts.values() for host in each))
    if spec.sandbox == "off":
        return _unconfined(named)
    sandbox = try_out(spec, settings, policy, leavings, opens=bool(named))
    layers = sandbox.layers()
    told = {name: str(layer) for name, layer in layers.items()}
    closed = ""
    if named and sandbox.opens:
        told["network"] += f"; granted hosts by the proxy: {named}"
    elif named:
        closed = _closed(named, layers["network"], sandbox.why_closed)
        told["network"] = closed
    reached = hosts if sandbox.opens else {}
    confined = Confined(sandbox, {"sandbox": spec.sandbox, **told}, reached, closed, _home_in(spec.workspace))
    missing = [f"{name}: {layer.how}" for name, layer in layers.items() if not layer.held]
    missing += [closed] if closed else []
    if missing and spec.sandbox == "required":
        confined.close()
        raise PreflightFault(
            f"this machine cannot confine commands as the settings require: {'; '.join(missing)}",
            where=str(settings.origin("sandbox.mode")),
            hint='run where that is allowed, or let `[sandbox] mode` be "auto", which goes on with what holds',
            kind="sandbox",
        )
    return confined


def granted_hosts(spec: RunSpec, policy: RuleSet, offer: Offer) -> dict[str, Collection[str]]:
    """By tool, the hosts that the rules let its commands connect to."""
    tools = [name for name, tool in offer.tools.items() if Effect.EXECUTE in tool.effects]
    tools += [CHECK_TOOL] if spec.expect.checks else []
    return {name: tuple(hosts) for name in tools if (hosts := policy.reaches(name))}


def _unconfined(named: str) -> Confined:
    layers = {"sandbox": "off: commands run unconfined"}
    if not named:
        return Confined(None, layers)
    why = f"not held: no sandbox keeps commands to the granted hosts ({named})"
    return Confined(None, {**layers, "network": why}, closed=why)


def _closed(named: str, network: Layer, why: str) -> str:
    """What is said of the network where granted hosts are not to be had."""
    if not network.held:
        return f"not held: {network.how}; commands reach any host, not only the granted ones ({named})"
    reason = f"; {why}" if why else ""
    return f"held: {network.how}, which has no way to the granted hosts ({named}): commands reach none{reason}"


def _starts_commands(spec: RunSpec, offer: Offer) -> bool:
    tools = offer.tools.values()
    return bool(spec.expect.checks) or any(Effect.EXECUTE in tool.effects or "machine" in tool.hands for tool in tools)


def try_out(spec: RunSpec, settings: Settings, policy: RuleSet, leavings: Leavings, *, opens: bool) -> Any:
    """The sandbox that this machine lends. opens: a way to granted hosts is part of it."""
    import atexit
    import shutil

    from remit.workspace.sandbox import Grounds
    from remit.workspace.sandbox_probe import find_bubblewrap, probe, wished
    from remit.workspace.sandbox_rights import limits
    from remit.workspace.sandbox_secrets import WorkspaceSecrets

    private = os.path.realpath(_temporary())
    leavings.note("private", private)
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    grounds = Grounds(
        workspace=spec.workspace,
        private=private,
        own=settings.own_dirs,
        home=_home_in(spec.workspace),
        fixed=(os.path.join(spec.workspace, ".remit"), *ruling_files(spec), *_started(spec.workspace)),
    )
    secrets = WorkspaceSecrets(spec.workspace, _hidden_by(policy))
    sandbox = probe(grounds, secrets, wished(), find_bubblewrap(), opens=opens)
    sandbox.limits = limits(settings.sandbox_memory)
    return sandbox


def _temporary() -> str:
    """A new directory of temporary files. Raises EnvironmentFault."""
    import tempfile

    try:
        return tempfile.mkdtemp(prefix="remit-")
    except OSError as problem:
        fault = environment_fault(problem, os.environ.get("TMPDIR", "/tmp"), "make a directory of temporary files")
        fault.hint = "make room there, or name another one by TMPDIR"
        raise fault from problem


def _home_in(workspace: str) -> str:
    """The home directory, or "" where it does not lie in the workspace."""
    home, top = os.path.realpath(os.path.expanduser("~")), os.path.realpath(workspace)
    return home if os.path.commonpath((home, top)) == top else ""


def _started(workspace: str) -> list[str]:
    """What programs of the user run by themselves, where a command could write it."""
    from remit.workspace.sandbox_places import STARTED

    home = _home_in(workspace)
    return [os.path.join(home, name) for name in STARTED] if home else []


def _hidden_by(policy: RuleSet) -> Callable[[str], bool]:
    """Whether the rules withhold a name of the workspace from commands. The built-in rules only look at names as
    those of credentials are; others may withhold any."""
    from remit.workspace.credentials import looks_like_credentials
    from remit.workspace.sandbox_secrets import hidden

    def withheld(name: str) -> bool:
        entry = Resource("path", name, Effect.READ, real=name)
        return not policy.entry_allowed(SHELL, Effect.READ, entry)

    if _withholds_more(policy):
        return lambda name: withheld(name) and (hidden(name) or not looks_like_credentials(name))
    return lambda name: hidden(name) and withheld(name)


def _withholds_more(policy: RuleSet) -> bool:
    """Whether somebody's rules keep paths from being read, beyond those that are built in."""
    return any(
        rule.decide != "auto"
        and rule.concerns(SHELL, Effect.READ, policy.mode)
        and (rule.selector is None or isinstance(rule.selector, PathSelector))
        for layer in policy.layers
        if layer.source not in ("floor", "default")
        for rule in layer.heeded()
    )
