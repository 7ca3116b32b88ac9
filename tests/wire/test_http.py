from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import socket
import ssl
import subprocess
import sys
import threading
import zlib
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from fakes.asking import Slept, ask, request
from fakes.connect_proxy import ConnectProxy
from fakes.model_server import Cut, ModelServer, Reply, refusal, text
from fakes.opened import by_name, opened
from remit.base.errors import PreflightFault
from remit.base.limits import MIB
from remit.base.messages import TextBlock
from remit.providers.connection import request_head
from remit.providers.failures import AttemptFailed
from remit.providers.http import HttpClient, Unpacked, proxy_url


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8000/v1", "ftp://host/v1", "http://", "http://[::1", "http://h:99999/v1", "http://a b/v1", "http://\u00e9/v1"],
)  # fmt: skip
def test_a_base_url_that_is_none_is_refused_before_any_request(url: str) -> None:
    with pytest.raises(PreflightFault) as caught:
        opened("m", base_url=url)
    assert caught.value.kind == "base_url" and "http://127.0.0.1:8000/v1" in caught.value.hint


def test_a_bad_base_url_is_shown_without_its_password() -> None:
    with pytest.raises(PreflightFault) as caught:
        opened("m", base_url="ftp://user:hunter2@host/v1")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("reply", [text("Done."), refusal(529), Reply([b"data: {}", Cut()])])
def test_a_body_is_let_go_of_when_its_answer_has_ended(reply: Reply) -> None:
    """It is the whole transcript: were it left to the collector, dozens of them would be held at once."""

    async def ask(client: HttpClient, body: bytes) -> None:
        before = sys.getrefcount(body)
        with suppress(AttemptFailed):
            async with client.post("/chat/completions", body, {}, "") as sent:
                response = await sent.response()
                async for _ in response.chunks():
                    assert sys.getrefcount(body) > before

    async def references(url: str) -> list[int]:
        client = HttpClient(url, {}, {}, keyed=False, connect_seconds=5, silence_seconds=30)
        body = b"[" + b" " * 10_000 + b"]"
        held = [sys.getrefcount(body)]
        for _ in range(3):
            await ask(client, body)
            held.append(sys.getrefcount(body))
        await client.close()
        return held

    with ModelServer([reply] * 3) as server:
        gc.disable()
        try:
            held = asyncio.run(references(server.url))
        finally:
            gc.enable()
    assert held == [held[0]] * 4


# -- proxies -----------------------------------------------------------------------------------------

P, Q = "http://p:1", "http://q:2"


@pytest.mark.parametrize(
    ("target", "environ", "expected"),
    [
        ("http://host/v1", {}, ""),
        ("http://host/v1", {"HTTP_PROXY": P}, P),
        ("http://host/v1", {"http_proxy": Q, "HTTP_PROXY": P}, Q),
        ("http://host/v1", {"HTTPS_PROXY": P}, ""),
        ("https://host/v1", {"HTTPS_PROXY": P, "HTTP_PROXY": Q}, P),
        ("https://host/v1", {"ALL_PROXY": P}, P),
        ("https://host/v1", {"all_proxy": P, "https_proxy": Q}, Q),
        ("http://host/v1", {"http_proxy": "p:1"}, P),
        ("http://host/v1", {"HTTP_PROXY": "  "}, ""),
        ("http://host/v1", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, ""),
        ("http://host/v1", {"http_proxy": P, "REQUEST_METHOD": "GET"}, P),
        ("http://host/v1", {"HTTP_PROXY": P, "NO_PROXY": "other, host"}, ""),
        ("http://a.host/v1", {"HTTP_PROXY": P, "NO_PROXY": "host"}, ""),
        ("http://a.host/v1", {"HTTP_PROXY": P, "no_proxy": ".HOST"}, ""),
        ("http://a.host/v1", {"HTTP_PROXY": P, "NO_PROXY": "*.host"}, ""),
        ("http://ahost/v1", {"HTTP_PROXY": P, "NO_PROXY": "host"}, P),
        ("http://host/v1", {"HTTP_PROXY": P, "NO_PROXY": "*"}, ""),
        ("http://host/v1", {"HTTP_PROXY": P, "NO_PROXY": ",,"}, P),
        ("http://host:81/v1", {"HTTP_PROXY": P, "NO_PROXY": "host:81"}, ""),
        ("http://host:82/v1", {"HTTP_PROXY": P, "NO_PROXY": "host:81"}, P),
        ("https://host/v1", {"HTTPS_PROXY": P, "NO_PROXY": "host:443"}, ""),
        ("http://[::1]:8/v1", {"HTTP_PROXY": P, "NO_PROXY": "[::1]:8"}, ""),
        ("http://127.0.0.1:8/v1", {"HTTP_PROXY": P, "NO_PROXY": "localhost,127.0.0.1"}, ""),
    ],
)
def test_the_proxy_of_an_address(target: str, environ: dict[str, str], expected: str) -> None:
    assert proxy_url(urlsplit(target), environ) == expected


def test_a_proxy_is_used_with_its_credentials() -> None:
    with ModelServer([text("through the proxy")]) as proxy:
        address = proxy.url.removesuffix("/v1").replace("http://", "http://user:p%40ss@")
        environ = {"HTTP_PROXY": address, "OPENAI_BASE_URL": "http://model.invalid/v1"}
        assert ask(by_name("openai/m", environ), request()).blocks() == [TextBlock("through the proxy")]
        received = proxy.requests[0]
    assert received.path == "http://model.invalid/v1/chat/completions" and received.headers["host"] == "model.invalid"
    assert received.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'user:p@ss').decode()}"


def test_a_proxy_of_another_kind_is_refused_without_its_password() -> None:
    environ = {"ALL_PROXY": "socks5://user:hunter2@host:1080", "OPENAI_BASE_URL": "http://model.invalid/v1"}
    with pytest.raises(PreflightFault) as caught:
        by_name("openai/m", environ)
    assert "socks5" in caught.value.what and "hunter2" not in str(caught.value) and "NO_PROXY" in caught.value.hint


@pytest.mark.parametrize("end", ["?api-key=hunter2-0123456789", "/?k=hunter2", "#hunter2", "?"])
def test_an_address_with_a_query_is_refused_without_showing_it(end: str) -> None:
    with pytest.raises(PreflightFault) as caught:
        by_name("openai/m", {"OPENAI_BASE_URL": f"http://user:p?w@host/v1{end}"})
    assert caught.value.kind == "base_url" and "hunter2" not in str(caught.value) and "p?w" not in str(caught.value)
    assert "`query` of [openai]" in caught.value.hint and "`api_key_env`" in caught.value.hint


def test_credentials_in_the_address_are_sent_and_a_key_outranks_them() -> None:
    with ModelServer([text("a"), text("b")]) as server:
        address = server.url.replace("http://", "http://user:pw@")
        ask(opened("m", base_url=address), request())
        ask(opened("m", base_url=address, api_key="sk-1"), request())
        sent = [received.headers["authorization"] for received in server.requests]
    assert sent == [f"Basic {base64.b64encode(b'user:pw').decode()}", "Bearer sk-1"]


# -- https -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_an_unknown_certificate_is_refused_at_once(tls: ssl.SSLContext) -> None:
    slept = Slept()
    with ModelServer([text("never")], tls) as server:
        answer = ask(opened("m", base_url=server.url, timing=slept.timing), request())
        assert server.requests == []
    assert (
        answer.fault is not None and answer.fault.kind == "network" and "CERTIFICATE_VERIFY_FAILED" in answer.fault.what
    )
    assert slept.waits == []


ASKS = """
import asyncio, os, sys
from remit.base.messages import BlockPart, Message, Request, TextBlock
from remit.base.spec import ModelSpec
from remit.providers.catalog import open_provider
from remit.providers.opening import Opening
async def main():
    model = ModelSpec(id="openai/m", protocol="openai", base_url=sys.argv[1])
    provider = open_provider(Opening(model=model, environ=os.environ, retry_seconds=0))
    async for part in provider.stream(Request("m", "", (Message("user", (TextBlock("hi"),)),))):
        if isinstance(part, BlockPart):
            print(part.block.text)
    await provider.close()
asyncio.run(main())
"""


def asked_over_tls(url: str, authority: trustme.CA, directory: Path, **environ: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a program that asks the model at `url` and trusts this authority alone."""
    authority.cert_pem.write_to_path(directory / "ca.pem")
    ended = subprocess.run(
        [sys.executable, "-c", ASKS, url],
        env={"SSL_CERT_FILE": str(directory / "ca.pem"), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_an_authority_of_ones_own_is_trusted_by_its_file(
    tls: ssl.SSLContext, authority: trustme.CA, tmp_path: Path
) -> None:
    with ModelServer([text("safely")], tls) as server:
        assert asked_over_tls(server.url, authority, tmp_path) == (0, "safely\n", "")


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_proxy_is_asked_for_a_tunnel_to_an_https_server(
    secure: bool, tls: ssl.SSLContext, authority: trustme.CA, tmp_path: Path
) -> None:
    with (
        ModelServer([text("tunnelled")], tls) as server,
        ConnectProxy(urlsplit(server.url).port or 0, tls=tls if secure else None) as proxy,
    ):
        address = proxy.url.replace("://", "://user:p%40ss@")
        told = asked_over_tls(server.url, authority, tmp_path, HTTPS_PROXY=address)
        assert told == (0, "tunnelled\n", "")
        assert "proxy-authorization" not in server.requests[0].headers
        authority_asked = urlsplit(server.url).netloc
    [head] = proxy.heads
    assert head.startswith(f"CONNECT {authority_asked} HTTP/1.1\r\nhost: {authority_asked}\r\n".encode())
    assert b"proxy-authorization: Basic " + base64.b64encode(b"user:p@ss") in head


def test_an_http_server_is_asked_through_an_https_proxy(
    tls: ssl.SSLContext, authority: trustme.CA, tmp_path: Path
) -> None:
    with ModelServer([text("passed on")], tls) as proxy:
        told = asked_over_tls("http://model.invalid/v1", authority, tmp_path, HTTP_PROXY=proxy.root)
        assert told == (0, "passed on\n", "")
        assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"


@pytest.mark.parametrize("status", [407, 502])
def test_a_proxy_that_does_not_connect_is_named(status: int) -> None:
    slept = Slept()
    with ConnectProxy(0, status=status) as proxy:
        environ = {"HTTPS_PROXY": proxy.url, "OPENAI_BASE_URL": "https://model.invalid/v1"}
        answer = ask(by_name("openai/m", environ, timing=slept.timing), request())
    assert answer.fault is not None and answer.fault.kind == "network"
    assert f"the proxy does not pass the request on: HTTP {status}" in answer.fault.what
    # No wait brings credentials.
    assert bool(slept.waits) == (status == 502)


def test_a_tunnel_goes_to_the_server_alone(tls: ssl.SSLContext, authority: trustme.CA, tmp_path: Path) -> None:
    """What is behind the proxy shows the certificate of the server that was asked for, or is not spoken to."""
    with (
        ModelServer([text("never")], tls) as server,
        ConnectProxy(urlsplit(server.url).port or 0) as proxy,
    ):
        code, said, _ = asked_over_tls("https://model.invalid/v1", authority, tmp_path, HTTPS_PROXY=proxy.url)
        assert (code, said, server.requests) == (1, "", [])


# -- bodies and heads --------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_little_that_expands_to_much_comes_in_parts(encoding: str) -> None:
    whole = b"x" * (5 * MIB + 1)
    packed = gzip.compress(whole) if encoding == "gzip" else zlib.compress(whole)
    parts = list(Unpacked(encoding).feed(packed))
    assert b"".join(parts) == whole and max(map(len, parts)) == MIB


def test_an_encoding_that_was_not_asked_for_is_no_answer() -> None:
    with pytest.raises(AttemptFailed, match="it is 'br'"):
        Unpacked("br")


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "\0", "\u00e9"])
def test_no_header_ends_its_line(value: str) -> None:
    with pytest.raises(AttemptFailed, match="cannot carry") as caught:
        request_head("POST", "/v1", {"x-name": value})
    assert not caught.value.retryable


def test_an_address_is_sent_as_http_can_carry_it() -> None:
    with ModelServer([text("x")]) as server:
        ask(opened("m", base_url=f'{server.root}/a|"b%20{{c}}/v1'), request())
        assert server.requests[0].path == "/a%7C%22b%20%7Bc%7D/v1/chat/completions"


def test_a_connection_that_said_something_unasked_serves_no_other_request() -> None:
    async def twice(url: str) -> list[int]:
        client = HttpClient(url, {}, {}, keyed=False, connect_seconds=5, silence_seconds=5)
        statuses = []
        for _ in range(2):
            async with client.post("/x", b"{}", {}, "") as sent:
                response = await sent.response()
                statuses.append(response.status)
                async for _ in response.chunks():
                    pass
        await client.close()
        return statuses

    def talk() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 408 Late\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=talk)
        server.start()
        assert asyncio.run(twice(f"http://127.0.0.1:{listener.getsockname()[1]}")) == [200, 200]
        server.join()
