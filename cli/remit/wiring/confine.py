"""The sandbox of a run's commands: what this machine lends for it, held against what the settings demand."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from remit.base.errors import PreflightFault
from remit.base.events import Notice
from remit.base.resources import Effect, Resource
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.policy.decide import RuleSet
from remit.policy.load import ruling_files
from remit.policy.rules import PathSelector
from remit.store.rundir import RunDir, own_files
from remit.wiring.offer import Offer

SHELL = "shell"
"""The tool whose reading stands for that of all commands."""


class Confined(msgspec.Struct, frozen=True):
    """sandbox: a `workspace.sandbox.Sandbox`, or None. layers: for the init event."""

    sandbox: Any
    layers: dict[str, str]

    def notices(self) -> list[Notice]:
        """What the user has to know beyond the init event."""
        if self.sandbox is None:
            return []
        missing = [f"{name}: {layer.how}" for name, layer in self.sandbox.layers().items() if not layer.held]
        if not missing:
            return []
        return [Notice(kind="sandbox", text=f"commands are not confined in every way: {'; '.join(missing)}")]

    def enter(self, directory: RunDir) -> None:
        """Take what the run keeps on disk into account, once it is there."""
        if self.sandbox is not None:
            # The files one by one too, for a directory that is the workspace itself.
            self.sandbox.enter((directory.path, *own_files(directory.path)), directory.artifacts_path)

    def close(self) -> None:
        if self.sandbox is not None:
            self.sandbox.close()


def confine(spec: RunSpec, settings: Settings, policy: RuleSet, offer: Offer) -> Confined:
    """How the commands of this run will be held. Nothing is tried out for a run that starts none.

    Raises PreflightFault when the sandbox is required and a layer of it does not hold here."""
    if not _starts_commands(spec, offer):
        return Confined(None, {"sandbox": "unused: this run starts no commands"})
    if spec.sandbox == "off":
        return Confined(None, {"sandbox": "off: commands run unconfined"})
    sandbox = _try_out(spec, settings, policy)
    layers = sandbox.layers()
    confined = Confined(sandbox, {"sandbox": spec.sandbox, **{name: str(layer) for name, layer in layers.items()}})
    missing = [f"{name}: {layer.how}" for name, layer in layers.items() if not layer.held]
    if missing and spec.sandbox == "required":
        confined.close()
        raise PreflightFault(
            f"this machine cannot confine commands as the settings require: {'; '.join(missing)}",
            where=str(settings.origin("sandbox.mode")),
            hint='run where that is allowed, or let `[sandbox] mode` be "auto", which goes on with what holds',
            kind="sandbox",
        )
    return confined


def _starts_commands(spec: RunSpec, offer: Offer) -> bool:
    tools = offer.tools.values()
    return bool(spec.expect.checks) or any(Effect.EXECUTE in tool.effects or "machine" in tool.hands for tool in tools)


def _try_out(spec: RunSpec, settings: Settings, policy: RuleSet) -> Any:
    import atexit
    import shutil
    import tempfile

    from remit.workspace.sandbox import Grounds
    from remit.workspace.sandbox_probe import find_bubblewrap, probe, wished
    from remit.workspace.sandbox_secrets import WorkspaceSecrets

    private = tempfile.mkdtemp(prefix="remit-")
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    grounds = Grounds(
        workspace=spec.workspace,
        private=os.path.realpath(private),
        own=(settings.state_dir, settings.config_dir),
        fixed=(os.path.join(spec.workspace, ".remit"), *ruling_files(spec)),
    )
    return probe(grounds, WorkspaceSecrets(spec.workspace, _hidden_by(policy)), wished(), find_bubblewrap())


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
