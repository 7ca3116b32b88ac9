"""How a name becomes addresses and an address a connection: three ports, and their real hands."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from remit.base.errors import ErrorCode, Failure

if TYPE_CHECKING:
    import httpcore


class Resolver(Protocol):
    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host name, in the order to try them. Raises Failure(dns_failed)."""
        ...


class Dialer(Protocol):
    async def dial(self, address: str, port: int) -> httpcore.AsyncNetworkStream:
        """A TCP connection to a literal address. Raises OSError or httpcore.ConnectError."""
        ...


class Connector(Protocol):
    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TCP connection to a literal address. Raises OSError."""
        ...


class SystemResolver:
    """The system's own resolver.

    It has no timeout, so it runs in a daemon thread: a caller who stops waiting leaves the thread
    behind, and the thread does not hold up the end of the process.
    """

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def settle(addresses: list[str], error: Failure | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(addresses)
            else:
                answer.set_exception(error)

        def ask() -> None:
            addresses: list[str] = []
            error = None
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
            except (OSError, UnicodeError) as problem:
                reason = getattr(problem, "strerror", None) or "it is no valid name"
                error = Failure(ErrorCode.DNS_FAILED, f"{host} could not be looked up: {reason}")
            # The loop may have ended meanwhile; nobody waits for the answer then.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, addresses, error)

        threading.Thread(target=ask, name=f"lookup:{host}", daemon=True).start()
        return await answer


class TcpConnector:
    """Plain TCP, without the HTTP stack."""

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(address, port)


class TcpDialer:
    """Plain TCP."""

    async def dial(self, address: str, port: int) -> httpcore.AsyncNetworkStream:
        import httpcore  # only a run that fetches pays for it

        return await httpcore.AnyIOBackend().connect_tcp(address, port)
