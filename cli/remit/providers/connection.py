"""One kept connection to the server of a model API, or to the proxy before it.

A request is written here and an answer is read by h11, which is loaded while the server thinks: before the first
request has left, a run pays for asyncio alone.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from remit.providers.failures import AttemptFailed, quote

if TYPE_CHECKING:
    import h11

READ_BYTES = 64 * 1024
MAX_HEAD_BYTES = 100 * 1024
"""Of the head of an answer, and of any line between its chunks."""

EYEBALLS_SECONDS = 0.25
"""After which the next address of a host is tried as well."""


class Patience(msgspec.Struct, frozen=True):
    """Seconds. connect: until a connection stands, TLS and proxy included. silence: for the request to be taken, and
    then for the head of the answer."""

    connect: float
    silence: float


class Place(msgspec.Struct, frozen=True):
    """Where to connect to. tls: None for a connection in the open."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


class Tunnel(msgspec.Struct, frozen=True):
    """What a proxy is asked for so that TLS goes through it. head: of the CONNECT request."""

    place: Place
    head: bytes


class Answer(msgspec.Struct, frozen=True):
    """The head of an answer. headers: names in lower case; what is said twice is joined."""

    status: int
    headers: dict[str, str]


async def connect(place: Place, tunnel: Tunnel | None, patience: Patience) -> Connection:
    """A connection that stands. tunnel: through the place, which is a proxy then. Raises AttemptFailed."""
    told = f"the connection could not be made within {patience.connect:g} s"
    with failing("the connection could not be made", late=told):
        async with asyncio.timeout(patience.connect):
            reader, writer = await asyncio.open_connection(
                place.host,
                place.port,
                ssl=place.tls,
                server_hostname=place.host if place.tls is not None else None,
                happy_eyeballs_delay=EYEBALLS_SECONDS,
            )
            connection = Connection(reader, writer, patience)
            try:
                if tunnel is not None:
                    await connection.enter(tunnel)
            except BaseException:
                connection.drop()
                raise
            return connection


class Connection:
    """Serves one request after the other. idle_since: when the last one was done, in the loop's time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: Patience) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience
        self._parser: h11.Connection | None = None
        self.idle_since: float | None = None

    async def send(self, head: bytes, body: bytes) -> None:
        """Send a request, which `answer` is about then. Raises AttemptFailed."""
        self.idle_since = None
        seconds = self._patience.silence
        late = f"the server took nothing of the request for {seconds:g} s"
        with failing("the connection broke while the request was sent", late=late):
            async with asyncio.timeout(seconds):
                self._writer.write(head)
                self._writer.write(body)
                await self._writer.drain()

    async def answer(self) -> Answer:
        """The head of the answer to a POST. Raises AttemptFailed."""
        return await self._answer("POST")

    async def piece(self) -> bytes | None:
        """The next bytes of the body, None at its end. Raises AttemptFailed."""
        import h11

        with failing("the connection broke while the answer was read"):
            event = await self._event()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def enter(self, tunnel: Tunnel) -> None:
        """Have the proxy at the other end connect to the place, and speak TLS with that. Raises AttemptFailed."""
        self._writer.write(tunnel.head)
        answer = await self._answer("CONNECT")
        if not 200 <= answer.status < 300:
            what = f"the proxy does not pass the request on: HTTP {answer.status}"
            raise AttemptFailed("network", what, status=answer.status, final=answer.status == 407)
        assert tunnel.place.tls is not None
        await self._writer.start_tls(tunnel.place.tls, server_hostname=tunnel.place.host)

    def rest(self) -> bool:
        """Keep the connection for another request. False where it can serve none: its answer was not read to the
        end, or was to be the last."""
        import h11

        parser, self._parser = self._parser, None
        done = parser is not None and parser.their_state is h11.DONE and parser.trailing_data == (b"", False)
        if done:
            self.idle_since = asyncio.get_running_loop().time()
        return done

    def is_usable(self, since: float) -> bool:
        """Whether it has rested since then or later, and the server has neither closed it nor said anything."""
        if self.idle_since is None or self.idle_since < since:
            return False
        return not (self._writer.is_closing() or self._reader.at_eof() or _has_news(self._writer))

    def drop(self) -> None:
        """Close it at once."""
        self._writer.transport.abort()

    async def _answer(self, method: str) -> Answer:
        import h11

        self._parser = parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        # What was sent, as far as it matters for the answer.
        parser.send(h11.Request(method=method, target="/", headers=[("host", "-"), ("content-length", "0")]))
        parser.send(h11.EndOfMessage())
        seconds = self._patience.silence
        with failing("the connection broke", late=f"the server sent nothing for {seconds:g} s"):
            async with asyncio.timeout(seconds):
                event = await self._event()
                while isinstance(event, h11.InformationalResponse):
                    event = await self._event()
        if not isinstance(event, h11.Response):
            raise AttemptFailed("network", "the connection broke: the server speaks another protocol")
        return Answer(event.status_code, _headers(event.headers))

    async def _event(self) -> Any:
        """Of h11. Raises OSError and h11.RemoteProtocolError."""
        import h11

        parser = self._parser
        assert parser is not None
        while (event := parser.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(READ_BYTES)
            if not data and parser.their_state is h11.SEND_RESPONSE:
                raise h11.RemoteProtocolError("the server closed it without an answer")
            parser.receive_data(data)
        return event


@contextmanager
def failing(what: str, *, late: str = "") -> Iterator[None]:
    """Every way in which a connection fails, as AttemptFailed. late: what to say where time was up."""
    try:
        yield
    except TimeoutError as problem:
        raise AttemptFailed("network", late or what) from problem
    except (OSError, UnicodeError) as problem:
        detail = quote(str(problem))
        # No wait makes a certificate good.
        final = isinstance(problem, ssl.SSLCertVerificationError)
        raise AttemptFailed("network", ": ".join(filter(None, (what, detail))), final=final) from problem
    except AttemptFailed:
        raise
    except Exception as problem:
        import h11

        if not isinstance(problem, h11.RemoteProtocolError):
            raise
        raise AttemptFailed("network", f"the connection broke: {quote(str(problem))}") from problem


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _has_news(writer: asyncio.StreamWriter) -> bool:
    """Whether there is something to read that the loop has not come to read yet: where nothing was asked, that the
    server is done with the connection."""
    poll = select.poll()
    poll.register(writer.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The lines before a body. Raises AttemptFailed for what cannot stand there."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise AttemptFailed("bad_request", "a header or the address has characters that HTTP cannot carry")
    return "\r\n".join([*lines, "", ""]).encode("ascii")
