"""A loopback proxy that connects its clients to one server, whatever they ask for."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress


class ConnectProxy:
    """Answers each CONNECT with `status`, and where that is 200 passes everything on to the server at `port`. tls:
    the proxy's own certificate, where it is spoken to by https."""

    def __init__(self, port: int, *, status: int = 200, tls: ssl.SSLContext | None = None) -> None:
        self.heads: list[bytes] = []
        self._port = port
        self._status = status
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> ConnectProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._tls is not None:
                client = self._tls.wrap_socket(client, server_side=True)
            with client:
                self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        self.heads.append(head)
        client.sendall(b"HTTP/1.1 %d Whatever\r\n\r\n" % self._status)
        if self._status != 200:
            return
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            there = threading.Thread(target=_pass_on, args=(client, server))
            there.start()
            _pass_on(server, client)
            there.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
