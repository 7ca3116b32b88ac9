"""A loopback server that speaks Chat Completions from a script: streams, cuts, stalls, refuses, counts.

    with ModelServer([text("Hello"), refusal(429, {"retry-after": "1"})]) as server:
        server.url            # http://127.0.0.1:PORT/v1
        server.requests       # what was asked, bodies parsed

As a program, for benchmarks: `python model_server.py --turns 200 --tool list_files --arguments {}` answers
every request with a call until the transcript holds that many results, then with a text; of several
arguments it takes one after the other, again and again. It prints its URL and serves until its stdin
closes.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Cut:
    """Ends the connection at this place, in the middle of the answer."""


class Stall:
    """Sends nothing more until the server is released or closed."""


class KeepAlive(NamedTuple):
    """Sends `line` every `seconds` until the server is released or closed."""

    line: bytes
    seconds: float


Step = bytes | Cut | Stall | KeepAlive


class Reply(NamedTuple):
    """One answer. steps: what the body is made of; each piece of bytes is one HTTP chunk."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: dict[str, str] = {"content-type": "text/event-stream"}  # noqa: RUF012


class Received(NamedTuple):
    """A request. connection: counts the connections from 1. headers: names in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes
    connection: int


def event(data: Any, end: bytes = b"\n\n") -> bytes:
    """One server-sent event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + end


DONE = event(b"[DONE]")
CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_800_000_000, "model": "m"}


def delta(delta: dict[str, Any] | None = None, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    """One chat completion chunk."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return {**CHUNK, "choices": [choice], **more}


def usage(prompt: int = 10, completion: int = 5, cached: int = 0) -> dict[str, Any]:
    """The last chunk of a stream that was asked for its usage."""
    tokens = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return {**CHUNK, "choices": [], "usage": tokens}


def stream(*chunks: Any, done: bool = True) -> Reply:
    """A stream of these chunks (dicts, or steps as they are)."""
    steps = [chunk if isinstance(chunk, (bytes, Cut, Stall, KeepAlive)) else event(chunk) for chunk in chunks]
    return Reply([*steps, *([DONE] if done else [])])


def text(*pieces: str) -> Reply:
    """An answer in text."""
    return stream(*(delta({"content": piece}) for piece in pieces), delta(finish_reason="stop"), usage())


def calls(*wanted: tuple[str, str, str]) -> Reply:
    """An answer that calls tools: (id, tool, arguments) each, the arguments in two pieces."""
    pieces = []
    for index, (call_id, tool, arguments) in enumerate(wanted):
        half = len(arguments) // 2
        first = {"index": index, "id": call_id, "type": "function", "function": {"name": tool, "arguments": ""}}
        pieces.append(delta({"tool_calls": [first]}))
        for piece in (arguments[:half], arguments[half:]):
            pieces.append(delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    return stream(*pieces, delta(finish_reason="tool_calls"), usage())


def refusal(status: int, headers: dict[str, str] | None = None, message: str = "no", **error: Any) -> Reply:
    """An error as the API words it."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return Reply([body], status, {"content-type": "application/json", **(headers or {})})


Script = Iterable[Reply] | Callable[[Received], Reply]


class ModelServer:
    """replies: one for each request in turn, or a function of the request. After the last: HTTP 500.
    tls: the server's certificate, for https."""

    def __init__(self, replies: Script, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.released = threading.Event()
        self.disconnected = threading.Event()
        """Set when a client went away in the middle of an answer."""
        self._reply_to = replies if callable(replies) else _in_turn(replies)
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._http = _Http(("127.0.0.1", 0), _handler_for(self))
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def root(self) -> str:
        """Scheme, host and port."""
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @property
    def connections(self) -> int:
        return len(self._sockets)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        for connection in self._sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def connected(self, connection: socket.socket) -> int:
        with self._lock:
            self._sockets.append(connection)
            return len(self._sockets)

    def answer(self, request: Received) -> Reply:
        with self._lock:
            self.requests.append(request)
            return self._reply_to(request)


def _in_turn(replies: Iterable[Reply]) -> Callable[[Received], Reply]:
    left = iter(replies)
    return lambda _: next(left, refusal(500, message="the script of the server has ended"))


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the tests, everything else is not."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


def _handler_for(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.number = server.connected(self.connection)

        def log_message(self, *_: Any) -> None:
            """stderr belongs to the test."""

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.answer(Received(self.path, headers, json.loads(raw), raw, self.number))
            try:
                self._send(reply)
            except ConnectionError:
                server.disconnected.set()
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {**reply.headers, "transfer-encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            for step in reply.steps:
                if isinstance(step, Cut):
                    self.close_connection = True
                    return
                self._step(step)
            self.wfile.write(b"0\r\n\r\n")

        def _step(self, step: Step) -> None:
            if isinstance(step, bytes):
                self._chunk(step)
            elif isinstance(step, KeepAlive):
                while not server.released.wait(step.seconds):
                    self._chunk(step.line)
            elif isinstance(step, Stall):
                self._stall()

        def _stall(self) -> None:
            self.connection.settimeout(0.02)
            while not server.released.is_set():
                with suppress(TimeoutError):
                    if not self.connection.recv(1):
                        raise ConnectionResetError
            self.connection.settimeout(None)

        def _chunk(self, piece: bytes) -> None:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    return Handler


def call_until(turns: int, tool: str, arguments: Sequence[str]) -> Callable[[Received], Reply]:
    """A call a turn until the transcript holds `turns` results, then a text. arguments: of the calls in turn."""

    def reply(request: Received) -> Reply:
        results = sum(message["role"] == "tool" for message in request.body["messages"])
        if results >= turns:
            return text("Done.")
        return calls((f"call_{results + 1}", tool, arguments[results % len(arguments)]))

    return reply


def main(argv: Sequence[str]) -> Iterator[str]:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--tool", default="list_files")
    parser.add_argument("--arguments", nargs="+", default=["{}"])
    options = parser.parse_args(argv)
    with ModelServer(call_until(options.turns, options.tool, options.arguments)) as server:
        yield server.url
        sys.stdin.read()


if __name__ == "__main__":
    for line in main(sys.argv[1:]):
        print(line, flush=True)
