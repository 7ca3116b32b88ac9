"""The proxy of commands: the one way out of a network namespace that is empty but for it.

A listening socket of that namespace is served here, in our process: CONNECT tunnels and plain HTTP requests, to hosts
that the rules grant, on the ports that are allowed, at public addresses. Each connection carries one request.
What goes through a tunnel is not looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import re
import socket
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from http import HTTPStatus
from typing import Any

from remit.base.errors import BudgetSpent, ErrorCode, Failure
from remit.base.limits import KIB
from remit.net.addresses import checked_addresses
from remit.net.dial import Connector, Resolver
from remit.net.proxy_head import MAX_HEAD_BYTES, Asked, Refusal, read_request, read_response

PORT = 20128
"""On the loopback of each command, which nobody else has."""

VARIABLES = {
    **dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), f"http://127.0.0.1:{PORT}"
    ),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
}
"""How commands find it."""

MAX_CONNECTIONS = 32
"""At once, of one command; further ones wait."""

HEAD_SECONDS = 10.0
CONNECT_SECONDS = 20.0
DIAL_SECONDS = 5.0
"""How long one address may keep the next one waiting."""

IDLE_SECONDS = 120.0
LINGER_SECONDS = 1.0
MAX_TOLD = 50
"""Refusals of one call that are told."""

_CHUNK = 64 * KIB
_MAX_CHUNK_LINE = 4 * KIB
_SIZE = re.compile(rb"([0-9a-fA-F]{1,12})[\t ]*(?:;[\t -~\x80-\xff]*)?\r\n")
_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Judge = Callable[[str], str]
"""Why a host (`HOST:PORT`, or a URL) may not be reached, or ""."""

Tell = Callable[[str, int, str], None]
"""Hears of each host and port that was asked for, and of why it was refused, "" where it was not."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class CommandProxy:
    """Serves the command of one call at a time. spend: called before each connection to a host, raises BudgetSpent.

    idle: seconds without a byte in either direction after which a connection ends."""

    port = PORT
    environment = VARIABLES

    def __init__(
        self,
        judge: Judge,
        spend: Callable[[], None],
        tell: Tell,
        *,
        ports: Collection[int],
        resolver: Resolver,
        connector: Connector,
        head_seconds: float = HEAD_SECONDS,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._judge = judge
        self._spend = spend
        self._tell = tell
        self._ports = frozenset(ports)
        self._resolver = resolver
        self._connector = connector
        self._head_seconds = head_seconds
        self._idle = idle
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[BaseException] = []
        self._stop: Callable[[], None] = lambda: None
        self._refused: dict[tuple[str, int], str] = {}
        self.spent: BudgetSpent | None = None

    def open(self, listener: socket.socket, stop: Callable[[], None]) -> None:
        """Serve what connects to `listener`, which is closed in the end. stop: called when nothing is left to
        spend, so that the command need not go on."""
        self._stop = stop
        listener.setblocking(False)
        self._start(self._accept(listener))

    async def close(self) -> None:
        """Let go of all connections. Raises what no client can have caused: a fault of ours."""
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if self._faults:
            raise self._faults[0]

    @property
    def refusals(self) -> tuple[str, ...]:
        """What was refused, and why, each host and port once."""
        return tuple(self._refused.values())

    # -- connections ---------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._faults.append(fault)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        slots = asyncio.Semaphore(MAX_CONNECTIONS)
        with listener:
            while True:
                await slots.acquire()
                try:
                    client, _ = await loop.sock_accept(listener)
                except OSError as problem:
                    slots.release()
                    # A client that left is no matter; without descriptors it takes others to end.
                    await asyncio.sleep(0.1 if problem.errno in _SCARCE else 0)
                    continue
                self._start(self._serve(client, slots))

    async def _serve(self, client: socket.socket, slots: asyncio.Semaphore) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=client, limit=MAX_HEAD_BYTES)
            # Whoever leaves, or is cut off, ends nothing but its own connection.
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with _held(writer, self._idle):
                    await self._answer(reader, writer)
        finally:
            slots.release()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await self._request(reader)
            server = await self._connected(asked)
        except Refusal as refusal:
            await _refuse(reader, writer, refusal)
            return
        async with _held(server[1], self._idle), asyncio.timeout(self._idle) as idle:
            if asked.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both(_copy(reader, server[1], idle, self._idle), _copy(server[0], writer, idle, self._idle))
            else:
                server[1].write(asked.head)
                await self._exchange(asked, (reader, writer), server, idle)

    async def _request(self, reader: asyncio.StreamReader) -> Asked:
        """Raises Refusal."""
        try:
            async with asyncio.timeout(self._head_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Refusal(431, f"the head of the request has more than {MAX_HEAD_BYTES} bytes") from None
        except TimeoutError:
            raise Refusal(408, f"the request was not complete after {self._head_seconds:g} s") from None
        return read_request(head, self._ports)

    # -- what may be reached -------------------------------------------------------------------

    async def _connected(self, asked: Asked) -> Streams:
        """A connection to the host. Raises Refusal."""
        if why := self._judge(asked.name):
            raise self._refusal(asked, 403, why)
        try:
            self._spend()
        except BudgetSpent as spent:
            self.spent = self.spent or spent
            self._stop()
            raise self._refusal(asked, 403, spent.what) from None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                addresses = await checked_addresses(self._resolver, asked.host, asked.port)
                self._tell(asked.host, asked.port, "")
                return await self._dialed(asked, list(addresses))
        except Failure as failure:
            refused = failure.code is ErrorCode.ADDRESS_REFUSED
            raise self._refusal(asked, 403, failure.message) if refused else Refusal(502, failure.message) from None
        except TimeoutError:
            raise Refusal(504, f"{asked.place} did not answer within {CONNECT_SECONDS:g} s") from None

    def _refusal(self, asked: Asked, status: int, why: str) -> Refusal:
        """A refusal by the rules, told."""
        place = (asked.host, asked.port)
        if place not in self._refused and len(self._refused) < MAX_TOLD:
            self._refused[place] = f"{asked.place}: {why}"
            self._tell(asked.host, asked.port, why)
        return Refusal(status, f"{asked.place} is refused: {why}")

    async def _dialed(self, asked: Asked, addresses: list[str]) -> Streams:
        problem = "no answer"
        for address in addresses:
            patience = DIAL_SECONDS if address != addresses[-1] else None
            try:
                async with asyncio.timeout(patience):
                    return await self._connector.connect(address, asked.port)
            except TimeoutError:
                continue
            except OSError as caught:
                problem = caught.strerror or "the connection failed"
        raise Refusal(502, f"{asked.place} cannot be reached: {problem}")

    # -- one plain request ---------------------------------------------------------------------

    async def _exchange(self, asked: Asked, client: Streams, server: Streams, idle: asyncio.Timeout) -> None:
        async def send() -> None:
            if asked.length is None:
                await _copy_chunks(client[0], server[1], idle, self._idle)
            else:
                await _copy(client[0], server[1], idle, self._idle, asked.length)

        sending = asyncio.ensure_future(send())
        try:
            await self._respond(client[1], server[0], idle)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _respond(self, client: asyncio.StreamWriter, server: asyncio.StreamReader, idle: asyncio.Timeout) -> None:
        status = 100
        while status < 200:
            try:
                status, head = read_response(await server.readuntil(b"\r\n\r\n"))
            except (Refusal, asyncio.LimitOverrunError, asyncio.IncompleteReadError):
                client.write(_told(Refusal(502, "the server's answer is no valid HTTP")))
                return
            client.write(head)
        await _copy(server, client, idle, self._idle)


@contextlib.asynccontextmanager
async def _held(writer: asyncio.StreamWriter, seconds: float) -> AsyncIterator[None]:
    """A connection that is closed in the end, with all that was written; reset where something went wrong, so that
    what arrived is not taken for the whole."""
    try:
        yield
        writer.close()
        async with asyncio.timeout(seconds):
            await writer.wait_closed()
    finally:
        writer.transport.abort()


async def _both(one: Coroutine[Any, Any, None], other: Coroutine[Any, Any, None]) -> None:
    """Until both have ended, or one has failed."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    idle: asyncio.Timeout,
    seconds: float,
    length: int | None = None,
) -> None:
    """Pass on `length` bytes, or all there is, and then the end. Each piece gives the connection more time."""
    loop = asyncio.get_running_loop()
    left = length
    while left is None or left > 0:
        data = await reader.read(_CHUNK if left is None else min(_CHUNK, left))
        if not data:
            break
        idle.reschedule(loop.time() + seconds)
        writer.write(data)
        await writer.drain()
        left = None if left is None else left - len(data)
    if length is None and writer.can_write_eof():
        writer.write_eof()


async def _copy_chunks(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle: asyncio.Timeout, seconds: float
) -> None:
    """Pass on a body of chunks, each with its length written anew; extensions and trailers are left out.
    Raises IncompleteReadError for what is none, so that the server gets no end either."""
    while True:
        size = int(await _chunk_size(reader), 16)
        if size == 0:
            break
        writer.write(b"%x\r\n" % size)
        await _copy(reader, writer, idle, seconds, size)
        if await reader.readexactly(2) != b"\r\n":
            raise asyncio.IncompleteReadError(b"", None)
        writer.write(b"\r\n")
    writer.write(b"0\r\n\r\n")


async def _chunk_size(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readuntil(b"\r\n")
    found = _SIZE.fullmatch(line) if len(line) <= _MAX_CHUNK_LINE else None
    if found is None:
        raise asyncio.IncompleteReadError(line, None)
    return found[1]


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refusal: Refusal) -> None:
    writer.write(_told(refusal))
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    # Closed with bytes unread, the connection would be reset, and the answer with it.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await reader.read(_CHUNK):
                continue


def _told(refusal: Refusal) -> bytes:
    """An answer that says why, in its first line too: of a tunnel most programs show no more."""
    body = f"remit: {refusal.message}\n".encode()
    line = re.sub(r"[^ -~]+", "?", refusal.message)[:300] if refusal.status == 403 else _phrase(refusal.status)
    head = (
        f"HTTP/1.1 {refusal.status} {line}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase
