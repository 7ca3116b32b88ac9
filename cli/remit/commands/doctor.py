"""`remit doctor`: what is there, what works, what holds on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_MARKS = {"ok": "ok    ", "note": "note  ", "broken": "BROKEN"}


@app.command()
def doctor(
    parts: Annotated[
        bool, typer.Option("--parts", help="Also try each part that remit is made of.", show_default=False)
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """Say what is there, what works and what holds on this machine.

    Version, settings, where keys are found (never a key), servers of models on loopback, rule files, what the sandbox
    can hold, directories. Exits with 8 when something is broken that runs need."""
    import msgspec

    from remit.base.errors import EXIT_CODES, Verdict
    from remit.stream.writer import pretty_json
    from remit.wiring.doctor import examine

    findings = []
    for finding in examine(os.environ, parts=parts):
        findings.append(finding)
        if not as_json:
            subject = f"{finding.area} {finding.name}".rstrip()
            typer.echo(f"{_MARKS[finding.state]} {subject}: {finding.detail}")
    if as_json:
        typer.echo(pretty_json([msgspec.to_builtins(each) for each in findings]))
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(EXIT_CODES[Verdict.PREFLIGHT])
