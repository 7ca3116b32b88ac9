"""`remit events`: the JSON Schema of the event stream."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def events(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema; it is printed anyway.")] = True,
) -> None:
    """Print the JSON Schema of the event stream."""
    from remit.stream.schema import schema_text

    typer.echo(schema_text(), nl=False)
