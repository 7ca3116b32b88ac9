"""POST to one model API over kept connections, on httpx.

Proxies come from the usual variables, as the official clients read them: `HTTPS_PROXY`, `HTTP_PROXY`,
`ALL_PROXY` (lower case first) and `NO_PROXY`. They are read here, so that one that cannot be used is
told before the first request. Certificates are loaded once a process, and only for https.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from remit.base.errors import PreflightFault
from remit.net.stack import prepare_http_stack
from remit.net.tls import shared_context
from remit.providers.failures import AttemptFailed, quote

if TYPE_CHECKING:
    import ssl

    import httpx

KEEP_ALIVE_SECONDS = 30.0


class Response:
    """An answer whose body is read as it arrives. headers: names in lower case."""

    def __init__(self, response: httpx.Response, words: Mapping[str, str]) -> None:
        self._response = response
        self._words = words
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, decompressed. Raises AttemptFailed."""
        with typed_failures(self._words):
            async for chunk in self._response.aiter_bytes():
                yield chunk


class HttpClient:
    """base_url: checked by `check_base_url`. environ: where the proxies are named. keyed: whether requests
    bring a key. connect_seconds: for a connection to stand; silence_seconds: for any single read or write."""

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
        self._parts = urlsplit(base_url)
        if keyed or any(name.lower() == "authorization" for name in headers):
            # A key outranks credentials in the address, which the client would put in its place.
            self._parts = self._parts._replace(netloc=self._parts.netloc.rpartition("@")[2])
        self._headers = {**headers, "accept-encoding": "gzip, deflate"}
        self._proxy = proxy_url(self._parts, environ)
        self._connect_seconds = connect_seconds
        self._silence_seconds = silence_seconds
        self._words = _words_of_failures(connect_seconds, silence_seconds)
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], query: str
    ) -> AsyncGenerator[Response, None]:
        """The response to a JSON body, its own body unread. path: may bring a query of its own. headers:
        beside those of the client. Raises AttemptFailed."""
        if self._client is None:
            self._client = self._open_client()
        path, _, own_query = path.partition("?")
        both = "&".join(filter(None, (own_query, query)))
        url = self._parts._replace(path=self._parts.path + path, query=both).geturl()
        with typed_failures(self._words):
            async with self._client.stream("POST", url, content=body, headers=dict(headers)) as got:
                try:
                    yield Response(got, self._words)
                finally:
                    await got.aclose()
                    # A response and its stream hold each other, and with them the body of the request, which
                    # is the whole transcript: dozens of them would wait for the collector.
                    got.stream = load_httpx().ByteStream(b"")

    async def close(self) -> None:
        """Close the connections; a later `post` opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _open_client(self) -> httpx.AsyncClient:
        module = load_httpx()
        transport = module.AsyncHTTPTransport(
            verify=shared_context() if self._parts.scheme == "https" else _trusting_nobody(),
            proxy=self._proxy or None,
            limits=module.Limits(keepalive_expiry=KEEP_ALIVE_SECONDS),
        )
        seconds = self._silence_seconds
        timeout = module.Timeout(seconds, connect=self._connect_seconds, pool=self._connect_seconds)
        client: httpx.AsyncClient = module.AsyncClient(
            transport=transport, headers=self._headers, timeout=timeout, trust_env=False
        )
        return client


@cache
def load_httpx() -> ModuleType:
    """httpx without its command line, which would import click and rich where they are installed."""
    prepare_http_stack()
    command_line = ModuleType("httpx._main")
    command_line.main = lambda: None  # type: ignore[attr-defined]
    sys.modules.setdefault(command_line.__name__, command_line)
    import httpx

    return httpx


@cache
def _trusting_nobody() -> ssl.SSLContext:
    """For plain http: loads no certificates, and fails closed should TLS be spoken after all."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


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


def _words_of_failures(connect_seconds: float, silence_seconds: float) -> dict[str, str]:
    """What happened, by the name of the exception: most of them say nothing themselves."""
    unconnected = f"the connection could not be made within {connect_seconds:g} s"
    return {
        "ConnectTimeout": unconnected,
        "PoolTimeout": unconnected,
        "ReadTimeout": f"the server sent nothing for {silence_seconds:g} s",
        "WriteTimeout": f"the server took nothing of the request for {silence_seconds:g} s",
        "ConnectError": "the connection could not be made",
        "ReadError": "the connection broke while the answer was read",
        "WriteError": "the connection broke while the request was sent",
        "RemoteProtocolError": "the connection broke",
        "ProxyError": "the proxy does not pass the request on",
    }


@contextmanager
def typed_failures(words: Mapping[str, str]) -> Iterator[None]:
    """Every way in which a connection fails, as AttemptFailed. words: what happened, by the exception's name."""
    httpx = load_httpx()
    try:
        yield
    except httpx.TransportError as problem:
        detail = quote(str(problem))
        name = type(problem).__name__
        what = ": ".join(filter(None, (words.get(name, name), detail)))
        # No wait makes a certificate good.
        raise AttemptFailed("network", what, final="CERTIFICATE_VERIFY_FAILED" in detail) from problem
    except httpx.DecodingError as problem:
        raise AttemptFailed("malformed", f"the answer cannot be decompressed: {problem}") from problem


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
