"""Limits as people write them: numbers, sizes with units, and `none` for no cap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from remit.base.errors import Fault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.limits import Limits
from remit.config.convert import convert_fields
from remit.config.document import Document

_SIZE = lazy_pattern(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,6})?) ?(?P<unit>[KMG]i?B|B)?\Z")
_FACTORS = {
    "B": 1,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
_LARGEST = 2**63 - 1
_SIZES = "a size such as 500KB or 1MiB"

NoCap = Annotated[Literal["none"], Meta(title="none")] | None
Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(gt=0)]
SizeText = Annotated[str, Meta(pattern=r"^[0-9]{1,15}(\.[0-9]{1,6})? ?([KMG]i?B|B)?$", title=_SIZES)]
SizeOrNone = Annotated[
    str, Meta(pattern=r"^(none|[0-9]{1,15}(\.[0-9]{1,6})? ?([KMG]i?B|B)?)$", title=f"{_SIZES} or none")
]


class LimitKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run may spend. null (YAML) or `none`: no cap."""

    turns: Annotated[Count | NoCap | UnsetType, Meta(description="Model requests. Default 50.")] = UNSET
    seconds: Annotated[Amount | NoCap | UnsetType, Meta(description="Wall time in seconds. Default 1800.")] = UNSET
    tokens: Annotated[
        Count | NoCap | UnsetType, Meta(description="Tokens in and out, over all requests. Default: no cap.")
    ] = UNSET
    usd: Annotated[
        Amount | NoCap | UnsetType, Meta(description="US dollars; needs a known price of the model. Default: no cap.")
    ] = UNSET
    calls: Annotated[Count | NoCap | UnsetType, Meta(description="Tool calls. Default 500.")] = UNSET
    network_requests: Annotated[
        Annotated[int, Meta(ge=0)] | NoCap | UnsetType,
        Meta(description="Network requests of tools, redirects and connections of commands included. Default 50."),
    ] = UNSET
    artifact_bytes: Annotated[
        Count | SizeText | UnsetType, Meta(description="Size of one artifact, e.g. 1MiB. Default 1MiB.")
    ] = UNSET
    artifacts_total_bytes: Annotated[
        Count | SizeOrNone | UnsetType | None, Meta(description="Size of all artifacts together. Default 20MiB.")
    ] = UNSET


_SIZED = ("artifact_bytes", "artifacts_total_bytes")
LIMIT_NAMES = tuple(field.name for field in msgspec.structs.fields(LimitKeys))


def parse_size(written: str) -> int | None:
    """Bytes of `500`, `500KB` (1000) or `1MiB` (1024); None when it is no whole size of at least 1 byte."""
    match = _SIZE.match(written)
    if match is None:
        return None
    whole, _, parts = match["number"].partition(".")
    size, rest = divmod(int(whole + parts) * _FACTORS[match["unit"] or "B"], 10 ** len(parts))
    return size if rest == 0 and 1 <= size <= _LARGEST else None


def limit_values(keys: LimitKeys, where: Mapping[str, str]) -> tuple[dict[str, Any], list[Fault]]:
    """The given limits as fields of `Limits`, and a fault for each size that is none.

    where: the place of each key, for the faults."""
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for name in LIMIT_NAMES:
        value = getattr(keys, name)
        if value is UNSET:
            continue
        if value == "none":
            value = None
        if name in _SIZED and isinstance(value, str):
            size = parse_size(value)
            if size is None:
                faults.append(Fault(f"`{name}`: expected {_SIZES}, of whole bytes, seen {value!r}", where[name]))
                continue
            value = size
        values[name] = value
    return values, faults


def limits_from(values: Mapping[str, Any]) -> Limits:
    """The defaults with the given values over them."""
    return Limits(**values)


def limits_from_flags(flags: Mapping[str, str]) -> tuple[dict[str, Any], list[Fault]]:
    """Limits written on the command line, by name of the limit; faults name the flag."""
    typed = {name: _typed(text) for name, text in flags.items()}
    where = {name: "--max-" + name.replace("_", "-") for name in typed}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, value in typed.items():
        good, found = convert_fields(Document("", {name: value}, "", dict), LimitKeys)
        faults += [Fault(fault.message, where[name], fault.hint) for fault in found]
        sized, found = limit_values(LimitKeys(**good), where)
        values |= sized
        faults += found
    return values, faults


def _typed(text: str) -> int | float | str:
    """The number that a flag's text stands for, or the text."""
    if re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}", text):
        return float(text)
    return text
