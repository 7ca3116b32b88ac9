"""`remit models`: the models that are known, what they can, what they cost, and where their keys come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from remit.base.spec import ModelSpec, Price
    from remit.config.providers import KeySource, Providers

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_COLUMNS = ("MODEL", "CONTEXT", "OUTPUT", "ABILITIES", "INPUT $/M", "OUTPUT $/M", "KEY")
_RIGHT = frozenset({"CONTEXT", "OUTPUT", "INPUT $/M", "OUTPUT $/M"})


@app.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array with all that is known.")] = False,
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="PROVIDER", help="Only the models of this one.")
    ] = None,
) -> None:
    """List the models that are known, their prices and keys.

    Context window, output limit, abilities, prices in US dollars per million tokens, and where a key is found.
    No server is asked, and models that are not listed can be used all the same."""
    from remit.config.providers import key_source, load_providers
    from remit.config.settings import load_settings
    from remit.store.auth import AuthFile

    settings = load_settings(os.environ)
    providers = load_providers(settings.config_dir)
    wanted = providers.provider(provider).name if provider is not None else ""
    stored = AuthFile(settings.config_dir).read()
    rows = [
        _described(
            spec,
            settings.prices.get(spec.id, spec.price),
            _purposes(providers, spec),
            key_source(providers.entries[spec.provider], os.environ, stored),
        )
        for spec in providers.models()
        if wanted in ("", spec.provider)
    ]
    if as_json:
        from remit.stream.writer import pretty_json

        typer.echo(pretty_json(rows))
        return
    typer.echo(
        f"catalog of {providers.dated}; prices in US dollars per million tokens, + where long requests cost more"
    )
    if rows:
        for line in _table([_COLUMNS, *map(_row, rows)]):
            typer.echo(line)
    else:
        typer.echo(f"no models of {wanted} are listed; any can be named: -m {wanted}/MODEL", err=True)


def _purposes(providers: Providers, spec: ModelSpec) -> list[str]:
    from remit.config.providers import PURPOSES

    return [purpose for purpose in PURPOSES if providers.purpose(purpose, spec.provider) == spec.id]


def _described(spec: ModelSpec, price: Price | None, purposes: list[str], key: KeySource) -> dict[str, Any]:
    """All that is known of a model. Headers, query and commands stay out: they are of the user's own."""
    return {
        "id": spec.id,
        "provider": spec.provider,
        "name": spec.name,
        "protocol": spec.protocol,
        "base_url": spec.base_url,
        "context_window": spec.context_window,
        "max_output_tokens": spec.max_output_tokens,
        "output_in_window": spec.output_in_window,
        "vision": spec.vision,
        "pdf": spec.pdf,
        "thinking": spec.thinking,
        "cache_breakpoints": spec.cache_breakpoints,
        "price": None if price is None else _priced(price),
        "purposes": purposes,
        "key_required": spec.key_required,
        "key": {"source": key.kind, "variable": key.name},
        "gguf": spec.gguf,
    }


def _priced(price: Price) -> dict[str, Any]:
    """A price with every field, also those that are not known."""
    fields = ("input", "output", "cache_read", "cache_write")
    tiers = [{"above": tier.above} | {name: getattr(tier, name) for name in fields} for tier in price.tiers]
    return {name: getattr(price, name) for name in fields} | {"tiers": tiers}


def _row(known: Mapping[str, Any]) -> tuple[str, ...]:
    price = known["price"]
    return (
        known["id"],
        _tokens(known["context_window"]),
        _tokens(known["max_output_tokens"]),
        ",".join(_abilities(known)) or "-",
        "-" if price is None else _dollars(price["input"], price["tiers"]),
        "-" if price is None else _dollars(price["output"], price["tiers"]),
        f"{known['key']['source']} {known['key']['variable']}".rstrip(),
    )


def _abilities(known: Mapping[str, Any]) -> list[str]:
    named = [name for name in ("vision", "pdf") if known[name]]
    thinks = ["thinking"] if known["thinking"] not in (None, "none") else []
    return [*named, *thinks, *known["purposes"]]


def _tokens(count: int | None) -> str:
    """A number of tokens; "-" where it is not known."""
    return "-" if count is None else f"{count:,}"


def _dollars(price: float, tiers: list[Any]) -> str:
    """A price; with a + where long requests are dearer."""
    return f"{price:g}{'+' if tiers else ''}"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if name in _RIGHT else cell.ljust(width)
            for name, cell, width in zip(_COLUMNS, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
