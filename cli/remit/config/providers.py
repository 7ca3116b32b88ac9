"""Who serves models, and which: the built-in catalog with the user's `providers.toml` laid over it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from remit.base.built import built
from remit.base.errors import Faults, UsageFault
from remit.base.spec import ModelSpec, Price, PriceTier, Protocol
from remit.base.text import shorten
from remit.config.document import in_line_order
from remit.config.load import decode, parse, read_optional
from remit.config.providers_keys import CatalogKeys, ModelKeys, PriceKeys, ProviderKeys, read_keys, split_command

FILE_NAME = "providers.toml"
BUILT_IN = "built in"

Purpose = Literal["fast", "best"]
PURPOSES: tuple[Purpose, ...] = ("fast", "best")

_FORMS = {
    "local": "local/smollm2 or local/PATH.gguf",
    "scripted": "scripted/FILE",
    "replay": "replay/FILE",
}
"""How models are written whose names are not of a server."""

_ALL_FORMS = f"PROVIDER/MODEL, such as openai/MODEL; {'; '.join(_FORMS.values())}; `remit models` lists them"


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider, built in or of the user, merged. where: `file:line` of the user's table, or "built in".
    purposes, own_purposes: names of models by purpose, all and the user's. models: by id, as written.
    For the others see `ModelSpec`."""

    name: str
    display_name: str = ""
    protocol: Protocol = "openai"
    protocol_elsewhere: Protocol | None = None
    base_url: str = ""
    base_url_env: str = ""
    key_env: tuple[str, ...] = ()
    key_required: bool = False
    token_command: tuple[str, ...] = ()
    auth_header: str = ""
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    default_model: str = ""
    purposes: dict[str, str] = {}
    own_purposes: dict[str, str] = {}
    models: dict[str, ModelKeys] = {}
    where: str = BUILT_IN

    @property
    def takes_key(self) -> bool:
        """Whether its models are on a server."""
        return self.name not in _FORMS

    def spec(self, name: str) -> ModelSpec:
        """One of its models, known or not, by the provider's own name."""
        keys = self.models.get(name) or ModelKeys(id=name)
        facts = {field: value for field in _FACTS if (value := getattr(keys, field)) is not UNSET}
        return ModelSpec(
            id=f"{self.name}/{name}",
            protocol=self.protocol,
            protocol_elsewhere=self.protocol_elsewhere,
            base_url=self.base_url,
            base_url_env=self.base_url_env,
            auth_header=self.auth_header,
            key_env=self.key_env,
            key_required=self.key_required,
            token_command=self.token_command,
            headers=self.headers,
            query=self.query,
            price=_price(keys.price) if isinstance(keys.price, PriceKeys) else None,
            small=self._is_small(name),
            **facts,
        )

    def _is_small(self, name: str) -> bool | None:
        """By what it is recommended for; never by price or name."""
        by_name = {self.purposes.get("best"): False, self.purposes.get("fast"): True}
        return by_name.get(name) if len(by_name) == 2 else None


_FACTS = tuple(field for field in ModelKeys.__struct_fields__ if field not in ("id", "price"))


class KeySource(msgspec.Struct, frozen=True):
    """Where a key would come from. name: of the variable."""

    kind: Literal["variable", "auth file", "token command", "none"]
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


def key_source(provider: Provider, environ: Mapping[str, str], stored: Container[str]) -> KeySource:
    """The source that counts: the first variable that is set, the auth file, the token command.

    stored: the providers with a key in the auth file."""
    for name in provider.key_env:
        if environ.get(name, "").strip():
            return KeySource("variable", name)
    if provider.name in stored:
        return KeySource("auth file")
    return KeySource("token command" if provider.token_command else "none")


class Providers(msgspec.Struct, frozen=True):
    """All providers. files: sha256 of `providers.toml` if there is one, by absolute path. dated: day of the
    built-in catalog. entries: by name. aliases: other names of providers."""

    files: dict[str, str]
    dated: str
    entries: dict[str, Provider]
    aliases: dict[str, str]

    def names(self) -> list[str]:
        """The names of all providers, sorted."""
        return sorted(self.entries)

    def provider(self, name: str) -> Provider:
        """The provider of that name, or other name. Raises UsageFault."""
        found = self.entries.get(self.aliases.get(name, name))
        if found is None:
            near = _nearest(name, [*self.entries, *self.aliases])
            hint = f"did you mean {near}?" if near else f"the providers are {', '.join(self.names())}"
            raise UsageFault(f"there is no provider {shorten(name)}", hint=hint)
        return found

    def models(self) -> list[ModelSpec]:
        """Every model that is known, sorted by provider and name."""
        return [provider.spec(name) for _, provider in sorted(self.entries.items()) for name in sorted(provider.models)]

    def purpose(self, purpose: Purpose, provider: str) -> str:
        """The id of the provider's model for a purpose, or "" where it has none. Raises UsageFault."""
        found = self.provider(provider)
        name = found.purposes.get(purpose, "")
        return f"{found.name}/{name}" if name else ""

    def model(self, name: str) -> ModelSpec:
        """The model of that name: `provider/model`, `provider/fast`, `provider/best`, a provider with a default
        model, a name that only one provider has, or a purpose that only one provider of the user's has.

        A model that a provider is not known to have is one all the same, with nothing known of it.
        Raises UsageFault."""
        slug, slash, rest = name.partition("/")
        provider = self.entries.get(self.aliases.get(slug, slug))
        if slash and provider is None:
            raise UsageFault(f"there is no provider {shorten(slug)}", hint=self._hint(slug))
        if provider is None:
            return self._bare(name)
        rest = rest or ("" if slash else provider.default_model)
        if not rest:
            raise UsageFault(
                f"the model {shorten(name)} names no model of {provider.name}", hint=f"write {_form(provider.name)}"
            )
        if rest in PURPOSES and rest not in provider.models and provider.takes_key:
            return self._for_purpose(provider, rest)
        return provider.spec(rest)

    def _for_purpose(self, provider: Provider, purpose: str) -> ModelSpec:
        if name := provider.purposes.get(purpose):
            return provider.spec(name)
        raise UsageFault(
            f"{provider.name} has no model for the purpose `{purpose}`",
            hint=f'write purposes = {{{purpose} = "MODEL"}} below [{provider.name}] in {FILE_NAME}',
        )

    def _bare(self, name: str) -> ModelSpec:
        """A model that was named without its provider."""
        if name in PURPOSES:
            having = [each for each in self.entries.values() if name in each.own_purposes]
            form = f"write PROVIDER/{name}"
        else:
            having = [each for each in self.entries.values() if name in each.models]
            form = self._hint(name)
        if len(having) == 1:
            return having[0].spec(having[0].own_purposes.get(name, name))
        if having:
            one_of = ", ".join(sorted(f"{each.name}/{name}" for each in having))
            raise UsageFault(f"the model {shorten(name)} is one of several providers", hint=f"write one of {one_of}")
        raise UsageFault(f"the model {shorten(name)} names no provider", hint=form)

    def _hint(self, word: str) -> str:
        """What to write instead of a word that names neither provider nor model."""
        if near := _nearest(word, [*self.entries, *self.aliases]):
            return f"did you mean {_form(near)}? models are written {_ALL_FORMS}"
        known = {name: f"{each.name}/{name}" for each in self.entries.values() for name in each.models}
        if near := _nearest(word, known):
            return f"did you mean {known[near]}? models are written {_ALL_FORMS}"
        return f"models are written {_ALL_FORMS}"


def _form(provider: str) -> str:
    return _FORMS.get(provider, f"{provider}/MODEL")


def _nearest(word: str, choices: Any) -> str:
    import difflib

    near = difflib.get_close_matches(word[:100], list(choices), n=1)
    return near[0] if near else ""


def load_providers(config_dir: str) -> Providers:
    """The built-in catalog, and over it `providers.toml` of the configuration directory if there is one.

    Raises Faults with all that is wrong with the file."""
    dated, aliases, entries = _catalog()
    path = os.path.join(config_dir, FILE_NAME)
    raw = read_optional(path)
    if raw is None:
        return Providers({}, dated, entries, aliases)
    files = {os.path.abspath(path): hashlib.sha256(raw).hexdigest()}
    text = decode(raw, path)
    if text.strip():
        document = parse(text, path, "toml")
        protocols = {name: provider.protocol for name, provider in entries.items()}
        tables, faults = read_keys(document, protocols, aliases)
        if faults:
            raise Faults(in_line_order(list(dict.fromkeys(faults)), document))
        for slug, keys in tables.items():
            entries[slug] = _over(entries.get(slug) or _blank(slug), keys, document.where(slug))
    return Providers(files, dated, entries, aliases)


def _catalog() -> tuple[str, dict[str, str], dict[str, Provider]]:
    data = dict(built("CATALOG") or catalog_tables())
    dated, aliases = data.pop("dated"), data.pop("aliases")
    del data["version"]
    keys = msgspec.convert(data, dict[str, CatalogKeys])
    return dated, aliases, {slug: _over(_blank(slug), each, BUILT_IN) for slug, each in keys.items()}


def catalog_tables() -> dict[str, Any]:
    """The built-in catalog as it is written."""
    import tomli

    with open(os.path.join(os.path.dirname(__file__), "catalog.toml"), "rb") as file:
        return tomli.load(file)


def _blank(slug: str) -> Provider:
    """A provider of which nothing was said yet."""
    if slug in _FORMS:
        return Provider(name=slug)
    variable = slug.replace("-", "_").upper()
    return Provider(name=slug, base_url_env=f"{variable}_BASE_URL", key_env=(f"{variable}_API_KEY",))


_PLAIN = ("display_name", "base_url_env", "auth_header", "headers", "query", "default_model")
"""Keys that simply replace what there was."""


def _over(below: Provider, keys: ProviderKeys | CatalogKeys, where: str) -> Provider:
    """A provider with a table laid over it, key by key."""
    new: dict[str, Any] = {name: value for name in _PLAIN if (value := getattr(keys, name)) is not UNSET}
    purposes = {name: each for name in PURPOSES if isinstance(each := getattr(keys.purposes, name), str)}
    return msgspec.structs.replace(
        below,
        **new,
        **_served(below, keys),
        purposes=below.purposes | purposes,
        own_purposes={} if where == BUILT_IN else purposes,
        models=below.models | {each.id: _model_over(below.models.get(each.id), each) for each in keys.models},
        where=where,
    )


def _served(below: Provider, keys: ProviderKeys | CatalogKeys) -> dict[str, Any]:
    """Address, protocol and key. A provider's own protocol and need of a key are those of its own address."""
    new: dict[str, Any] = {}
    if isinstance(keys.base_url, str):
        new["base_url"] = keys.base_url
        if below.base_url and keys.base_url.rstrip("/").lower() != below.base_url.rstrip("/").lower():
            new |= {"protocol": below.protocol_elsewhere or below.protocol, "key_required": False}
            new["protocol_elsewhere"] = None
    if keys.protocol is not UNSET:
        elsewhere = keys.protocol_elsewhere if isinstance(keys, CatalogKeys) else UNSET
        new |= {"protocol": keys.protocol, "protocol_elsewhere": elsewhere or None}
    if not isinstance(keys.api_key_env, msgspec.UnsetType):
        names = keys.api_key_env
        new |= {"key_env": (names,) if isinstance(names, str) else names, "key_required": True}
    if not isinstance(keys.token_command, msgspec.UnsetType):
        new["token_command"] = split_command(keys.token_command)
    if keys.key_required is not UNSET:
        new["key_required"] = keys.key_required
    return new


def _model_over(below: ModelKeys | None, keys: ModelKeys) -> ModelKeys:
    if isinstance(keys.gguf, str) and keys.gguf.startswith("~/"):
        keys = msgspec.structs.replace(keys, gguf=os.path.expanduser(keys.gguf))
    if below is None:
        return keys
    given = {name: value for name in ModelKeys.__struct_fields__ if (value := getattr(keys, name)) is not UNSET}
    return msgspec.structs.replace(below, **given)


def _price(keys: PriceKeys) -> Price:
    tiers = [PriceTier(*msgspec.structs.astuple(tier)) for tier in keys.tiers]
    tiers.sort(key=lambda tier: tier.above)
    return Price(keys.input, keys.output, keys.cache_read, keys.cache_write, tuple(tiers))
