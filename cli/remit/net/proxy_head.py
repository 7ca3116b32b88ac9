"""What a client asks of the proxy, read strictly: a tunnel (CONNECT) or one plain HTTP request.

Whatever two readers could read differently is refused: bare line ends, folded lines, two lengths.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB
from remit.base.text import shorten
from remit.net.guard import SCHEME_PORTS, CheckedUrl, check_url

MAX_HEAD_BYTES = 32 * KIB
MAX_HEADERS = 100

HOP_HEADERS = frozenset(
    {
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"upgrade",
        b"proxy-authorization",
        b"proxy-authenticate",
        b"proxy-authentication-info",
    }
)
"""What concerns one connection, and is not passed on."""

_OURS = frozenset({b"host", b"content-length", b"transfer-encoding"})
"""Headers that are written anew."""

_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~]+) HTTP/1\.([01])")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [\t -~\x80-\xff]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):[\t ]*([\t -~\x80-\xff]*)")
_TUNNEL = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]\\]+):[0-9]{1,5}")
_AUTHORITY = re.compile(r"[A-Za-z]+://([^/?#]*)")

Header = tuple[bytes, bytes]


class Refusal(Exception):
    """A request that the proxy does not carry out. status: of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class Asked(msgspec.Struct, frozen=True):
    """A request. name: `HOST:PORT` for a tunnel, else the URL in its normal form: what rules are held against.
    head: as it goes on to the server, b"" for a tunnel. length: of the body, None: it comes in chunks."""

    name: str
    host: str
    port: int
    head: bytes = b""
    length: int | None = 0

    @property
    def tunnel(self) -> bool:
        return not self.head

    @property
    def place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_request(head: bytes, ports: Collection[int]) -> Asked:
    """A request from its head, the empty line included. Raises Refusal."""
    first, headers = _lines(head)
    found = _LINE.fullmatch(first)
    if found is None:
        raise Refusal(400, "the request line is no request of HTTP/1.0 or 1.1")
    method, target, minor = found[1], found[2].decode("ascii"), found[3]
    if method == b"CONNECT":
        return _tunnel(target, headers, ports)
    return _plain(method, target, minor, headers, ports)


def read_response(head: bytes) -> tuple[int, bytes]:
    """The status of an answer, and its head as it goes on to the client. Raises Refusal."""
    first, headers = _lines(head)
    found = _STATUS.fullmatch(first)
    if found is None:
        raise Refusal(502, "the server's answer is no valid HTTP")
    status = int(found[1])
    closing = [] if status < 200 else [(b"Connection", b"close")]
    return status, _written(first, [*_passed(headers, frozenset()), *closing])


def _tunnel(target: str, headers: list[Header], ports: Collection[int]) -> Asked:
    if _TUNNEL.fullmatch(target) is None:
        raise Refusal(400, f"CONNECT takes HOST:PORT, seen {shorten(target)}")
    url = _checked(f"https://{target}/", ports)
    _hold_host(headers, target, "https")
    asked = Asked("", url.host, url.port)
    return msgspec.structs.replace(asked, name=asked.place)


def _plain(method: bytes, target: str, minor: bytes, headers: list[Header], ports: Collection[int]) -> Asked:
    given = _AUTHORITY.match(target)
    if given is None:
        raise Refusal(400, f"a proxy takes an absolute URL, seen {shorten(target)}")
    url = _checked(target, ports)
    if url.scheme != "http":
        raise Refusal(400, f"{shorten(target)}: https goes through a tunnel; ask for it with CONNECT")
    _hold_host(headers, given[1], url.scheme)
    length = _length(headers, minor)
    framing = [(b"Transfer-Encoding", b"chunked")] if length is None else []
    if length or any(name.lower() == b"content-length" for name, _ in headers):
        framing = [(b"Content-Length", str(length).encode())]
    first = b"%s %s HTTP/1.1" % (method, url.target.encode())
    passed = [(b"Host", url.authority.encode()), *_passed(headers, _OURS), *framing, (b"Connection", b"close")]
    return Asked(url.url, url.host, url.port, _written(first, passed), length)


def _checked(url: str, ports: Collection[int]) -> CheckedUrl:
    try:
        return check_url(url, ports)
    except Failure as failure:
        raise Refusal(400 if failure.code is ErrorCode.URL_REFUSED else 403, failure.message) from None


def _lines(head: bytes) -> tuple[bytes, list[Header]]:
    """The first line, and the headers."""
    first, *rest = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if len(rest) > MAX_HEADERS:
        raise Refusal(431, f"more than {MAX_HEADERS} headers")
    headers = []
    for line in rest:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise Refusal(400, "a header line is not valid")
        headers.append((found[1], found[2].rstrip(b"\t ")))
    return first, headers


def _values(headers: Iterable[Header], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]


def _hold_host(headers: list[Header], authority: str, scheme: str) -> None:
    """The Host header, where there is one, says what the target says."""
    hosts = _values(headers, b"host")
    port = f":{SCHEME_PORTS[scheme]}"
    due = authority.lower().removesuffix(port)
    if len(hosts) > 1 or any(host.decode("latin-1").lower().removesuffix(port) != due for host in hosts):
        raise Refusal(400, f"the Host header is not that of the target, {shorten(authority)}")


def _length(headers: list[Header], minor: bytes) -> int | None:
    """The length of the body; None: it comes in chunks."""
    lengths, codings = _values(headers, b"content-length"), _values(headers, b"transfer-encoding")
    if codings:
        if lengths or minor == b"0" or [coding.lower() for coding in codings] != [b"chunked"]:
            raise Refusal(400, "the length of the body is not clear: send Content-Length, or chunks, and not both")
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or re.fullmatch(rb"[0-9]{1,15}", lengths[0]) is None:
        raise Refusal(400, "Content-Length is not one number")
    return int(lengths[0])


def _passed(headers: Iterable[Header], ours: frozenset[bytes]) -> list[Header]:
    """The headers that go on, in their order."""
    kept = list(headers)
    named = {name.strip().lower() for value in _values(kept, b"connection") for name in value.split(b",")}
    # A length that is called a matter of this connection stays one of the message.
    left_out = HOP_HEADERS | ours | (named - _OURS)
    return [(name, value) for name, value in kept if name.lower() not in left_out]


def _written(first: bytes, headers: Iterable[Header]) -> bytes:
    return b"\r\n".join([first, *(b"%s: %s" % header for header in headers), b"", b""])
