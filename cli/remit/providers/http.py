"""POST to one model API over kept connections, on httpcore.

Proxies come from the usual variables, as the official clients read them: `HTTPS_PROXY`, `HTTP_PROXY`,
`ALL_PROXY` (lower case first) and `NO_PROXY`. Certificates are loaded once a process, and only for https.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from remit.base.errors import PreflightFault
from remit.net.tls import shared_context
from remit.providers.failures import AttemptFailed, quote

if TYPE_CHECKING:
    import httpcore

KEEP_ALIVE_SECONDS = 30.0
_INFLATED_BYTES = 64 * 1024
_ENCODINGS = ("gzip", "x-gzip", "deflate")


class Response:
    """An answer whose body is read as it arrives. headers: names in lower case."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status = response.status
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, decompressed. Raises AttemptFailed."""
        inflate = _Inflater() if self.headers.get("content-encoding", "").strip().lower() in _ENCODINGS else None
        with typed_failures():
            async for chunk in self._response.aiter_stream():
                for piece in inflate.pieces(chunk) if inflate else (chunk,):
                    yield piece


class HttpClient:
    """base_url: checked by `check_base_url`. environ: where the proxies are named. connect_seconds: for
    a connection to stand; silence_seconds: for any single read or write."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        environ: Mapping[str, str],
        *,
        connect_seconds: float,
        silence_seconds: float,
    ) -> None:
        self._parts = urlsplit(base_url)
        named = {**_basic_auth(self._parts), **headers, "accept-encoding": "gzip, deflate"}
        self._headers = list(named.items())
        self._proxy = proxy_url(self._parts, environ)
        waits = {"connect": connect_seconds, "pool": connect_seconds}
        self._timeouts = {**waits, "read": silence_seconds, "write": silence_seconds}
        self._pool: httpcore.AsyncConnectionPool | None = None

    @asynccontextmanager
    async def post(self, path: str, body: bytes) -> AsyncGenerator[Response, None]:
        """The response to a JSON body, its own body unread. Raises AttemptFailed."""
        if self._pool is None:
            self._pool = self._open_pool()
        parts = self._parts
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=parts.path + path).geturl()
        extensions = {"timeout": self._timeouts}
        with typed_failures():
            async with self._pool.stream(
                "POST", url, headers=self._headers, content=body, extensions=extensions
            ) as got:
                yield Response(got)

    async def close(self) -> None:
        """Close the connections; a later `post` opens new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()

    def _open_pool(self) -> httpcore.AsyncConnectionPool:
        import httpcore

        return httpcore.AsyncConnectionPool(
            ssl_context=shared_context() if self._parts.scheme == "https" else None,
            proxy=_proxy(self._proxy),
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        )


def check_base_url(provider: str, base_url: str) -> None:
    """Raises PreflightFault for what is no http or https address."""
    try:
        parts = urlsplit(base_url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not (good and base_url.isascii() and base_url.isprintable() and " " not in base_url):
        what = f"{provider}: {base_url.rpartition('@')[2]!r} is not a base URL"
        raise PreflightFault(what, hint="write it like http://127.0.0.1:8000/v1", kind="base_url")


def _basic_auth(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}


@contextmanager
def typed_failures() -> Iterator[None]:
    """Every way in which a connection fails, as AttemptFailed."""
    connection, decompression = _failure_types()
    try:
        yield
    except connection as problem:
        detail = quote(str(problem))
        what = f"{type(problem).__name__}: {detail}" if detail else type(problem).__name__
        # No wait makes a certificate good.
        raise AttemptFailed("network", what, final="CERTIFICATE_VERIFY_FAILED" in detail) from problem
    except decompression as problem:
        raise AttemptFailed("malformed", f"the answer cannot be decompressed: {problem}") from problem


@cache
def _failure_types() -> tuple[tuple[type[Exception], ...], type[Exception]]:
    import zlib

    import httpcore

    connection = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.ProxyError)
    return connection, zlib.error


class _Inflater:
    """Bytes of gzip or zlib, in pieces of a bounded size however far they expand."""

    def __init__(self) -> None:
        import zlib

        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if piece := self._zlib.decompress(chunk, _INFLATED_BYTES):
                yield piece
            chunk = self._zlib.unconsumed_tail


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


def _proxy(url: str) -> httpcore.Proxy | None:
    if not url:
        return None
    import httpcore

    parts = urlsplit(url)
    auth = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return httpcore.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=auth)
