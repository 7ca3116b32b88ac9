"""What the proxy of commands takes for a request, and what it writes in its place."""

from __future__ import annotations

import pytest

from remit.net.proxy_head import MAX_HEADERS, Refusal, read_request, read_response

PORTS = (80, 443)


def head(first: str, *headers: str) -> bytes:
    return "\r\n".join([first, *headers, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("first", "headers", "name", "host", "port"),
    [
        ("CONNECT a.example:443 HTTP/1.1", (), "a.example:443", "a.example", 443),
        ("CONNECT A.Example.:443 HTTP/1.0", ("Host: A.example.",), "a.example:443", "a.example", 443),
        ("CONNECT a.example:80 HTTP/1.1", ("Host: a.example:80",), "a.example:80", "a.example", 80),
        ("CONNECT [2606:4700::1]:443 HTTP/1.1", (), "[2606:4700::1]:443", "2606:4700::1", 443),
        ("CONNECT 1.1:443 HTTP/1.1", (), "1.0.0.1:443", "1.0.0.1", 443),
        ("GET http://a.example/x HTTP/1.1", ("Host: a.example",), "http://a.example/x", "a.example", 80),
        ("GET HTTP://A.example:80/../x?q HTTP/1.1", ("host: A.EXAMPLE",), "http://a.example/x?q", "a.example", 80),
        ("GET http://a.example:443 HTTP/1.0", (), "http://a.example:443/", "a.example", 443),
    ],
)
def test_what_is_asked_for(first: str, headers: tuple[str, ...], name: str, host: str, port: int) -> None:
    asked = read_request(head(first, *headers), PORTS)
    assert (asked.name, asked.host, asked.port) == (name, host, port)
    assert asked.tunnel is first.startswith("CONNECT")


@pytest.mark.parametrize(
    ("first", "headers", "status", "words"),
    [
        ("CONNECT a.example HTTP/1.1", (), 400, "HOST:PORT"),
        ("CONNECT a.example: HTTP/1.1", (), 400, "HOST:PORT"),
        ("CONNECT a.example:443/x HTTP/1.1", (), 400, "HOST:PORT"),
        ("CONNECT http://a.example:443 HTTP/1.1", (), 400, "HOST:PORT"),
        ("CONNECT u@a.example:443 HTTP/1.1", (), 400, "HOST:PORT"),
        ("CONNECT a.example:443@b.example:443 HTTP/1.1", (), 400, "HOST:PORT"),
        ("CONNECT a.example:0 HTTP/1.1", (), 400, "no number from 1"),
        ("CONNECT a.example:65536 HTTP/1.1", (), 400, "no number from 1"),
        ("CONNECT a.example:22 HTTP/1.1", (), 403, "allowed are only: 80, 443"),
        ("CONNECT 127.0.0.1:443 HTTP/1.1", (), 403, "loopback"),
        ("CONNECT 0x7f.1:443 HTTP/1.1", (), 403, "loopback"),
        ("CONNECT 169.254.169.254:80 HTTP/1.1", (), 403, "link-local"),
        ("CONNECT [::1]:443 HTTP/1.1", (), 403, "loopback"),
        ("CONNECT [::ffff:10.0.0.1]:443 HTTP/1.1", (), 403, "embeds"),
        ("CONNECT localhost:443 HTTP/1.1", (), 403, "local name"),
        ("CONNECT printer:443 HTTP/1.1", (), 403, "without a domain"),
        ("CONNECT a.example:443 HTTP/1.1", ("Host: b.example",), 400, "Host header"),
        ("CONNECT a.example:443 HTTP/1.1", ("Host: a.example", "Host: a.example"), 400, "Host header"),
        ("GET /x HTTP/1.1", ("Host: a.example",), 400, "absolute URL"),
        ("GET ftp://a.example/ HTTP/1.1", (), 400, "scheme"),
        ("GET https://a.example/ HTTP/1.1", ("Host: a.example",), 400, "CONNECT"),
        ("GET http://u:p@a.example/ HTTP/1.1", (), 400, "user name"),
        ("GET http://a.example/ HTTP/1.1", ("Host: b.example",), 400, "Host header"),
        ("GET http://a.example/ HTTP/1.1", ("Host: a.example:443",), 400, "Host header"),
        ("GET http://10.0.0.1/ HTTP/1.1", ("Host: 10.0.0.1",), 403, "private"),
        ("GET http://a.example:8080/ HTTP/1.1", (), 403, "8080"),
        ("GET http://a.example/ HTTP/2.0", (), 400, "request line"),
        ("GET  http://a.example/ HTTP/1.1", (), 400, "request line"),
        ("GET http://a.example/\nX: y HTTP/1.1", (), 400, "request line"),
        ("GET http://a.example/\x00 HTTP/1.1", (), 400, "request line"),
        ("GET http://a.example/ HTTP/1.1", ("X: a\nHost: b",), 400, "header line"),
        ("GET http://a.example/ HTTP/1.1", ("X: a\rHost: b",), 400, "header line"),
        ("GET http://a.example/ HTTP/1.1", ("X: a", " folded"), 400, "header line"),
        ("GET http://a.example/ HTTP/1.1", ("X : a",), 400, "header line"),
        ("GET http://a.example/ HTTP/1.1", ("none",), 400, "header line"),
        ("POST http://a.example/ HTTP/1.1", ("Content-Length: 1", "Content-Length: 1"), 400, "not one number"),
        ("POST http://a.example/ HTTP/1.1", ("Content-Length: +1",), 400, "not one number"),
        ("POST http://a.example/ HTTP/1.1", ("Content-Length: 1", "Transfer-Encoding: chunked"), 400, "not both"),
        ("POST http://a.example/ HTTP/1.1", ("Transfer-Encoding: gzip, chunked",), 400, "not both"),
        ("POST http://a.example/ HTTP/1.0", ("Transfer-Encoding: chunked",), 400, "not both"),
    ],
)
def test_what_is_refused(first: str, headers: tuple[str, ...], status: int, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_request(head(first, *headers), PORTS)
    assert caught.value.status == status
    assert words in caught.value.message


def test_ports_are_those_allowed() -> None:
    assert read_request(head("CONNECT a.example:8443 HTTP/1.1"), (8443,)).port == 8443
    with pytest.raises(Refusal, match="443"):
        read_request(head("CONNECT a.example:443 HTTP/1.1"), (8443,))


def test_as_many_headers_as_are_allowed() -> None:
    lines = [f"X-{number}: y" for number in range(MAX_HEADERS)]
    assert read_request(head("CONNECT a.example:443 HTTP/1.1", *lines), PORTS).port == 443
    with pytest.raises(Refusal) as caught:
        read_request(head("CONNECT a.example:443 HTTP/1.1", *lines, "Z: y"), PORTS)
    assert caught.value.status == 431


def test_a_request_goes_on_without_what_is_the_proxys() -> None:
    asked = read_request(
        head(
            "POST http://a.example/%7ex/./y HTTP/1.1",
            "Host: a.example",
            "Proxy-Authorization: Basic c2VjcmV0",
            "Proxy-Connection: keep-alive",
            "Connection: keep-alive, X-Hop, Content-Length",
            "X-Hop: secret",
            "Keep-Alive: 5",
            "Upgrade: websocket",
            "TE: trailers",
            "Authorization: Bearer kept",
            "Content-Length: 3",
        ),
        PORTS,
    )
    assert asked.length == 3
    assert asked.head.decode().split("\r\n") == [
        "POST /~x/y HTTP/1.1",
        "Host: a.example",
        "Authorization: Bearer kept",
        "Content-Length: 3",
        "Connection: close",
        "",
        "",
    ]


def test_chunks_go_on_as_chunks() -> None:
    asked = read_request(head("PUT http://a.example/ HTTP/1.1", "Transfer-Encoding: Chunked"), PORTS)
    assert asked.length is None
    assert b"\r\nTransfer-Encoding: chunked\r\n" in asked.head


def test_an_answer_ends_the_connection() -> None:
    status, told = read_response(head("HTTP/1.1 200 OK", "Connection: keep-alive, X-Hop", "X-Hop: a", "Set-Cookie: b"))
    assert (status, told) == (200, head("HTTP/1.1 200 OK", "Set-Cookie: b", "Connection: close"))
    assert read_response(head("HTTP/1.1 100 Continue")) == (100, head("HTTP/1.1 100 Continue"))
    with pytest.raises(Refusal):
        read_response(head("HTTP/3 200 OK"))
