"""`remit completion`: the completion script of a shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from remit.base.errors import UsageFault

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

MOST_WORDS = 50
"""Runs are offered newest first; whoever means an older one knows its id."""


@app.command()
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"] | None, typer.Argument(metavar="SHELL", help="The shell it is for.")
    ] = None,
    words: Annotated[Literal["runs", "proposals"] | None, typer.Option("--words", hidden=True)] = None,
) -> None:
    """Print the completion script of a shell."""
    if words is not None:
        for line in own_words(words):
            typer.echo(line)
        return
    if shell is None:
        raise UsageFault("no shell is named", hint="write `remit completion bash`, zsh or fish")
    from remit.commands.shells import completion_script
    from remit.commands.shells.words import known_words
    from remit.commands.tree import command_tree

    typer.echo(completion_script(shell, command_tree(), known_words()), nl=False)


def own_words(kind: Literal["runs", "proposals"]) -> Iterator[str]:
    """What this user has, newest first: a word, a tab and what it is. The scripts ask for it."""
    from remit.base.text import visible
    from remit.config.settings import load_settings

    state_dir = load_settings(os.environ).state_dir
    if kind == "runs":
        from remit.store.run_list import list_runs

        for entry in list_runs(state_dir, MOST_WORDS):
            name = entry.status.name if entry.status else ""
            yield f"{entry.run_id}\t{visible(f'{entry.state} {name}'.strip())}"
        return
    from remit.store.memory import MemoryProposals

    for proposal in reversed(MemoryProposals(state_dir).read()[-MOST_WORDS:]):
        yield f"{proposal.id}\t{visible(' '.join(proposal.text.split()))[:60]}"
