"""Names that people write in tasks and settings, and what can be wrong with them."""

from __future__ import annotations

import os
import re

from remit.base.artifact_names import SUFFIXES, name_fault, suffix_of
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = lazy_pattern(rf"{_LABEL}(?:\.{_LABEL})*\Z")
_ADDRESS = lazy_pattern(r"[0-9]+|0x[0-9a-f]*")
"""A last label that makes an address of a host, whatever stands before it."""

LOCAL_DOMAINS = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "home.arpa",
    "lan",
)
NOT_PUBLIC_IPV4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "240.0.0.0/4",
)
"""What web tools refuse to reach: a copy of their own tables, which lie on a higher floor and have the last word."""


def normal_host(host: str) -> str:
    """A host name in lower case, without the dot at the end."""
    return host.lower().removesuffix(".")


def host_fault(host: str) -> tuple[str, str]:
    """Why this is no host name, and what to do; two empty strings when it is one."""
    name = normal_host(host)
    if _HOST.match(name) and len(name) <= 253:
        return _unreachable(name), ""
    if not name.isascii():
        return "a host name is written in ASCII", _punycode(name)
    if name.startswith("*."):
        return "a host name has no wildcard", f"write {name[2:]}: it covers its subdomains"
    if "/" in name or ":" in name:
        return "expected a host name without scheme, port and path", ""
    return "not a host name", ""


def _unreachable(name: str) -> str:
    """Why no web tool reaches a host, or ""."""
    if _ADDRESS.fullmatch(name.rpartition(".")[2]):
        return _unreachable_address(name)
    local = next((each for each in LOCAL_DOMAINS if name == each or name.endswith(f".{each}")), "")
    if local:
        return f"no host of `{local}` is reached, only public ones"
    return "" if "." in name else "a name without a domain is known only to a local network, which is not reached"


def _unreachable_address(name: str) -> str:
    import ipaddress

    try:
        address = ipaddress.IPv4Address(name)
    except ValueError:
        return "an address is four decimal numbers"
    networks = map(ipaddress.IPv4Network, NOT_PUBLIC_IPV4)
    inside = next((network for network in networks if address in network), None)
    return "" if inside is None else f"no address of {inside} is reached, only public ones"


def _punycode(name: str) -> str:
    try:
        return f"write {name.encode('idna').decode()}"
    except UnicodeError:
        return ""


def directory_fault(path: str) -> str:
    """Why a path is no directory to work in, or ""."""
    if os.path.isdir(path):
        return ""
    return "not a directory" if os.path.lexists(path) else "there is no such directory"


def model_fault(model: str) -> str:
    """Why this is no model's name, or ""."""
    if not model or all(model.partition("/")) or re.fullmatch(r"[A-Za-z0-9_.:-]+", model):
        return ""
    return f"expected PROVIDER/NAME, seen {shorten(model)}"


def artifact_fault(name: str) -> tuple[str, str]:
    """Why no artifact can have this name, and what to do; two empty strings when one can."""
    if message := name_fault(name):
        return message, "give a bare filename such as report.md"
    if suffix_of(name) not in SUFFIXES:
        return "artifacts are of other types", f"end the name in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
    return "", ""
