from __future__ import annotations

import asyncio
import base64
import gc
import ssl
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from fakes.asking import Slept, ask, request
from fakes.model_server import Cut, ModelServer, Reply, refusal, text
from fakes.opened import by_name, opened
from remit.base.errors import PreflightFault
from remit.base.messages import TextBlock
from remit.providers.failures import AttemptFailed
from remit.providers.http import HttpClient, proxy_url


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
            async with client.post("/chat/completions", body, {}, "") as response:
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


def test_an_authority_of_ones_own_is_trusted_by_its_file(
    tls: ssl.SSLContext, authority: trustme.CA, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    program = """
import asyncio, sys
from remit.base.messages import BlockPart, Message, Request, TextBlock
from remit.base.spec import ModelSpec
from remit.providers.catalog import open_provider
from remit.providers.opening import Opening
async def main():
    model = ModelSpec(id="openai/m", protocol="openai", base_url=sys.argv[1])
    provider = open_provider(Opening(model=model, retry_seconds=0))
    async for part in provider.stream(Request("m", "", (Message("user", (TextBlock("hi"),)),))):
        if isinstance(part, BlockPart):
            print(part.block.text)
    await provider.close()
asyncio.run(main())
"""
    with ModelServer([text("safely")], tls) as server:
        ended = subprocess.run(
            [sys.executable, "-c", program, server.url],
            env={"SSL_CERT_FILE": str(tmp_path / "ca.pem")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "safely\n", "")
