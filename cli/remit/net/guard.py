"""Which URLs and addresses may be reached at all. Pure: nothing is looked up here, and no setting
loosens it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Address, IPv6Network

DEFAULT_PORTS = (80, 443)
SCHEME_PORTS = {"http": 80, "https": 443}
MAX_URL_CHARS = 2048

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
"""Names of networks behind a wall. They and all below them are refused without a lookup."""

NOT_PUBLIC = (
    ("0.0.0.0/8", "unspecified address"),
    ("10.0.0.0/8", "private range"),
    ("100.64.0.0/10", "carrier-grade NAT range"),
    ("127.0.0.0/8", "loopback range"),
    ("168.63.129.16/32", "address of a cloud platform's host"),
    ("169.254.0.0/16", "link-local range, where cloud metadata services are"),
    ("172.16.0.0/12", "private range"),
    ("192.0.0.0/24", "reserved range"),
    ("192.0.2.0/24", "documentation range"),
    ("192.88.99.0/24", "reserved range"),
    ("192.168.0.0/16", "private range"),
    ("198.18.0.0/15", "benchmarking range"),
    ("198.51.100.0/24", "documentation range"),
    ("203.0.113.0/24", "documentation range"),
    ("224.0.0.0/4", "multicast range"),
    ("255.255.255.255/32", "broadcast address"),
    ("240.0.0.0/4", "reserved range"),
    ("::/128", "unspecified address"),
    ("::1/128", "loopback address"),
    ("::/96", "form that embeds an IPv4 address"),
    ("::ffff:0:0/96", "form that embeds an IPv4 address"),
    ("::ffff:0:0:0/96", "form that embeds an IPv4 address"),
    ("64:ff9b::/96", "NAT64 form that embeds an IPv4 address"),
    ("64:ff9b:1::/48", "NAT64 form that embeds an IPv4 address"),
    ("100::/8", "reserved range"),
    ("2001::/32", "Teredo form that embeds an IPv4 address"),
    ("2001:2::/48", "benchmarking range"),
    ("2001::/23", "reserved range"),
    ("2001:db8::/32", "documentation range"),
    ("2002::/16", "6to4 form that embeds an IPv4 address"),
    ("3fff::/20", "documentation range"),
    ("fc00::/7", "private range"),
    ("fe80::/10", "link-local range"),
    ("fec0::/10", "site-local range"),
    ("ff00::/8", "multicast range"),
)
"""Ranges that are not the public internet, narrow before wide where they overlap."""

GLOBAL_IPV6 = "2000::/3"
ISATAP_MARKS = (0x00005EFE, 0x02005EFE)

_UNRESERVED = r"A-Za-z0-9._~\-"
_PATH = lazy_pattern(rf"%[0-9A-Fa-f]{{2}}|[^{_UNRESERVED}!$&'()*+,;=:@/]")
_QUERY = lazy_pattern(rf"%[0-9A-Fa-f]{{2}}|[^{_UNRESERVED}!$&'()*+,;=:@/?]")
_IS_UNRESERVED = lazy_pattern(f"[{_UNRESERVED}]")
_SCHEME = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LABEL = lazy_pattern(r"[a-z0-9_-]{1,63}")


class CheckedUrl(msgspec.Struct, frozen=True):
    """A URL that may be asked for once its host's addresses are checked too.

    url: the normal form, without fragment. host: lower case, A-labels, no trailing dot; an address in
    its canonical spelling, IPv6 without brackets. target: path and query as they go on the wire.
    """

    url: str
    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's own, port: the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == SCHEME_PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(url: str, allowed_ports: Collection[int] = DEFAULT_PORTS) -> CheckedUrl:
    """The URL in its normal form. Raises Failure(url_refused, port_refused, address_refused)."""
    _check_characters(url)
    scheme, rest = _scheme(url)
    rest = rest.partition("#")[0]
    found = re.search(r"[/?]", rest)
    end = found.start() if found else len(rest)
    host, port = _authority(rest[:end], scheme, url)
    host = _host(host, url)
    if port not in allowed_ports:
        allowed = ", ".join(str(each) for each in sorted(allowed_ports)) or "none"
        raise Failure(ErrorCode.PORT_REFUSED, f"{shorten(url)} names port {port}; allowed are only: {allowed}")
    _check_host(host)
    target = _target(rest[end:])
    checked = CheckedUrl("", scheme, host, port, target)
    normal = f"{scheme}://{checked.authority}{target}"
    if len(normal) > MAX_URL_CHARS:
        raise _refused(url, f"has {len(normal)} characters once encoded; at most {MAX_URL_CHARS} are allowed")
    return msgspec.structs.replace(checked, url=normal)


def check_address(address: str) -> str | None:
    """Why this IP address is not to be connected to; None when it is on the public internet."""
    import ipaddress  # only runs that reach the network need it

    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "no IP address"
    if parsed.version == 6 and parsed.scope_id is not None:
        return "address with a zone"
    for network, reason in _not_public(parsed.version):
        if parsed in network:
            return f"{reason} {network}"
    if parsed.version == 6 and (reason6 := _no_global_ipv6(parsed)):
        return reason6
    return None if parsed.is_global else "range that is not public"


def normal_host(host: str) -> str:
    """A host name or address as `CheckedUrl.host` writes it. Raises Failure(url_refused)."""
    return _host(host, host)


def host_fault(host: str) -> str:
    """Why a host in its normal form is never connected to; "" where only its addresses can tell."""
    try:
        _check_host(host)
    except Failure as failure:
        return failure.message
    return ""


# -- spelling --------------------------------------------------------------------------------


def _refused(url: str, why: str) -> Failure:
    return Failure(ErrorCode.URL_REFUSED, f"{shorten(url)} {why}")


def _check_characters(url: str) -> None:
    if not url:
        raise Failure(ErrorCode.URL_REFUSED, "the URL is empty; give an absolute http or https URL")
    if len(url) > MAX_URL_CHARS:
        raise _refused(url, f"has {len(url)} characters; at most {MAX_URL_CHARS} are allowed")
    for char in url:
        if char == "\\":
            raise _refused(url, "holds a backslash; write / in a path, %5C elsewhere")
        if char.isspace():
            raise _refused(url, "holds white space; write %20")
        if unicodedata.category(char) in {"Cc", "Cf", "Cs"}:
            raise _refused(url, f"holds the invisible character U+{ord(char):04X}; percent-encode it or leave it out")


def _scheme(url: str) -> tuple[str, str]:
    """Scheme, and what follows the `//`."""
    found = _SCHEME.match(url)
    if found is None:
        start = "https:" if url.startswith("//") else "https://host" if url.startswith("/") else "https://"
        raise _refused(url, f"has no scheme; write it in full, as in {start}{url[:40]}")
    scheme = found[1].lower()
    if scheme not in SCHEME_PORTS:
        hint = "" if "." not in scheme else "; write the scheme before the host, as in https://host:443/"
        raise _refused(url, f"has the scheme {scheme!r}; only http and https are allowed{hint}")
    rest = url[found.end() :]
    if not rest.startswith("//"):
        raise _refused(url, f"has no // after {scheme}:; write it as {scheme}://host/path")
    return scheme, rest[2:]


def _authority(text: str, scheme: str, url: str) -> tuple[str, int]:
    if "@" in text:
        # The address as a whole stays out of the message: it may hold a password.
        raise Failure(ErrorCode.URL_REFUSED, f"the {scheme} URL carries a user name or password; give it without")
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _refused(url, "has a malformed host in brackets")
        return host + bracket, _port(rest[1:], scheme, url)
    host, _, port = text.partition(":")
    return host, _port(port, scheme, url)


def _port(text: str, scheme: str, url: str) -> int:
    if not text:
        return SCHEME_PORTS[scheme]
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536):
        raise _refused(url, f"has the port {shorten(text)}, which is no number from 1 to 65535")
    return int(text)


def _target(text: str) -> str:
    """Path and query, percent-encoded the one way: what needs it, in upper case, and nothing else."""
    path, _, query = text.partition("?")
    path = _without_dots(_PATH.sub(_encoded, path))
    return f"{path}?{_QUERY.sub(_encoded, query)}" if query else path


def _encoded(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) != 3:
        return "".join(f"%{byte:02X}" for byte in text.encode())
    char = chr(int(text[1:], 16))
    return char if _IS_UNRESERVED.fullmatch(char) else text.upper()


def _without_dots(path: str) -> str:
    """The path with `.` and `..` resolved, so that a rule for a path sees where a request goes."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


# -- hosts -----------------------------------------------------------------------------------


def _host(host: str, url: str) -> str:
    if host.startswith("["):
        return _ipv6(host[1:-1], url)
    if ":" in host:
        return _ipv6(host, url)
    if "%" in host:
        raise _refused(url, "has a percent-encoded host; write the name itself")
    name = (host if host.isascii() else _a_labels(host, url)).lower().removesuffix(".")
    if not name:
        raise _refused(url, "has no host")
    labels = name.split(".")
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
        # Whatever ends in a number is an address to those who connect, so it is one here.
        return _ipv4(labels, url)
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused(url, f"has the host {shorten(host)}, which is no valid name")
    return name


def _a_labels(host: str, url: str) -> str:
    if unicodedata.normalize("NFKC", host) != unicodedata.normalize("NFC", host):
        raise _refused(url, "has a host with look-alike characters (full width, circled, ...); write it plainly")
    import idna  # only names outside ASCII need its tables

    try:
        return idna.encode(host, uts46=True).decode()
    except (idna.IDNAError, UnicodeError) as problem:
        raise _refused(url, f"has a host that is no valid international name: {problem}") from None


def _ipv4(labels: list[str], url: str) -> str:
    """The dotted form of an IPv4 address in any spelling: 2130706433, 0x7f.1, 0177.0.0.1."""
    numbers = [_number(label) for label in labels]
    last = numbers[-1]
    if len(numbers) > 4 or None in numbers or any(number > 255 for number in numbers[:-1] if number is not None):
        raise _refused(url, f"has the host {shorten('.'.join(labels))}, which is no valid IPv4 address")
    if last is None or last >= 256 ** (5 - len(numbers)):
        raise _refused(url, f"has the host {shorten('.'.join(labels))}, which is no valid IPv4 address")
    value = last
    for place, number in enumerate(numbers[:-1]):
        value += (number or 0) << (8 * (3 - place))
    return ".".join(str(byte) for byte in value.to_bytes(4, "big"))


def _number(label: str) -> int | None:
    for pattern, base in ((r"0x([0-9a-f]*)", 16), (r"0([0-7]+)", 8), (r"(0|[1-9][0-9]*)", 10)):
        if found := re.fullmatch(pattern, label):
            return int(found[1] or "0", base) if len(label) < 64 else None
    return None


def _ipv6(text: str, url: str) -> str:
    if "%" in text:
        raise _refused(url, "has an address with a zone; only public addresses are reached")
    import ipaddress  # only addresses in place of names need it

    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise _refused(url, f"has the host {shorten(text)}, which is no valid IPv6 address") from None


def is_address(host: str) -> bool:
    """Whether a host in its normal form is an address in place of a name."""
    return ":" in host or host.rpartition(".")[2].isdigit()


def _check_host(host: str) -> None:
    if is_address(host):
        if reason := check_address(host):
            raise Failure(ErrorCode.ADDRESS_REFUSED, f"{host} is not a public address: {reason}")
        return
    if any(host == local or host.endswith(f".{local}") for local in LOCAL_DOMAINS):
        raise Failure(ErrorCode.ADDRESS_REFUSED, f"{host} is a local name; only public hosts are reached")
    if "." not in host:
        raise Failure(
            ErrorCode.ADDRESS_REFUSED,
            f"{host} is a name without a domain, which only a local network knows; give the full name",
        )


# -- addresses -------------------------------------------------------------------------------


@cache
def _not_public(version: int) -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    import ipaddress

    networks = ((ipaddress.ip_network(text), reason) for text, reason in NOT_PUBLIC)
    return tuple((network, reason) for network, reason in networks if network.version == version)


def _no_global_ipv6(address: IPv6Address) -> str | None:
    import ipaddress

    interface = int(address) & 0xFFFF_FFFF_FFFF_FFFF
    if interface >> 32 in ISATAP_MARKS:
        return "ISATAP form that embeds an IPv4 address"
    if address not in ipaddress.IPv6Network(GLOBAL_IPV6):
        return "range that is not public"
    return None
