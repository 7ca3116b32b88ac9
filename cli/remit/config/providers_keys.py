"""The keys of `providers.toml`, and what can be wrong with their values."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from remit.base.errors import Fault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.spec import Dollars, Protocol, Thinking
from remit.base.text import shorten
from remit.config.convert import convert_fields
from remit.config.document import Document, Keys, did_you_mean, spell

VERSION = 1

Wire = Literal["openai", "openai-responses", "anthropic", "google"]
"""The protocols that a server can speak."""

Tokens = Annotated[int, Meta(ge=1)]
Text = Annotated[str, Meta(min_length=1)]
Texts = tuple[Text, ...]


class TierKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `price.tiers`."""

    above: Annotated[int, Meta(ge=0)]
    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class PriceKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`price`: US dollars per million tokens."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None
    tiers: tuple[TierKeys, ...] = ()


class ModelKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[[PROVIDER.models]]`"""

    id: Text
    context_window: Tokens | UnsetType = UNSET
    max_output_tokens: Tokens | UnsetType = UNSET
    output_in_window: bool | UnsetType = UNSET
    vision: bool | UnsetType = UNSET
    pdf: bool | UnsetType = UNSET
    thinking: Thinking | UnsetType = UNSET
    cache_breakpoints: bool | UnsetType = UNSET
    price: PriceKeys | UnsetType = UNSET
    gguf: Text | UnsetType = UNSET


class PurposeKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`purposes`: the provider's own names of models."""

    fast: Text | UnsetType = UNSET
    best: Text | UnsetType = UNSET


class CommonKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a provider of the user's and a built-in one have in common."""

    display_name: Text | UnsetType = UNSET
    base_url: Text | UnsetType = UNSET
    base_url_env: Text | UnsetType = UNSET
    api_key_env: Text | Texts | UnsetType = UNSET
    key_required: bool | UnsetType = UNSET
    token_command: Text | Texts | UnsetType = UNSET
    auth_header: Text | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    query: dict[str, str] | UnsetType = UNSET
    default_model: Text | UnsetType = UNSET
    purposes: PurposeKeys = PurposeKeys()
    models: tuple[ModelKeys, ...] = ()


class ProviderKeys(CommonKeys, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[PROVIDER]` of a user's file."""

    protocol: Wire | UnsetType = UNSET


class CatalogKeys(CommonKeys, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[PROVIDER]` of the built-in catalog, which may be no server."""

    protocol: Protocol | UnsetType = UNSET
    protocol_elsewhere: Wire | UnsetType = UNSET


_Complaint = tuple[Keys, str, str]
"""The place below the provider, what is wrong there, and what to do."""

_SLUG = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,39}")
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_AUTHORITY = lazy_pattern(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_NO_SECRETS = "name a variable in `api_key_env`, or a program in `token_command`"
_FRAMING = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that say how a request or its answer travels: wrong ones make neither readable."""

_SECRET_WORD = lazy_pattern(
    r"(?:api|access|auth|client|private|secret|session|signing|subscription)?(?:key|token|auth|secret)"
    r"|passwords?|passwd|pwd|passphrase|authorization|authentication|credentials?|bearer|cookies?|signature"
)
_WORDS = lazy_pattern(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_THINKING: dict[str, tuple[Thinking, ...]] = {
    "openai": ("none", "effort"),
    "openai-responses": ("none", "effort"),
    "anthropic": ("none", "budget", "adaptive"),
    "google": ("none", "budget", "level"),
}
"""How a model can be told to think in the words of each protocol."""

_NO_SERVER: frozenset[str] = frozenset({"local", "scripted", "replay"})
_WITHOUT_SERVER = frozenset({"display_name", "default_model", "purposes", "models"})


def read_keys(
    document: Document, builtin: dict[str, Protocol], aliases: dict[str, str]
) -> tuple[dict[str, ProviderKeys], list[Fault]]:
    """The providers of a user's file by name, and every fault of the file. builtin: protocols by name."""
    if not document.data:
        return {}, []
    if faults := _version_faults(document):
        return {}, faults
    providers: dict[str, ProviderKeys] = {}
    for slug, table in document.data.items():
        if slug == "version":
            continue
        if found := _name_faults(document, slug, table, aliases):
            faults += found
            continue
        good, found = convert_fields(document, ProviderKeys, (slug,))
        keys = providers[slug] = ProviderKeys(**good)
        faults += [_without_key(document, slug, fault) for fault in found]
        faults += [_fault(document, slug, each) for each in _complaints(keys, table, slug, builtin)]
    return providers, faults


def _version_faults(document: Document) -> list[Fault]:
    """What keeps the file from being read at all."""
    version = document.data.get("version")
    if version is None:
        return [Fault("`version` is missing", document.where(), f"write version = {VERSION} above the providers")]
    where = document.where("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        return [Fault(f"`version`: expected {VERSION}, seen {shorten(version)}", where)]
    if version > VERSION:
        hint = "a newer remit reads it"
        return [Fault(f"`version`: {version} is newer than {VERSION}, the newest that is known here", where, hint)]
    return []


def _name_faults(document: Document, slug: str, table: Any, aliases: dict[str, str]) -> list[Fault]:
    where = document.where(slug)
    if not isinstance(table, dict):
        near = did_you_mean(slug, ["version"])
        return [Fault(f"unknown key `{spell((slug,))}`", where, near or "a provider is a table: [NAME]")]
    if slug in aliases:
        return [Fault(f"`{slug}` is another name of {aliases[slug]}", where, f"write [{aliases[slug]}]")]
    if not _SLUG.fullmatch(slug):
        message = f"`{spell((slug,))}` is no name of a provider"
        return [Fault(message, where, "use at most 40 lower-case letters, digits and dashes")]
    return []


def _without_key(document: Document, slug: str, fault: Fault) -> Fault:
    """The fault, or where it is of a key in plain text, what to do with that."""
    if fault.message != f"unknown key `{spell((slug, 'api_key'))}`":
        return fault
    hint = f"take it out, and run `remit auth set {slug}` or {_NO_SECRETS}"
    return Fault(f"`{slug}.api_key`: this file holds no keys", document.where(slug, "api_key"), hint)


def _fault(document: Document, slug: str, complaint: _Complaint) -> Fault:
    place, message, hint = complaint
    return Fault(f"`{spell((slug, *place))}`{message}", document.where(slug, *place), hint)


def _complaints(
    keys: ProviderKeys, table: dict[str, Any], slug: str, builtin: dict[str, Protocol]
) -> Iterator[_Complaint]:
    """What is wrong with values that are of the right type."""
    if builtin.get(slug) in _NO_SERVER:
        foreign = [key for key in table if key in ProviderKeys.__struct_fields__ and key not in _WITHOUT_SERVER]
        yield from (((key,), f" means nothing: {slug} models are on no server", "") for key in foreign)
    if slug not in builtin:
        yield from _missing(table, slug, builtin)
    if isinstance(keys.base_url, str) and (message := base_url_fault(keys.base_url)):
        yield ("base_url",), f": {message}", ""
    yield from _variables(keys)
    if keys.token_command is not UNSET and (message := command_fault(keys.token_command)):
        yield ("token_command",), f": {message}", "write a list of words, or quote as for a shell"
    if isinstance(keys.auth_header, str) and (message := _header_fault(keys.auth_header)):
        yield ("auth_header",), f": {message}", ""
    yield from _sent(keys)
    yield from _models(keys, builtin.get(slug) == "local")
    yield from _thinking(keys, builtin.get(slug, "") if keys.protocol is UNSET else str(keys.protocol))


def _missing(table: dict[str, Any], slug: str, builtin: Collection[str]) -> Iterator[_Complaint]:
    """What a provider needs that is not built in."""
    if "protocol" not in table:
        near = did_you_mean(slug, builtin)
        yield ("protocol",), " is missing", near or "one of openai, openai-responses, anthropic, google"
    if "base_url" not in table:
        yield ("base_url",), " is missing", "such as https://llm.example.com/v1"


def base_url_fault(url: str) -> str:
    """Why no request can go below this URL, or ""; says nothing of what it holds, which may be a secret."""
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    if scheme.lower() not in ("http", "https"):
        return "expected a URL that starts with https:// or http://"
    if "@" in authority:
        return "a base URL holds no user name and no password"
    if "?" in rest or "#" in rest:
        return "a base URL ends before ? and #; what follows ? stands in `query`"
    host = _AUTHORITY.fullmatch(authority)
    if host is None:
        return "the URL names no host"
    if int(host["port"] or 0) > 65535:
        return "a port is at most 65535"
    if not path.isascii() or not path.isprintable() or " " in path:
        return "a URL has no blanks, no control characters and only ASCII"
    return ""


def command_fault(command: str | tuple[str, ...]) -> str:
    """Why this is no command, or ""."""
    try:
        words = split_command(command)
    except ValueError as problem:
        return f"not a command: {str(problem).lower()}"
    return "" if words and words[0] else "the command is empty"


def split_command(command: str | tuple[str, ...]) -> tuple[str, ...]:
    """The words of a command, which may be one text quoted as for a shell. Raises ValueError."""
    if isinstance(command, tuple):
        return command
    import shlex

    return tuple(shlex.split(command))


def _variables(keys: CommonKeys) -> Iterator[_Complaint]:
    """Values that are not names of variables are not shown: one of them may be the key."""
    if keys.api_key_env == ():
        yield ("api_key_env",), ": the list is empty", "name a variable, or leave the key out"
    names: dict[Keys, Any] = {("base_url_env",): keys.base_url_env}
    if isinstance(keys.api_key_env, tuple):
        names |= {("api_key_env", index): name for index, name in enumerate(keys.api_key_env)}
    else:
        names[("api_key_env",)] = keys.api_key_env
    for place, name in names.items():
        if isinstance(name, str) and not _VARIABLE.fullmatch(name):
            yield place, ": expected the name of a variable, such as MYCORP_API_KEY", "never the key itself"


def _sent(keys: CommonKeys) -> Iterator[_Complaint]:
    """What is wrong with headers and query."""
    for name, value in (keys.headers or {}).items():
        if message := _header_fault(name):
            yield ("headers", name), f": {message}", ""
        elif _is_secret(name):
            hint = f"{_NO_SECRETS}, and write auth_header = {name!r} if the key goes there"
            yield ("headers", name), ": a header of this name holds a secret, and this file holds none", hint
        elif not value.isascii() or not value.isprintable():
            yield ("headers", name), ": a header has only printable ASCII characters", ""
    for name in keys.query or {}:
        if _is_secret(name):
            yield ("query", name), ": a parameter of this name holds a secret, and this file holds none", _NO_SECRETS


def _header_fault(name: str) -> str:
    """Why no header of this name can be given, or ""."""
    if not _HEADER.fullmatch(name):
        return "not a name of a header"
    framing = name.lower() in _FRAMING or name.lower().startswith("proxy-")
    return "a header of this name says how the request travels, and is not yours to set" if framing else ""


def _is_secret(name: str) -> bool:
    """Whether one of the words of a name, such as `Ocp-Apim-Subscription-Key`, says that it holds a secret."""
    from remit.base.redact import is_secret_name

    return is_secret_name(name) or any(_SECRET_WORD.fullmatch(word.lower()) for word in _WORDS.findall(name))


def _thinking(keys: CommonKeys, protocol: str) -> Iterator[_Complaint]:
    words = _THINKING.get(protocol)
    for index, model in enumerate(keys.models):
        if words and isinstance(model.thinking, str) and model.thinking not in words:
            message = f": {model.thinking!r} cannot be told in the protocol {protocol}"
            yield ("models", index, "thinking"), message, f"one of {', '.join(words)}"


def _models(keys: CommonKeys, local: bool) -> Iterator[_Complaint]:
    seen: dict[str, int] = {}
    for index, model in enumerate(keys.models):
        place: Keys = ("models", index)
        if not model.id.isprintable() or model.id != model.id.strip():
            yield (*place, "id"), ": a name has no control characters and no blanks around it", ""
        if model.id in seen:
            yield (*place, "id"), f": {shorten(model.id)} is given twice", "a model has one entry"
        seen[model.id] = index
        if isinstance(model.gguf, str) and not local:
            yield (*place, "gguf"), " means nothing: only models of [local] have weights here", ""
        elif isinstance(model.gguf, str) and not model.gguf.startswith(("/", "~/")):
            yield (*place, "gguf"), f": expected an absolute path, seen {shorten(model.gguf)}", ""
        tiers = [tier.above for tier in model.price.tiers] if isinstance(model.price, PriceKeys) else []
        if len(set(tiers)) < len(tiers):
            yield (*place, "price", "tiers"), ": two tiers begin at the same size", ""
