"""`remit events`: the JSON Schema of the event stream."""

from __future__ import annotations

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def events() -> None:
    """Print the JSON Schema of the event stream."""
    from remit.stream.schema import schema_text

    typer.echo(schema_text(), nl=False)
