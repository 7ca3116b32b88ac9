"""`remit man`: the manual, which every installation carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Annotated

import typer

from remit.base.errors import UsageFault
from remit.base.text import shorten

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def man(
    page: Annotated[str, typer.Argument(metavar="[PAGE]", help="Such as run, task.5 or remit-policy.5.")] = "remit",
    source: Annotated[bool, typer.Option("--roff", help="Print the source, for man(1) to read.")] = False,
    names: Annotated[bool, typer.Option("--list", help="List the pages.")] = False,
) -> None:
    """Print a manual page, or show it on a terminal."""
    from remit import __version__
    from remit.commands.manual import PAGES, find_page
    from remit.commands.manual.page import plain, roff

    if names:
        for file, build in PAGES.items():
            typer.echo(f"{file:<18} {build().summary}")
        return
    file = find_page(page)
    if not file:
        raise UsageFault(f"there is no page {shorten(page)}", hint=_hint(page))
    built = PAGES[file]()
    if source:
        typer.echo(roff(built, __version__), nl=False)
    elif not (sys.stdout.isatty() and shown_by_man(file, roff(built, __version__))):
        typer.echo(plain(built), nl=False)


def shown_by_man(file: str, text: str) -> bool:
    """Show the page with man(1); False when there is none, or it cannot."""
    program = shutil.which("man")
    if program is None:
        return False
    with tempfile.TemporaryDirectory(prefix="remit-man-") as directory:
        # Every man reads a file whose name has a slash, where only some read standard input.
        path = os.path.join(directory, file)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return subprocess.run([program, path], check=False).returncode == 0


def _hint(page: str) -> str:
    from remit.commands.manual import page_words
    from remit.config.load import did_you_mean

    words = page_words()
    return did_you_mean(page.removeprefix("remit-"), words) or f"pages: {', '.join(words)}"
