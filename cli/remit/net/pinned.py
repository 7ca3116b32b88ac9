"""One request over a connection that goes to a checked address and nowhere else.

This module loads the HTTP stack; `client` imports it when the first request is made.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore
import msgspec

from remit import __version__
from remit.base.errors import ErrorCode, Failure
from remit.net.addresses import checked_addresses
from remit.net.body import ACCEPT_ENCODING, body_of, too_large
from remit.net.dial import Dialer, Resolver
from remit.net.guard import CheckedUrl, is_address

DIAL_SECONDS = 5.0
"""How long one address may keep the next one waiting."""

HEADERS = (
    (b"User-Agent", f"remit/{__version__}".encode()),
    (b"Accept", b"text/html, application/xhtml+xml, application/json, application/xml, text/*, */*;q=0.1"),
    (b"Accept-Encoding", ACCEPT_ENCODING.encode()),
    (b"Connection", b"close"),
)


class Answer(msgspec.Struct, frozen=True):
    """body: b"" where the status is not one of success, as it is not read then."""

    status: int
    headers: dict[str, str]
    body: bytes


class Progress:
    """What a fetch is busy with, for the message when its time is up."""

    doing = "starting"


class Pinned(httpcore.AsyncNetworkBackend):
    """Looks a host up once, checks every address, and connects to one of those it checked.

    There is no second lookup between check and connection, so a name cannot answer them differently.
    TLS and the Host header keep the name.
    """

    def __init__(self, resolver: Resolver, dialer: Dialer, progress: Progress) -> None:
        self._resolver = resolver
        self._dialer = dialer
        self._progress = progress
        self._stream: httpcore.AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises Failure(dns_failed, address_refused, connect_failed)."""
        addresses = await self._addresses(host, port)
        self._progress.doing = f"connecting to {host}"
        problem: Exception | None = None
        for address in addresses:
            patience = DIAL_SECONDS if address != addresses[-1] else None
            try:
                async with asyncio.timeout(patience):
                    self._stream = await self._dialer.dial(address, port)
            except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError) as caught:
                problem = caught
                continue
            self._progress.doing = f"waiting for the answer of {host}"
            return self._stream
        raise Failure(ErrorCode.CONNECT_FAILED, f"{host} cannot be reached on port {port}: {_os_reason(problem)}")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise Failure(ErrorCode.CONNECT_FAILED, "only TCP connections are made")

    async def aclose(self) -> None:
        """Close the connection. A handshake that was cut short leaves it open otherwise."""
        if self._stream is not None:
            await self._stream.aclose()

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        if not is_address(host):
            self._progress.doing = f"looking up {host}"
        return await checked_addresses(self._resolver, host, port)


async def exchange(
    url: CheckedUrl, backend: Pinned, tls: Callable[[], ssl.SSLContext], max_bytes: int, progress: Progress
) -> Answer:
    """One GET, with the body of a success. Raises Failure."""
    try:
        async with httpcore.AsyncConnectionPool(
            ssl_context=tls() if url.scheme == "https" else None, network_backend=backend, max_connections=1
        ) as pool:
            response = await pool.handle_async_request(_request(url))
            try:
                progress.doing = f"reading the body from {url.host}"
                return await _read(url, response, max_bytes)
            finally:
                await response.aclose()
    except httpcore.ConnectError as problem:
        # Dialing fails with a Failure of its own, so this is the handshake.
        raise Failure(
            ErrorCode.TLS_FAILED, f"{url.host}: no secure connection could be made: {_tls_reason(problem)}"
        ) from None
    except (httpcore.RemoteProtocolError, httpcore.ReadError) as problem:
        raise Failure(ErrorCode.RESPONSE_INVALID, f"{url.url}: {_protocol_reason(problem)}") from None
    finally:
        await backend.aclose()


def _request(url: CheckedUrl) -> httpcore.Request:
    place = httpcore.URL(scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode())
    return httpcore.Request(b"GET", place, headers=[(b"Host", url.authority.encode()), *HEADERS])


async def _read(url: CheckedUrl, response: httpcore.Response, max_bytes: int) -> Answer:
    headers = _headers(response.headers)
    if not 200 <= response.status < 300:
        return Answer(response.status, headers, b"")
    if int(headers.get("content-length", "0")) > max_bytes:
        raise too_large(url.url, max_bytes)
    body = body_of(url.url, headers.get("content-encoding", ""), max_bytes)
    async for chunk in response.aiter_stream():
        body.feed(chunk)
    return Answer(response.status, headers, body.finish())


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """By lower-case name; the first of several, as a proxy in between can only have added."""
    headers: dict[str, str] = {}
    for name, value in raw:
        headers.setdefault(name.decode("latin-1").lower(), _header_text(value))
    return headers


def _header_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


# -- reasons ---------------------------------------------------------------------------------


def _os_reason(problem: BaseException | None) -> str:
    """What the system said, without the address it said it of."""
    seen: BaseException | None = problem
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno:
            return os.strerror(seen.errno)
        seen = seen.__cause__ or seen.__context__
    return "no answer" if isinstance(problem, TimeoutError | httpcore.ConnectTimeout) else "the connection failed"


def _tls_reason(problem: httpcore.ConnectError) -> str:
    cause = problem.args[0] if problem.args else None
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError) and cause.reason:
        return cause.reason.replace("_", " ").lower()
    return "the server ended the handshake"


def _protocol_reason(problem: Exception) -> str:
    if isinstance(problem, httpcore.ReadError):
        return "the connection broke off before the answer was complete"
    return f"the answer is no valid HTTP: {str(problem)[:200] or 'it is malformed'}"
