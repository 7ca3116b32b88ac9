"""POST to one model API over kept connections.

Proxies come from the usual variables, as the official clients read them: `HTTPS_PROXY`, `HTTP_PROXY`,
`ALL_PROXY` (lower case first) and `NO_PROXY`. They are read here, so that one that cannot be used is
told before the first request. Certificates are loaded once a process, and only for https.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import SplitResult, quote, unquote, urlsplit

from remit.base.errors import PreflightFault
from remit.base.limits import MIB
from remit.net.tls import shared_context
from remit.providers.connection import Connection, Patience, Place, Tunnel, connect, request_head
from remit.providers.failures import AttemptFailed

KEEP_ALIVE_SECONDS = 30.0
PORTS = {"http": 80, "https": 443}

_IN_TARGETS = "%/:=&?~#+!$,;'@()*[]"
"""What the path and the query of a request may hold beside letters and digits."""


class Exchange:
    """A request that was sent, and its answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def response(self) -> Response:
        """The answer, once its head has come. Raises AttemptFailed."""
        answer = await self._connection.answer()
        return Response(answer.status, answer.headers, self._connection)


class Response:
    """An answer whose body is read as it arrives. headers: names in lower case."""

    def __init__(self, status: int, headers: Mapping[str, str], connection: Connection) -> None:
        self.status = status
        self.headers = headers
        self._connection = connection

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, decompressed. Who reads bounds the waits. Raises AttemptFailed."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        unpack = Unpacked(encoding) if encoding not in ("", "identity") else None
        while (piece := await self._connection.piece()) is not None:
            if unpack is None:
                yield piece
                continue
            for part in unpack.feed(piece):
                yield part


class Unpacked:
    """A body that came compressed, piece by piece. Raises AttemptFailed."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise AttemptFailed("malformed", f"the answer cannot be decompressed: it is {encoding[:40]!r}")
        self._may_be_raw = encoding == "deflate"
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS if self._may_be_raw else zlib.MAX_WBITS | 16)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """In parts of one MiB at most: a little can expand to very much."""
        while data:
            part = self._expand(data)
            data = self._inflate.unconsumed_tail
            if part:
                yield part

    def _expand(self, data: bytes) -> bytes:
        may_be_raw, self._may_be_raw = self._may_be_raw, False
        try:
            return self._inflate.decompress(data, MIB)
        except zlib.error as problem:
            if may_be_raw:
                # Many servers leave out the header that belongs there.
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                return self._expand(data)
            raise AttemptFailed("malformed", f"the answer cannot be decompressed: {problem}") from problem


class HttpClient:
    """base_url: checked by `check_base_url`. environ: where the proxies are named. keyed: whether requests
    bring a key. connect_seconds: for a connection to stand; silence_seconds: for a request to be taken, and for
    its answer to begin."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        environ: Mapping[str, str],
        *,
        keyed: bool,
        connect_seconds: float,
        silence_seconds: float,
    ) -> None:
        self._parts = parts = urlsplit(base_url)
        self._headers = {"host": _authority(parts), **headers, "accept-encoding": "gzip, deflate"}
        if not keyed and all(name.lower() != "authorization" for name in headers):
            # A key outranks credentials in the address.
            self._headers |= _credentials("authorization", parts)
        proxy = proxy_url(parts, environ)
        self._proxy = urlsplit(proxy) if proxy else None
        self._patience = Patience(connect_seconds, silence_seconds)
        self._connections: set[Connection] = set()

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], query: str
    ) -> AsyncGenerator[Exchange, None]:
        """Send a JSON body. path: may bring a query of its own. headers: beside those of the client.
        Raises AttemptFailed."""
        head = self._head(path, query, {**headers, "content-length": str(len(body))})
        connection = await self._connection()
        try:
            await connection.send(head, body)
            yield Exchange(connection)
        finally:
            if not connection.rest():
                self._connections.discard(connection)
                connection.drop()

    async def close(self) -> None:
        """Close the connections; a later `post` opens new ones."""
        while self._connections:
            self._connections.pop().drop()
        await asyncio.sleep(0)  # the loop closes them in its next round

    def _head(self, path: str, query: str, headers: Mapping[str, str]) -> bytes:
        path, _, own_query = path.partition("?")
        both = "&".join(filter(None, (own_query, query)))
        target = quote((self._parts.path + path or "/") + (f"?{both}" if both else ""), safe=_IN_TARGETS)
        every = {**self._headers, **headers}
        if self._proxy is not None and self._parts.scheme == "http":
            target = f"http://{_authority(self._parts)}{target}"
            every |= _credentials("proxy-authorization", self._proxy)
        return request_head("POST", target, every)

    async def _connection(self) -> Connection:
        """One that rested for not too long, or a new one. Raises AttemptFailed."""
        since = asyncio.get_running_loop().time() - KEEP_ALIVE_SECONDS
        for connection in [each for each in self._connections if each.idle_since is not None]:
            if connection.is_usable(since):
                connection.idle_since = None
                return connection
            self._connections.discard(connection)
            connection.drop()
        connection = await self._connected()
        self._connections.add(connection)
        return connection

    async def _connected(self) -> Connection:
        target = _place(self._parts)
        if self._proxy is None:
            return await connect(target, None, self._patience)
        tunnel = None
        if target.tls is not None:
            authority = f"{_bracketed(target.host)}:{target.port}"
            headers = {"host": authority, **_credentials("proxy-authorization", self._proxy)}
            tunnel = Tunnel(target, request_head("CONNECT", authority, headers))
        return await connect(_place(self._proxy), tunnel, self._patience)


def _place(parts: SplitResult) -> Place:
    return Place(
        parts.hostname or "", parts.port or PORTS[parts.scheme], shared_context() if parts.scheme == "https" else None
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _authority(parts: SplitResult) -> str:
    """As the Host header has it."""
    host = _bracketed(parts.hostname or "")
    return host if parts.port in (None, PORTS.get(parts.scheme)) else f"{host}:{parts.port}"


def _credentials(header: str, parts: SplitResult) -> dict[str, str]:
    """Those of an address, as the header that brings them; nothing where there are none."""
    if not parts.username and not parts.password:
        return {}
    from base64 import b64encode

    both = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {header: f"Basic {b64encode(both.encode()).decode()}"}


def check_base_url(provider: str, base_url: str) -> None:
    """Raises PreflightFault for what is no http or https address, or has a query: that may hold a key, and
    the address is shown in messages."""
    mark = next((mark for mark in base_url if mark in "?#"), "")
    if mark:
        what = f"{provider}: the base URL holds a {mark}, and a base URL ends before that"
        hint = (
            f"leave out what follows the {mark}: parameters stand in `query` of [{provider}] in providers.toml, "
            "and a key in the variable of `api_key_env`"
        )
        raise PreflightFault(what, hint=hint, kind="base_url")
    try:
        parts = urlsplit(base_url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not (good and base_url.isascii() and base_url.isprintable() and " " not in base_url):
        what = f"{provider}: {base_url.rpartition('@')[2]!r} is not a base URL"
        raise PreflightFault(what, hint="write it like http://127.0.0.1:8000/v1", kind="base_url")


# -- proxies -----------------------------------------------------------------------------------------


def proxy_url(target: SplitResult, environ: Mapping[str, str]) -> str:
    """The proxy for this address, or "". Raises PreflightFault for one that cannot be used."""
    names = (f"{target.scheme}_proxy", "all_proxy")
    found = next((value for name in names if (value := _variable(environ, name))), "")
    if not found or _is_exempt(target, _variable(environ, "no_proxy")):
        return ""
    url = found if "://" in found else f"http://{found}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        what = f"the {parts.scheme} proxy {url.rpartition('@')[2]!r} is not one that can be used"
        raise PreflightFault(
            what, hint="name an http:// or https:// proxy, or exempt the host in NO_PROXY", kind="proxy"
        )
    return url


def _variable(environ: Mapping[str, str], name: str) -> str:
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        # In a CGI program HTTP_PROXY is a header of whoever asks.
        return environ.get(name, "").strip()
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _is_exempt(target: SplitResult, no_proxy: str) -> bool:
    host = (target.hostname or "").lower()
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    for entry in no_proxy.lower().split(","):
        name = entry.strip().removeprefix("*.").lstrip(".")
        if name == "*" or (name and _matches(name, host, port)):
            return True
    return False


def _matches(name: str, host: str, port: int) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in (name, name.removesuffix(f":{port}").strip("[]")))
