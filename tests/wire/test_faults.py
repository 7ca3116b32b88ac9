"""What servers and networks do to an answer on its way: the same outcome on every wire."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import msgspec
import pytest

from fakes.asking import Heard, Slept, ask, hear, request
from fakes.model_server import Cut, KeepAlive, ModelServer, Received, Reply, Stall
from fakes.opened import opening
from fakes.speaking import JSON, KEY, WIRES, Speaker, speaking
from remit.base.errors import PreflightFault, ProviderFault
from remit.base.messages import BlockPart, Delta, RetryPart, TextBlock
from remit.base.spec import Protocol
from remit.providers.catalog import PROTOCOLS
from remit.providers.opening import Credential

EVENTS = {"content-type": "text/event-stream"}
OK = [TextBlock("ok")]


@pytest.fixture(params=WIRES)
def speaker(request: pytest.FixtureRequest) -> Speaker:
    protocol: Protocol = request.param
    return speaking(protocol)


def heard_from(speaker: Speaker, *replies: Reply, slept: Slept | None = None, **more: Any) -> tuple[Heard, int]:
    """What one question brought, and how many requests it took."""
    with ModelServer(list(replies)) as server:
        heard = ask(speaker.opened(server, **{"timing": (slept or Slept()).timing, **more}), request())
        return heard, len(server.requests)


def text_of(heard: Heard) -> str:
    return "".join(part.text for part in heard.of(Delta))


# -- cuts --------------------------------------------------------------------------------------------


def within_a_line(event: bytes) -> bytes:
    return event[: event.index(b"data: ") + 9]


def within_a_character(event: bytes) -> bytes:
    before, escaped, _ = event.partition(b"\\u00e9")
    assert escaped
    return before + "\u00e9".encode()[:1]


CUTS: dict[str, Callable[[bytes], bytes]] = {
    "a line": within_a_line,
    "a character": within_a_character,
    "the blank line": lambda event: event.rstrip(b"\r\n") + b"\n",
}
in_the_middle_of = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)


@in_the_middle_of
def test_an_answer_cut_before_its_first_part_is_asked_for_again(
    speaker: Speaker, cut: Callable[[bytes], bytes]
) -> None:
    begin, [piece], _ = speaker.framed(["\u00e9t\u00e9"])
    slept = Slept()
    heard, requests = heard_from(speaker, Reply([*begin, cut(piece), Cut()]), speaker.say("ok"), slept=slept)
    assert (heard.blocks(), requests, slept.waits) == (OK, 2, [2.0])
    assert heard.of(RetryPart)[0].error.startswith("network: ")


@in_the_middle_of
def test_an_answer_cut_after_its_first_part_keeps_what_came(speaker: Speaker, cut: Callable[[bytes], bytes]) -> None:
    begin, [first, second], _ = speaker.framed(["Hello ", "\u00e9t\u00e9"])
    heard, requests = heard_from(speaker, Reply([*begin, first, cut(second), Cut()]), speaker.say("never"))
    assert (text_of(heard), requests) == ("Hello ", 1)
    assert heard.fault is not None and heard.fault.kind == "cut" and "resume" in heard.fault.hint


def test_a_finished_block_is_kept_when_the_next_one_is_cut(speaker: Speaker) -> None:
    steps = speaker.say("I look.", calls=[("c1", "look", '{"place":"here"}')]).steps
    at = next(
        index for index, step in enumerate(steps) if isinstance(step, bytes) and b"look" in step and b"c1" in step
    )
    heard, _ = heard_from(speaker, Reply([*steps[:at], b"data: {", Cut()]))
    assert heard.fault is not None and heard.fault.kind == "cut" and text_of(heard) == "I look."


def test_an_answer_without_its_end_is_no_answer(speaker: Speaker) -> None:
    begin, pieces, _ = speaker.framed(["Hel", "lo"])
    heard, _ = heard_from(speaker, Reply([*begin, *pieces]), speaker.say("never"))
    assert heard.fault is not None and heard.fault.kind == "cut" and text_of(heard) == "Hello"
    again, requests = heard_from(speaker, Reply(begin), speaker.say("ok"))
    assert (again.blocks(), requests) == (OK, 2)


# -- bytes on the way --------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 7])
def test_lines_may_end_as_they_like_and_comments_stand_anywhere(speaker: Speaker, end: bytes, size: int) -> None:
    events = [event.replace(b"\r\n", b"\n") for event in speaker.stream("\u00e9t\u00e9 ", "\U0001f525!")]
    raw = b": hello\n\n:\n" + b": still here\n\n".join(events)
    # As UTF-8, so that pieces also split characters.
    raw = raw.replace(b"\\u00e9", "\u00e9".encode()).replace(b"\\ud83d\\udd25", "\U0001f525".encode())
    raw = raw.replace(b"\n", end)
    heard, _ = heard_from(speaker, Reply([raw[at : at + size] for at in range(0, len(raw), size)]))
    assert heard.fault is None and heard.blocks() == [TextBlock("\u00e9t\u00e9 \U0001f525!")]


def packed(raw: bytes, how: str) -> bytes:
    if how == "gzip":
        return gzip.compress(raw)
    if how == "deflate":
        return zlib.compress(raw)
    pack = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return pack.compress(raw) + pack.flush()


@pytest.mark.parametrize("how", ["gzip", "deflate", "deflate without its header"])
def test_a_compressed_answer_is_read(speaker: Speaker, how: str) -> None:
    raw = packed(b"".join(speaker.stream("pack", "ed")), how)
    headers = {**EVENTS, "content-encoding": how.partition(" ")[0]}
    heard, _ = heard_from(speaker, Reply([raw[:20], raw[20:]], 200, headers))
    assert heard.blocks() == [TextBlock("packed")]


def test_what_cannot_be_decompressed_is_no_answer(speaker: Speaker) -> None:
    heard, requests = heard_from(speaker, Reply([b"not gzip at all"], 200, {**EVENTS, "content-encoding": "gzip"}))
    assert heard.fault is not None and heard.fault.kind == "malformed" and requests == 1


SIZE = 20 * 1024 * 1024


@pytest.mark.heavy
@pytest.mark.parametrize("piece", [1024, 256 * 1024])
def test_a_huge_answer_costs_a_few_times_its_size(speaker: Speaker, piece: int) -> None:
    pieces = ["x" * piece] * (SIZE // piece)
    steps = speaker.stream(*pieces)

    async def last_block(server: ModelServer) -> TextBlock:
        provider = speaker.opened(server)
        stream = provider.stream(request())
        [block] = [part.block async for part in stream if isinstance(part, BlockPart)]
        await provider.close()
        assert isinstance(block, TextBlock)
        return block

    with ModelServer([Reply(steps)]) as server:
        tracemalloc.start()
        try:
            began = time.process_time()
            block = asyncio.run(last_block(server))
            seconds, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert len(block.text) == SIZE
    # Linear in its size, whatever the pieces: a quadratic reader takes minutes, and one that copies, gigabytes.
    assert seconds < 30 and peak < 8 * SIZE


# -- answers that are none ---------------------------------------------------------------------------


def test_an_answer_without_a_body_is_asked_for_again(speaker: Speaker) -> None:
    heard, requests = heard_from(speaker, Reply(), Reply([], 200, JSON), speaker.say("ok"))
    assert (heard.blocks(), requests) == (OK, 3)


ENDS: dict[Protocol, list[bytes]] = {
    "anthropic": [speaking("anthropic").stream("x")[-1]],
    "openai": [b"data: [DONE]\n\n"],
    "openai-responses": [speaking("openai-responses").say().steps[-1]],  # type: ignore[list-item]
    "google": [speaking("google").stream("x")[-1]],
}


def test_an_answer_of_nothing_but_its_end_is_empty(speaker: Speaker) -> None:
    heard, requests = heard_from(speaker, Reply(ENDS[speaker.protocol]))
    assert heard.fault is None and (heard.blocks(), heard.stop(), requests) == ([], "end_turn", 1)


def test_a_web_page_is_no_answer(speaker: Speaker) -> None:
    page = Reply([b"<!doctype html><title>Sign in</title>"], 200, {"content-type": "text/html; charset=utf-8"})
    heard, requests = heard_from(speaker, page)
    assert heard.fault is not None and heard.fault.kind == "malformed" and requests == 1
    assert "web page" in heard.fault.what and "base URL" in heard.fault.hint


def test_a_redirect_is_not_followed_and_names_its_target(speaker: Speaker) -> None:
    with ModelServer([speaker.say("never")]) as elsewhere:
        target = f"{elsewhere.root}/other"
        heard, requests = heard_from(speaker, Reply([], 307, {"location": target}), api_key=KEY)
        assert elsewhere.connections == 0
    assert heard.fault is not None and target in heard.fault.what and requests == 1


BROKEN = {
    "no JSON": b"data: {not json\n\n",
    "JSON that ends too soon": b'data: {"type": "\n\n',
    "no object": b"data: 7\n\n",
    "bytes": b"data: \xff\xfe\x00\n\n",
    "nested 5000 deep": b'data: {"error":' + b"[" * 5000 + b"]" * 5000 + b"}\n\n",
    "nested 5000 deep and open": b"data: " + b'{"a":' * 5000 + b"\n\n",
}


@pytest.mark.parametrize("event", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("begun", [False, True])
def test_an_event_that_is_none_ends_the_answer(speaker: Speaker, event: bytes, begun: bool) -> None:
    begin, [piece], _ = speaker.framed(["Hel"])
    heard, requests = heard_from(speaker, Reply([*begin, *([piece] if begun else []), event]), speaker.say("never"))
    assert heard.fault is not None and requests == 1
    assert heard.fault.kind == ("cut" if begun else "malformed")
    assert ("resume" if begun else "base URL") in heard.fault.hint
    assert text_of(heard) == ("Hel" if begun else "") and len(str(heard.fault)) < 600


def test_a_broken_event_is_shown_without_the_key(speaker: Speaker) -> None:
    heard, _ = heard_from(speaker, Reply([f"data: {{your key {KEY}\n\n".encode()]), api_key=KEY)
    assert heard.fault is not None and KEY not in str(heard.fault) and "[redacted]" in heard.fault.what


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("depth", [100, 300, 450, 600, 900])
def test_arguments_nested_deep_are_an_answer_or_no_answer_and_never_a_crash(speaker: Speaker, depth: int) -> None:
    called = [("c1", "look", nested(depth))]
    for reply in (speaker.say(calls=called), speaker.whole(calls=called)):
        heard, requests = heard_from(speaker, reply)
        assert requests == 1
        if heard.fault is None:
            assert heard.blocks()[0].arguments == nested(depth)
        else:
            assert heard.fault.kind == "malformed" and depth > 100


# -- silence -----------------------------------------------------------------------------------------

KEEP_ALIVES: dict[str, bytes] = {
    "comments": b": keep-alive\n\n\n",
    "pings": b'event: ping\ndata: {"type": "ping"}\n\n',
    "keep-alive events": b'event: keepalive\ndata: {"type":"keepalive","sequence_number":7}\n\n',
}


@pytest.mark.parametrize("line", KEEP_ALIVES.values(), ids=KEEP_ALIVES)
def test_nothing_but_keep_alives_is_silence(speaker: Speaker, line: bytes) -> None:
    begin, [piece], _ = speaker.framed(["Hel"])
    with ModelServer([Reply([*begin, piece, KeepAlive(line, 0.03)])]) as server:
        heard = ask(speaker.opened(server, retry_seconds=0, silence_seconds=0.3), request())
        assert server.disconnected.wait(5)
    assert heard.fault is not None and heard.fault.kind == "cut" and text_of(heard) == "Hel"
    assert "sent nothing for 0.3 s" in heard.fault.what


def test_silence_before_the_answer_and_inside_of_it_has_an_end(speaker: Speaker) -> None:
    for steps in ([Stall()], [*speaker.framed(["x"])[0], Stall()]):
        with ModelServer([Reply(steps)]) as server:
            heard = ask(speaker.opened(server, retry_seconds=0, silence_seconds=0.1), request())
        assert heard.fault is not None and heard.fault.kind == "network"


def test_pieces_that_come_slowly_are_not_silence() -> None:
    speaker = speaking("openai")
    begin, pieces, end = speaker.framed(["a"] * 8)
    wait = threading.Event()

    def slowly() -> Iterator[bytes]:
        for piece in (*begin, *pieces, *end):
            wait.wait(0.05)
            yield piece

    with ModelServer([Reply(slowly())]) as server:  # type: ignore[arg-type]
        heard = ask(speaker.opened(server, retry_seconds=0, silence_seconds=0.3), request())
    assert heard.fault is None and heard.blocks() == [TextBlock("a" * 8)]


def test_a_refusal_that_drips_has_an_end(speaker: Speaker) -> None:
    with ModelServer([Reply([b'{"error": {"message": "slow', KeepAlive(b" ", 0.03)], 400, JSON)]) as server:
        heard = ask(speaker.opened(server, silence_seconds=0.2), request())
        assert server.disconnected.wait(5)
    assert heard.fault is not None and heard.fault.kind == "bad_request" and "slow" in heard.fault.what


# Gemini's answers end with their stream alone.
@pytest.mark.parametrize("protocol", [each for each in WIRES if each != "google"])
def test_silence_after_the_end_does_not_delay_the_answer(protocol: Protocol) -> None:
    speaker = speaking(protocol)
    with ModelServer([Reply([*speaker.stream("x"), Stall()])]) as server:
        began = time.monotonic()
        assert ask(speaker.opened(server, silence_seconds=30), request()).stop() == "end_turn"
    assert time.monotonic() - began < 10


# -- connections -------------------------------------------------------------------------------------


def test_an_endless_answer_that_is_left_leaves_nothing_behind(speaker: Speaker) -> None:
    begin, [piece], _ = speaker.framed(["more "])

    async def leave(server: ModelServer) -> None:
        provider = speaker.opened(server)
        stream = provider.stream(request())
        async for part in stream:
            if isinstance(part, Delta):
                break
        await stream.aclose()
        assert len(asyncio.all_tasks()) == 1
        # Before the provider is closed: the connection of an answer that nobody reads is of no use.
        assert await asyncio.to_thread(server.disconnected.wait, 5)
        await provider.close()

    with ModelServer([Reply([*begin, KeepAlive(piece, 0.01)])]) as server:
        asyncio.run(leave(server))


def test_a_silent_server_can_be_left_at_any_time(speaker: Speaker) -> None:
    async def run(server: ModelServer) -> list[Any]:
        client = speaker.opened(server)
        task = asyncio.create_task(hear(client, request()))
        while not server.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        result = await asyncio.gather(task, return_exceptions=True)
        await client.close()
        return result

    with ModelServer([Reply([Stall()])]) as server:
        assert isinstance(asyncio.run(run(server))[0], asyncio.CancelledError)
        assert server.disconnected.wait(5)


def test_one_connection_serves_all_turns(speaker: Speaker) -> None:
    replies = [speaker.say("a"), speaker.whole("b"), speaker.refusal(500), speaker.say("c")]
    with ModelServer(replies) as server:
        ask(speaker.opened(server, timing=Slept().timing), request(), request(), request())
        assert len(server.requests) == 4 and server.connections == 1


class PlainServer:
    """Answers each connection as `talk` does, from a thread; no HTTP but what `talk` sends."""

    def __init__(self, talk: Callable[[int, socket.socket], None]) -> None:
        self.closed = threading.Semaphore(0)
        """Released with each connection that the server closed."""
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def url(self, speaker: Speaker) -> str:
        root = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        return root if speaker.protocol in ("anthropic", "google") else f"{root}/v1"

    def _serve(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            with connection:
                self._talk(number, connection)
            self.closed.release()


@contextmanager
def plain_server(talk: Callable[[int, socket.socket], None]) -> Iterator[PlainServer]:
    server = PlainServer(talk)
    server._thread.start()
    try:
        yield server
    finally:
        server._listener.shutdown(socket.SHUT_RDWR)
        server._listener.close()
        server._thread.join()


def read_request(connection: socket.socket) -> bool:
    """One request, whole; False where the client has gone."""
    with connection.makefile("rb") as file:
        head = list(iter(file.readline, b"\r\n")) if file.peek(1) else []
        sizes = [int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length")]
        return bool(sizes) and len(file.read(sizes[0])) == sizes[0]


def test_a_server_of_http_1_0_ends_its_answer_with_the_connection(speaker: Speaker) -> None:
    def talk(_: int, connection: socket.socket) -> None:
        assert read_request(connection)
        connection.sendall(
            b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(speaker.stream("old"))
        )

    with plain_server(talk) as server:
        with ModelServer([]) as unused:
            provider = speaker.opened(unused, base_url=server.url(speaker), timing=Slept().timing)
        heard = ask(provider, request(), request())
    assert heard.fault is None and heard.blocks() == [TextBlock("old")] and not heard.of(RetryPart)


def kept_alive(speaker: Speaker) -> bytes:
    body = b"".join(speaker.stream("ok"))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def two_turns(speaker: Speaker, server: PlainServer, between: Callable[[], object]) -> Heard:
    async def run() -> Heard:
        with ModelServer([]) as unused:
            provider = speaker.opened(unused, base_url=server.url(speaker), timing=Slept().timing)
        assert (await hear(provider, request())).blocks() == OK
        await asyncio.to_thread(between)
        heard = await hear(provider, request())
        await provider.close()
        return heard

    return asyncio.run(run())


def test_a_connection_that_the_server_closed_while_idle_is_not_used_again(speaker: Speaker) -> None:
    def talk(_: int, connection: socket.socket) -> None:
        assert read_request(connection)
        connection.sendall(kept_alive(speaker))

    with plain_server(talk) as server:
        heard = two_turns(speaker, server, lambda: server.closed.acquire(timeout=5))
    assert heard.fault is None and heard.blocks() == OK and not heard.of(RetryPart)


def test_a_connection_that_the_server_closes_as_it_is_asked_is_replaced(speaker: Speaker) -> None:
    def talk(number: int, connection: socket.socket) -> None:
        assert read_request(connection)
        connection.sendall(kept_alive(speaker))
        if number == 1:
            read_request(connection)

    with plain_server(talk) as server:
        heard = two_turns(speaker, server, lambda: None)
    assert heard.fault is None and heard.blocks() == OK and len(heard.of(RetryPart)) == 1


def test_a_proxy_of_the_environment_is_asked_instead(speaker: Speaker) -> None:
    path = "/v1" if speaker.protocol.startswith("openai") else ""
    with ModelServer([speaker.say("by proxy")]) as proxy:
        environ = {"HTTP_PROXY": proxy.root}
        heard = ask(speaker.opened(proxy, base_url=f"http://model.invalid{path}", environ=environ), request())
        [received] = proxy.requests
    assert heard.blocks() == [TextBlock("by proxy")]
    assert received.path.startswith("http://model.invalid/") and received.headers["host"] == "model.invalid"


def test_what_needs_no_proxy_is_asked_itself(speaker: Speaker) -> None:
    with ModelServer([speaker.say("ok")]) as server, ModelServer([]) as proxy:
        environ = {"HTTP_PROXY": proxy.root, "NO_PROXY": "localhost,127.0.0.1"}
        assert ask(speaker.opened(server, environ=environ), request()).blocks() == OK
        assert proxy.connections == 0


# -- keys that are renewed ---------------------------------------------------------------------------

OLD, NEW, NEWEST = "old-key-0123456789", "new-key-0123456789", "newest-key-0123456789"


def renewing(speaker: Speaker, server: ModelServer, renew: Callable[[], str], **keys: Any) -> Any:
    """A provider whose key comes from a token command."""
    plain = opening("m", protocol=speaker.protocol, base_url=speaker.base_url(server), **keys)
    credential = Credential(OLD, "the token command", renew)
    module = import_module(f"remit.providers.{PROTOCOLS[speaker.protocol]}")
    return module.open_provider(msgspec.structs.replace(plain, credential=credential))


def key_of(received: Received) -> str:
    names = ("authorization", "x-api-key", "x-goog-api-key")
    [value] = [received.headers[name] for name in names if name in received.headers]
    return value.removeprefix("Bearer ")


@pytest.mark.parametrize("retry_seconds", [300, 0])
def test_a_key_that_is_no_longer_taken_is_renewed_once(speaker: Speaker, retry_seconds: int) -> None:
    slept, fetched = Slept(), iter([NEW])
    refused = speaker.refusal(401, message=f"{OLD} has expired")
    with ModelServer([refused, speaker.say("ok"), speaker.say("ok")]) as server:
        provider = renewing(speaker, server, lambda: next(fetched), timing=slept.timing, retry_seconds=retry_seconds)
        heard = ask(provider, request(), request())
        assert heard.fault is None and heard.blocks() == OK
        assert list(map(key_of, server.requests)) == [OLD, NEW, NEW]
    assert slept.waits == [0.0]


def test_a_renewal_is_told_without_the_keys(speaker: Speaker) -> None:
    with ModelServer([speaker.refusal(401, message=f"{OLD} or {NEW}?"), speaker.say("ok")]) as server:
        heard = ask(renewing(speaker, server, lambda: NEW), request())
    assert heard.of(RetryPart) == [RetryPart(1, 7, 0.0, 401, "auth: HTTP 401: [redacted] or [redacted]?")]


def test_a_new_key_that_is_not_taken_either_ends_it(speaker: Speaker) -> None:
    fetched: list[str] = []

    def renew() -> str:
        fetched.append(NEW)
        return NEW

    with ModelServer(lambda _: speaker.refusal(401, message=f"neither {OLD} nor {NEW}")) as server:
        heard = ask(renewing(speaker, server, renew), request())
        assert list(map(key_of, server.requests)) == [OLD, NEW]
    assert fetched == [NEW] and len(heard.of(RetryPart)) == 1
    assert heard.fault is not None and heard.fault.kind == "auth" and "the token command" in heard.fault.hint
    assert "neither [redacted] nor [redacted]" in heard.fault.what


def test_every_key_that_was_ever_used_stays_a_secret(speaker: Speaker) -> None:
    fetched = iter([NEW, NEWEST])
    expired, echo = speaker.refusal(401), speaker.refusal(400, message=f"{OLD} {NEW} {NEWEST}")
    with ModelServer([expired, speaker.say("ok"), expired, echo]) as server:
        heard = ask(renewing(speaker, server, lambda: next(fetched)), request(), request())
        assert list(map(key_of, server.requests)) == [OLD, NEW, NEW, NEWEST]
    assert heard.fault is not None and "HTTP 400: [redacted] [redacted] [redacted]" in heard.fault.what


def test_the_same_key_again_is_no_new_one(speaker: Speaker) -> None:
    with ModelServer(lambda _: speaker.refusal(401)) as server:
        heard = ask(renewing(speaker, server, lambda: OLD), request())
        assert len(server.requests) == 1
    assert heard.fault is not None and heard.fault.kind == "auth" and not heard.of(RetryPart)


def test_a_renewal_that_fails_ends_the_question_as_a_wrong_key(speaker: Speaker) -> None:
    def renew() -> str:
        raise PreflightFault(
            "the token command of p, login, ended with exit code 1", hint="run it by hand", kind="no_key"
        )

    with ModelServer(lambda _: speaker.refusal(401)) as server:
        heard = ask(renewing(speaker, server, renew), request())
    assert isinstance(heard.fault, ProviderFault) and heard.fault.kind == "auth"
    assert "exit code 1" in heard.fault.what and heard.fault.hint == "run it by hand"
