"""Completion scripts, one module for each shell. They are static: a press of TAB starts remit only
where the user's own runs or proposals are due."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from remit.commands.shells.words import Words
from remit.commands.tree import Command

SHELLS = {"bash": "remit.bash", "zsh": "_remit", "fish": "remit.fish"}
"""Each shell and the name its script is installed under."""


def completion_script(shell: str, tree: Command, words: Words) -> str:
    """The completion script of one of SHELLS."""
    module = import_module(f"remit.commands.shells.{shell}")
    return cast("str", module.script(tree, words))
