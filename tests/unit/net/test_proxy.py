"""The proxy of commands over real sockets: who gets through, who is refused, and what bounds a bad client."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from fakes.web import PUBLIC, Names, ToLoopback, response, serve
from remit.base.errors import BudgetSpent
from remit.net.proxy import MAX_CONNECTIONS, MAX_TOLD, CommandProxy
from remit.net.proxy_head import MAX_HEAD_BYTES

GET = b"GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n"
CONNECT = b"CONNECT site.example:443 HTTP/1.1\r\nHost: site.example:443\r\n\r\n"


def judge(name: str) -> str:
    host = name.removeprefix("http://").partition("/")[0].partition(":")[0]
    return "" if host.endswith("site.example") else "it is not granted"


class Gate:
    """A running proxy, and what it told."""

    def __init__(self, server_port: int, *, budget: int = 100, **keys: Any) -> None:
        self.told: list[tuple[str, int, str]] = []
        self.spent = 0
        self.stopped = 0
        self.names = keys.pop("resolver", None) or Names()
        self.dialer = keys.pop("connector", None) or ToLoopback(server_port)
        self._budget = budget
        keys = {"judge": judge, "ports": (80, 443), **keys}
        self.proxy = CommandProxy(
            keys.pop("judge"),
            self._spend,
            lambda *told: self.told.append(told),
            resolver=self.names,
            connector=self.dialer,
            **keys,
        )
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.proxy.open(listener, self._stop)

    def _spend(self) -> None:
        if self.spent == self._budget:
            raise BudgetSpent("network_requests", "no network request is left")
        self.spent += 1

    def _stop(self) -> None:
        self.stopped += 1

    async def ask(self, request: bytes, *, end: bool = False) -> bytes:
        """All that comes back."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        with contextlib.suppress(ConnectionError):
            writer.write(request)
            await writer.drain()
            if end:
                writer.write_eof()
        try:
            async with asyncio.timeout(20):
                return await reader.read()
        finally:
            writer.transport.abort()


@contextlib.asynccontextmanager
async def gate(answers: Any = None, **keys: Any) -> AsyncIterator[tuple[Gate, Any]]:
    async with serve({"/": response(b"hello")} if answers is None else answers) as site:
        opened = Gate(site.port, **keys)
        try:
            yield opened, site
        finally:
            await opened.proxy.close()


def through(work: Callable[[Gate, Any], Awaitable[Any]], answers: Any = None, **keys: Any) -> Any:
    async def run() -> Any:
        async with gate(answers, **keys) as (opened, site):
            return await work(opened, site)

    return asyncio.run(run())


def asked(request: bytes, answers: Any = None, **keys: Any) -> tuple[bytes, Gate]:
    async def work(opened: Gate, site: Any) -> tuple[bytes, Gate]:
        return await opened.ask(request), opened

    said, opened = through(work, answers, **keys)
    return said, opened


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says back what it hears, and ends when the other side does."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


def test_a_plain_request() -> None:
    said, opened = asked(GET)
    assert said.startswith(b"HTTP/1.1 200 OK\r\n") and said.endswith(b"\r\n\r\nhello")
    assert b"\r\nConnection: close\r\n" in said
    assert opened.told == [("site.example", 80, "")]
    assert opened.dialer.dialed == [(PUBLIC, 80)]
    assert opened.spent == 1


def test_a_tunnel_passes_all_bytes_both_ways() -> None:
    payload = bytes(range(256)) * 4096

    async def work(opened: Gate, site: Any) -> bytes:
        return await opened.ask(CONNECT + payload, end=True)

    said = through(work, echo)
    head, _, rest = said.partition(b"\r\n\r\n")
    assert head == b"HTTP/1.1 200 Connection established"
    assert rest == payload


def test_a_host_that_is_not_granted() -> None:
    said, opened = asked(b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 403 other.example:443 is refused: it is not granted\r\n")
    assert said.endswith(b"\r\n\r\nremit: other.example:443 is refused: it is not granted\n")
    assert (opened.names.asked, opened.dialer.dialed, opened.spent) == ([], [], 0)
    assert opened.told == [("other.example", 443, "it is not granted")]
    assert opened.proxy.refusals == ("other.example:443: it is not granted",)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["169.254.169.254"],
        [PUBLIC, "192.168.0.1"],
        ["fd00::1"],
    ],
)
@pytest.mark.parametrize("request_", [GET, CONNECT])
def test_a_name_that_leads_to_a_private_address(request_: bytes, addresses: Sequence[str]) -> None:
    said, opened = asked(request_, resolver=Names({"site.example": [addresses]}))
    assert said.startswith(b"HTTP/1.1 403 ")
    assert b"not public" in said
    assert opened.dialer.dialed == []
    assert len(opened.proxy.refusals) == 1


def test_the_address_that_was_checked_is_the_one_that_is_dialed() -> None:
    said, opened = asked(GET, resolver=Names({"site.example": [[PUBLIC], ["127.0.0.1"]]}))
    assert said.endswith(b"hello")
    assert (opened.names.asked, opened.dialer.dialed) == (["site.example"], [(PUBLIC, 80)])


def test_the_next_address_is_tried() -> None:
    async def work(opened: Gate, site: Any) -> bytes:
        opened.dialer._refuse = ("93.184.216.35",)
        return await opened.ask(GET)

    names = Names({"site.example": [["93.184.216.35", PUBLIC]]})
    assert through(work, resolver=names).endswith(b"hello")


def test_hosts_that_do_not_answer() -> None:
    async def work(opened: Gate, site: Any) -> bytes:
        opened.dialer._refuse = (PUBLIC,)
        return await opened.ask(CONNECT)

    said = through(work)
    assert said.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"site.example:443 cannot be reached: Connection refused" in said


def test_a_name_without_addresses() -> None:
    said, _ = asked(GET, resolver=Names({"site.example": [[]]}))
    assert said.startswith(b"HTTP/1.1 502 ") and b"has no address" in said


def test_a_budget_that_is_spent_ends_the_command() -> None:
    async def work(opened: Gate, site: Any) -> tuple[bytes, bytes, Gate]:
        return await opened.ask(GET), await opened.ask(GET), opened

    first, second, opened = through(work, budget=1)
    assert first.endswith(b"hello")
    assert second.startswith(b"HTTP/1.1 403 ") and b"no network request is left" in second
    assert isinstance(opened.proxy.spent, BudgetSpent)
    assert opened.stopped == 1
    assert len(opened.dialer.dialed) == 1


def test_a_redirect_is_the_clients_affair_and_asked_for_anew() -> None:
    moved = response(b"", "302 Found", headers=["Location: http://other.example/"])
    said, _ = asked(GET, {"/": moved})
    assert b"\r\nLocation: http://other.example/\r\n" in said


def test_one_request_a_connection() -> None:
    async def work(opened: Gate, site: Any) -> Any:
        second = b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n"
        return await opened.ask(GET + second), site.requests

    said, requests = through(work)
    assert said.count(b"HTTP/1.1") == 1
    assert len(requests) == 1 and requests[0].startswith(b"GET / HTTP/1.1\r\nHost: site.example\r\n")


@pytest.mark.parametrize(
    ("framing", "sent", "arrives"),
    [
        (b"Content-Length: 5\r\n", b"12345GET http", b"12345"),
        (
            b"Transfer-Encoding: chunked\r\n",
            b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\nGET",
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        ),
    ],
)
def test_a_body_goes_on_and_nothing_behind_it(framing: bytes, sent: bytes, arrives: bytes) -> None:
    heard = bytearray()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        while len(heard) < len(arrives):
            heard.extend(await reader.read(100))
        writer.write(response(b"taken"))

    said, _ = asked(b"POST http://site.example/ HTTP/1.1\r\n" + framing + b"\r\n" + sent, answer)
    assert said.endswith(b"taken")
    assert bytes(heard) == arrives


@pytest.mark.parametrize(
    "body", [b"zz\r\n", b"-1\r\n", b"1" * 13 + b"\r\n", b"1\r\nab\r\n", b"1;" + b"x" * 5000 + b"\r\n"]
)
def test_chunks_that_are_none_never_end_a_body(body: bytes) -> None:
    heard = bytearray()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(100):
                heard.extend(data)

    with contextlib.suppress(ConnectionError):
        asked(b"POST http://site.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body, answer, idle=0.2)
    assert b"0\r\n\r\n" not in heard


def test_a_preliminary_answer_goes_before_the_answer() -> None:
    said, _ = asked(GET, {"/": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + response(b"hello")})
    assert said.startswith(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("answer", [b"SSH-2.0-x\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000])
def test_a_server_that_speaks_no_http(answer: bytes) -> None:
    said, _ = asked(GET, {"/": answer})
    assert said.startswith(b"HTTP/1.1 502 ")


def test_a_head_up_to_its_limit() -> None:
    def request(size: int) -> bytes:
        start = b"GET http://site.example/ HTTP/1.1\r\nX: "
        return start + b"x" * (size - len(start)) + b"\r\n\r\n"

    assert asked(request(MAX_HEAD_BYTES))[0].endswith(b"hello")
    assert asked(request(MAX_HEAD_BYTES + 1))[0].startswith(b"HTTP/1.1 431 ")


def test_a_head_without_end() -> None:
    said, opened = asked(b"GET http://site.example/ HTTP/1.1\r\n" + b"X: y\r\n" * 100_000)
    assert said.startswith(b"HTTP/1.1 431 ") or said == b""
    assert opened.dialer.dialed == []


def test_a_client_that_says_nothing() -> None:
    said, _ = asked(b"GET http://site", head_seconds=0.1)
    assert said.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_a_connection_without_traffic_ends() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def work(opened: Gate, site: Any) -> bytes:
        try:
            return await opened.ask(CONNECT)
        except ConnectionError:
            return b"reset"

    assert through(work, silent, idle=0.2) in (b"reset", b"HTTP/1.1 200 Connection established\r\n\r\n")


def test_as_many_connections_at_once_as_are_allowed() -> None:
    async def work(opened: Gate, site: Any) -> tuple[int, bytes]:
        streams = [await asyncio.open_connection("127.0.0.1", opened.port) for _ in range(MAX_CONNECTIONS)]
        for _, writer in streams:
            writer.write(CONNECT)
        for reader, _ in streams:
            await reader.readuntil(b"\r\n\r\n")
        further = asyncio.ensure_future(opened.ask(GET))
        await asyncio.wait({further}, timeout=0.3)
        waits = not further.done()
        dialed = len(opened.dialer.dialed)
        streams[0][1].transport.abort()
        said = await further
        for _, writer in streams:
            writer.transport.abort()
        assert waits
        return dialed, said

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.read(3)) == b"GET":
            writer.write(response(b"hello"))

    dialed, said = through(work, answer)
    assert dialed == MAX_CONNECTIONS
    assert said.endswith(b"hello")


def test_refusals_are_told_once_and_not_without_end() -> None:
    async def work(opened: Gate, site: Any) -> Gate:
        for number in range(MAX_TOLD + 5):
            for _ in range(2):
                await opened.ask(b"CONNECT h%d.example:443 HTTP/1.1\r\n\r\n" % number)
        return opened

    opened = through(work)
    assert len(opened.told) == len(opened.proxy.refusals) == MAX_TOLD


def test_control_characters_do_not_get_into_a_refusal() -> None:
    said, _ = asked(GET, judge=lambda name: "no\r\nSet-Cookie: x\x00\u00e9")
    assert said.split(b"\r\n")[0] == b"HTTP/1.1 403 site.example:80 is refused: no?Set-Cookie: x?"
    assert b"\r\nSet-Cookie" not in said.partition(b"\r\n\r\n")[0]


def test_closing_lets_go_of_everything() -> None:
    async def run() -> None:
        async with serve(echo) as site:
            opened = Gate(site.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", opened.port)
            writer.write(CONNECT)
            await reader.readuntil(b"\r\n\r\n")
            await opened.proxy.close()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            with pytest.raises(ConnectionError):
                await asyncio.open_connection("127.0.0.1", opened.port)

    asyncio.run(run())


def test_a_fault_of_ours_is_not_lost() -> None:
    async def run() -> None:
        async with serve(echo) as site:
            opened = Gate(site.port, judge=lambda name: str(1 // 0))
            with contextlib.suppress(ConnectionError):
                await opened.ask(GET)
            with pytest.raises(ZeroDivisionError):
                await opened.proxy.close()

    asyncio.run(run())
