"""`remit auth`: the keys of providers, which are never shown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.base.errors import UsageFault
from remit.base.text import visible

if TYPE_CHECKING:
    from remit.config.providers import Providers

MAX_KEY_BYTES = 64 * 1024
MIN_KEY_CHARS = 20
"""Of a name with digits that is taken for a key."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Store the keys of providers, list and remove them.",
)

ProviderName = Annotated[str, typer.Argument(metavar="PROVIDER", help="A provider, such as openai.")]


@app.command("set", context_settings={"allow_extra_args": True})
def store(context: typer.Context, provider: ProviderName) -> None:
    """Store the key of a provider, read from standard input.

    On a terminal the key is asked for and not shown; from a pipe it is one line, up to its end."""
    from remit.store.auth import AuthFile

    config_dir, providers = _setup()
    if context.args or _like_a_key(provider):
        raise _on_command_line(provider if provider in providers.entries else "PROVIDER")
    found = providers.provider(provider)
    if not found.takes_key:
        raise UsageFault(f"{found.name} takes no key: its models are on no server")
    file = AuthFile(config_dir)
    # What is wrong with the file is said before a key is asked for.
    file.read()
    file.set(found.name, _read_key(found.name))
    typer.echo(f"stored the key of {found.name} in {file.path}")
    before = next((name for name in found.key_env if os.environ.get(name, "").strip()), "")
    if before:
        typer.echo(f"note: {before} is set, and goes before it", err=True)


@app.command("list")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """List the providers with a key, and the source that counts: variable, auth file, token command.

    No key is shown, and no command is run."""
    from remit.config.providers import KeySource, key_source
    from remit.store.auth import AuthFile

    config_dir, providers = _setup()
    stored = AuthFile(config_dir).read()
    rows: list[dict[str, Any]] = []
    for name in sorted({*providers.entries, *stored}):
        entry = providers.entries.get(name)
        source = key_source(entry, os.environ, stored) if entry else KeySource("auth file")
        if source.kind != "none":
            found = {"provider": name, "source": source.kind, "variable": source.name}
            rows.append(found | {"stored": name in stored, "known": entry is not None})
    if as_json:
        from remit.stream.writer import pretty_json

        typer.echo(pretty_json(rows))
        return
    width = max((len(row["provider"]) for row in rows), default=0)
    for row in rows:
        typer.echo(f"{visible(row['provider']):<{width}}  {_told(row)}")
    if not rows:
        typer.echo("no keys: set a variable such as OPENAI_API_KEY, or run remit auth set PROVIDER", err=True)


def _told(row: dict[str, Any]) -> str:
    """The source of a key in words."""
    source = f"{row['source']} {row['variable']}".rstrip()
    if not row["known"]:
        return f"{source}, for a provider that is not configured"
    return f"{source}, before the auth file" if row["stored"] and row["source"] == "variable" else source


@app.command("remove")
def remove(provider: ProviderName) -> None:
    """Remove the key of a provider from the auth file."""
    from remit.store.auth import AuthFile

    config_dir, providers = _setup()
    file = AuthFile(config_dir)
    # A key may be left of a provider that is configured no more.
    name = provider if provider in file.read() else providers.provider(provider).name
    if not file.remove(name):
        raise UsageFault(f"there is no key of {name} in {file.path}", hint="remit auth list shows where keys come from")
    typer.echo(f"removed the key of {name} from {file.path}")


def _like_a_key(name: str) -> bool:
    """Whether this was hardly meant as the name of a provider."""
    from remit.base.redact import Redactor

    long = len(name) >= MIN_KEY_CHARS and any(char.isdigit() for char in name)
    return long or Redactor().text(name) != name


def _on_command_line(provider: str) -> UsageFault:
    """What must not be shown was given as an argument."""
    hint = f'printf %s "$KEY" | remit auth set {provider}; the shell may keep what was given now in its history'
    what = "the key is read from standard input, not from the command line"
    return UsageFault(what, hint=hint, kind="bad_key")


def _setup() -> tuple[str, Providers]:
    """The configuration directory, and the providers."""
    from remit.config.providers import load_providers
    from remit.config.where import config_dir

    directory = config_dir(os.environ)
    return directory, load_providers(directory)


def _read_key(provider: str) -> str:
    """The key on standard input. Raises UsageFault for what can be none; no message shows it."""
    hint = f'printf %s "$KEY" | remit auth set {provider}'
    try:
        text = _ask(provider) if _on_terminal() else _piped()
    except UsageFault as fault:
        raise UsageFault(fault.what, hint=hint, kind="bad_key") from None
    if not text:
        raise UsageFault("no key came on standard input", hint=hint, kind="bad_key")
    if not text.isascii() or not text.isprintable():
        what = "the key holds something else than printable ASCII characters, or more than one line"
        raise UsageFault(what, hint=hint, kind="bad_key")
    if text != text.strip():
        raise UsageFault("the key has a blank before or after it", hint=hint, kind="bad_key")
    return text


def _on_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def _ask(provider: str) -> str:
    """What a person types; nothing where they end the input instead."""
    import getpass

    try:
        return getpass.getpass(f"key of {provider}: ")
    except EOFError:
        return ""


def _piped() -> str:
    """What a pipe or file brings, without the line break at its end."""
    from remit.commands.stdin import read_stdin

    data = read_stdin(required=True, ignored=False, max_bytes=MAX_KEY_BYTES).data
    return data.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
