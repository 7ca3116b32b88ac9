"""The root command: a table of subcommands, each imported when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

from remit.base.errors import exit_table

COMMANDS: dict[str, str] = {
    "run": "Run a task or a prompt to its verdict.",
    "resume": "Go on with a run that stopped, or say more to one that is done.",
    "replay": "Play a recorded run again, offline, and compare everything.",
    "task": "Check a task file, print its schema, start one from an example.",
    "policy": "Check rule files and explain decisions.",
    "runs": "List runs and show one.",
    "memory": "List memory proposals, accept or reject them.",
    "tools": "List the tools a run with these flags would offer, and why others are off.",
    "prompt": "Print what the model of a run with these flags reads before the prompt.",
    "models": "List the models that are known, their prices and keys.",
    "auth": "Store the keys of providers, list and remove them.",
    "doctor": "Say what is there, what works and what holds on this machine.",
    "events": "Print the JSON Schema of the event stream.",
    "completion": "Print the completion script of a shell.",
    "man": "Print a manual page, or show it on a terminal.",
}
"""Subcommand and its line in the help, the first sentence of its own. `remit.commands.NAME` holds it as `app`."""

HELP = "Run an LLM agent where nobody is watching: task file in, artifacts and an honest verdict out."
EPILOG = f"Exit codes: {exit_table()} by a signal or a reader that went away."


class LazyGroup(TyperGroup):
    """Imports only the subcommand that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"remit.commands.{cmd_name}")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(value: bool) -> None:
    if value:
        from remit import __version__

        typer.echo(f"remit {__version__}")
        raise typer.Exit


root = typer.Typer(
    cls=LazyGroup,
    name="remit",
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@root.callback()
def _root(
    version: bool = typer.Option(False, "--version", "-V", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    """Without a subcommand: the help."""
