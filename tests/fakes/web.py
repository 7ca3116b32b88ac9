"""A web on the loopback: a raw HTTP server, and hands that lead every public address to it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpcore

PUBLIC = "93.184.216.34"
"""What every name resolves to unless a test says otherwise."""

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Answer = bytes | Handler


def response(
    body: bytes = b"", status: str = "200 OK", *, content_type: str = "text/plain", headers: Sequence[str] = ()
) -> bytes:
    """A whole HTTP response, its length included."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str, status: str = "302 Found", *headers: str) -> bytes:
    return response(b"moved", status, headers=[f"Location: {location}", *headers])


@dataclass
class Site:
    """A running server. answers: by path and query; another path gets a 404. requests: as received."""

    port: int
    requests: list[bytes] = field(default_factory=list)

    def targets(self) -> list[str]:
        return [request.split(b" ", 2)[1].decode() for request in self.requests]


@contextlib.asynccontextmanager
async def serve(answers: Mapping[str, Answer] | Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    """Serve on 127.0.0.1. An answer is the raw bytes to send, or a function that writes them; a function
    in place of answers gets every connection before anything is read from it."""
    others = asyncio.all_tasks()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if tls is not None:
                await writer.start_tls(tls)
            if callable(answers):
                await answers(reader, writer)
                return
            request = await reader.readuntil(b"\r\n\r\n")
            site.requests.append(request)
            answer = answers.get(request.split(b" ", 2)[1].decode(), response(b"", "404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client left
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    site = Site(server.sockets[0].getsockname()[1])
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()
        # Tasks left now are the server's own. They end once their client has gone; a test that leaves
        # one waiting fails here.
        async with asyncio.timeout(10):
            for _ in range(5):
                await asyncio.sleep(0)
                await asyncio.gather(*(asyncio.all_tasks() - others), return_exceptions=True)


class Names:
    """A resolver that answers from a table: a name's answers in turn, the last one for ever."""

    def __init__(self, table: Mapping[str, Sequence[Sequence[str]]] | None = None) -> None:
        self._table = {name: list(turns) for name, turns in (table or {}).items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        turns = self._table.get(host, [[PUBLIC]])
        return turns.pop(0) if len(turns) > 1 else turns[0]


class ToLoopback:
    """A dialer, and a connector, that notes the address it is told and connects to a loopback port instead.

    ports: loopback ports of their own for some ports dialed. refuse: addresses that do not answer.
    """

    def __init__(self, port: int, refuse: Sequence[str] = (), ports: Mapping[int, int] | None = None) -> None:
        self._port = port
        self._ports = ports or {}
        self._refuse = refuse
        self.dialed: list[tuple[str, int]] = []

    async def dial(self, address: str, port: int) -> httpcore.AsyncNetworkStream:
        return await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", self._noted(address, port))

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._noted(address, port))

    def _noted(self, address: str, port: int) -> int:
        self.dialed.append((address, port))
        if address in self._refuse:
            raise ConnectionRefusedError(111, "Connection refused")
        return self._ports.get(port, self._port)
