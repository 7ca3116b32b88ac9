"""`remit memory`: what models proposed to remember, for a person to accept or reject."""

from __future__ import annotations

import os
import time
from typing import Literal

import typer

from remit.base.text import visible
from remit.store.memory import MemoryProposals, Proposal, Status

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="List memory proposals, accept or reject them.",
)


@app.command("proposals")
def proposals(
    json: bool = typer.Option(False, "--json", help="Print a JSON array."),
    everything: bool = typer.Option(False, "--all", help="Also those that were accepted or rejected."),
) -> None:
    """List the proposals that wait for a decision, oldest first."""
    found = _store().read(decided=everything)
    if json:
        from remit.stream.writer import pretty_json

        typer.echo(pretty_json(found))
        return
    for proposal in found:
        typer.echo(described(proposal))
    if not found:
        typer.echo("no memory proposals" if everything else "no memory proposals wait", err=True)


@app.command("accept")
def accept(
    ids: list[str] = typer.Argument(..., metavar="ID...", help="Proposals, by id or the start of one."),
) -> None:
    """Accept proposals: all that are named, or none when one is unknown."""
    _decide(ids, "accepted")


@app.command("reject")
def reject(
    ids: list[str] = typer.Argument(..., metavar="ID...", help="Proposals, by id or the start of one."),
) -> None:
    """Reject proposals: all that are named, or none when one is unknown."""
    _decide(ids, "rejected")


def _decide(ids: list[str], status: Literal["accepted", "rejected"]) -> None:
    store = _store()
    before = {proposal.id: proposal.status for proposal in store.read(decided=True)}
    for proposal in store.decide(ids, status):
        text = visible(" ".join(proposal.text.split()))[:80]
        typer.echo(f"{_change(proposal.id, before.get(proposal.id, 'proposed'), status)}: {text}")


def _change(ident: str, before: Status, status: Status) -> str:
    if before == status:
        return f"{ident} was {status} already"
    return f"{status} {ident}" + ("" if before == "proposed" else f", which was {before}")


def described(proposal: Proposal) -> str:
    """A proposal in a few lines for a terminal, whatever its text holds."""
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(proposal.created))
    tags = "".join(f" #{tag}" for tag in proposal.tags)
    lines = [f"{proposal.id}  {proposal.status}  {when} UTC  {proposal.task}{tags}"]
    lines += [f"    {line}" for line in proposal.text.split("\n")]
    if proposal.reason:
        lines.append(f"    reason: {' '.join(proposal.reason.split())}")
    return "\n".join(visible(line, keep="\t") for line in lines)


def _store() -> MemoryProposals:
    from remit.config.settings import load_settings

    return MemoryProposals(load_settings(os.environ).state_dir)
