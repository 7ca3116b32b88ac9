"""What an answer of 20,000 deltas costs, against splitting the same bytes into events and `json.loads` of each.

    python tests/bench/bench_deltas.py [ROUNDS]

CPU of this process, medians of interleaved rounds, for every wire, with the events as its servers send
them, in HTTP chunks of 16 KiB and of one event. `json`: the plain loop, in milliseconds. The other figures
are multiples of it:

    decoded   the bytes through SseReader and the wire's decoder
    whole     the same through `provider.stream` into an Answer, as a turn takes it in, over the loopback;
              what it costs to receive the bytes is taken off, and shown apart

Figure wanted: at most 1.5. Gemini sends no deltas of calls: there it is 20,000 whole calls, each a block
of its own that is checked and kept, which the figure is not about.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes import model_server, speak_anthropic, speak_gemini, speak_responses
from fakes.model_server import Reply, delta, stream, usage
from fakes.opened import opened
from remit.base.messages import BlockPart, Delta, Message, Request, StopPart, TextBlock, UsagePart
from remit.base.spec import Protocol
from remit.engine.answer import Answer
from remit.providers.http import HttpClient
from remit.providers.sse import SseReader

ROUNDS = 7
DELTAS = 20_000
PIECE_BYTES = 16 * 1024
TARGET = 1.5

WORDS = [f"word {number % 977} " for number in range(DELTAS)]
ARGUMENTS = ['{"text": "', *WORDS[2:], '"}']


def chat_calls() -> Reply:
    function = {"name": "write", "arguments": ""}
    first = delta({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
    pieces = (delta({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in ARGUMENTS)
    return stream(first, *pieces, delta(finish_reason="tool_calls"), usage())


def chat_thoughts() -> Reply:
    thoughts = (delta({"reasoning_content": piece}) for piece in WORDS)
    return stream(*thoughts, delta({"content": "Done."}), delta(finish_reason="stop"), usage())


def anthropic(block: list[dict[str, Any]], stop_reason: str = "end_turn") -> Reply:
    said = speak_anthropic
    return said.stream(said.start(), said.PING, block, said.text_block(1, "Done."), said.end(stop_reason))


def responses(item: dict[str, Any], pieces: Sequence[str]) -> Reply:
    return speak_responses.stream(speak_responses.message_item("Well."), item, pieces=pieces)


def gemini_calls() -> Reply:
    said = speak_gemini
    chunks = (said.chunk(said.call("write", json.dumps({"text": word}))) for word in WORDS)
    return said.stream(*chunks, said.chunk({"text": ""}, finish="STOP", tokens=said.usage()))


ANSWERS: dict[tuple[Protocol, str], Callable[[], Reply]] = {
    ("anthropic", "text"): lambda: speak_anthropic.text(*WORDS),
    ("anthropic", "call"): lambda: anthropic(speak_anthropic.call_block(0, "call_1", "write", *ARGUMENTS), "tool_use"),
    ("anthropic", "thinking"): lambda: anthropic(speak_anthropic.thinking_block(0, "EqQBCgIYAhIM", *WORDS)),
    ("openai", "text"): lambda: model_server.text(*WORDS),
    ("openai", "call"): chat_calls,
    ("openai", "thinking"): chat_thoughts,
    ("openai-responses", "text"): lambda: speak_responses.text(*WORDS),
    ("openai-responses", "call"): lambda: responses(
        speak_responses.call_item("call_1", "write", "".join(ARGUMENTS)), ARGUMENTS
    ),
    ("openai-responses", "thinking"): lambda: responses(speak_responses.reasoning_item("".join(WORDS)), WORDS),
    ("google", "text"): lambda: speak_gemini.text(*WORDS),
    ("google", "call"): gemini_calls,
    ("google", "thinking"): lambda: speak_gemini.thinking(*WORDS),
}

DECODERS = {
    "anthropic": "anthropic_answers.MessagesDecoder",
    "openai": "openai_chat_decoder.ChatDecoder",
    "openai-responses": "openai_responses_decoder.ResponsesDecoder",
    "google": "gemini.GeminiDecoder",
}


def events_of(protocol: Protocol, kind: str) -> list[bytes]:
    return [step for step in ANSWERS[protocol, kind]().steps if isinstance(step, bytes)]


def in_pieces(raw: bytes) -> list[bytes]:
    return [raw[start : start + PIECE_BYTES] for start in range(0, len(raw), PIECE_BYTES)]


# -- the ways ----------------------------------------------------------------------------------------


def plain(raw: bytes) -> None:
    """The measure."""
    for event in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        for line in event.split(b"\n"):
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                json.loads(line[6:])


def decoded(protocol: Protocol, pieces: Sequence[bytes]) -> None:
    module, _, name = DECODERS[protocol].partition(".")
    decoder = getattr(import_module(f"remit.providers.{module}"), name)()
    reader, count = SseReader(), 0
    for piece in pieces:
        for event in reader.feed(piece):
            count += len(decoder.feed(event))
    count += len(decoder.end())
    assert count > DELTAS


async def received(base_url: str) -> None:
    """The bytes, and nothing done with them."""
    client = HttpClient(base_url, {}, {}, keyed=False, connect_seconds=5, silence_seconds=30)
    async with client.post("", b"{}", {}, "") as sent, aclosing((await sent.response()).chunks()) as chunks:
        async for _ in chunks:
            pass
    await client.close()


async def whole(protocol: Protocol, base_url: str) -> None:
    """The bytes as a turn takes them in."""
    provider = opened(protocol=protocol, base_url=base_url)
    answer = Answer(1, ())
    async with aclosing(provider.stream(Request("m", "", (Message("user", (TextBlock("Go"),)),)))) as parts:
        async for part in parts:
            match part:
                case Delta():
                    answer.grow(part)
                case BlockPart():
                    answer.add(part)
                case UsagePart(usage=told):
                    answer.usage = told
                case StopPart(reason=reason):
                    answer.stop = reason
    await provider.close()
    assert answer.stop and answer.blocks


# -- the server, in a process of its own -----------------------------------------------------------


def chunked(pieces: Sequence[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class Handler(StreamRequestHandler):
    """Answers `/PROTOCOL/KIND/PIECES/...`."""

    bodies: dict[tuple[str, ...], bytes]

    def handle(self) -> None:
        while line := self.rfile.readline():
            size = 0
            while (header := self.rfile.readline().lower()) not in (b"\r\n", b""):
                if header.startswith(b"content-length:"):
                    size = int(header.partition(b":")[2])
            self.rfile.read(size)
            body = self.bodies[tuple(line.decode().split()[1].split("/")[1:4])]
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            self.wfile.write(head + body)


def serve() -> None:
    """Prints its port, and serves until stdin closes."""
    Handler.bodies = {}
    for protocol, kind in ANSWERS:
        events = events_of(protocol, kind)
        Handler.bodies[protocol, kind, "large"] = chunked(in_pieces(b"".join(events)))
        Handler.bodies[protocol, kind, "small"] = chunked(events)
    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


# -- the figures -------------------------------------------------------------------------------------


def measured(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median of each case in milliseconds. The first round warms up and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds + 1):
        for name, case in cases.items():
            began = time.process_time()
            case()
            taken[name].append(time.process_time() - began)
    return {name: statistics.median(seconds[1:]) * 1000 for name, seconds in taken.items()}


def figures(root: str, protocol: Protocol, kind: str, rounds: int) -> Iterator[str]:
    events = events_of(protocol, kind)
    raw = b"".join(events)
    cases: dict[str, Callable[[], object]] = {"json": lambda: plain(raw)}
    for size, pieces in (("large", in_pieces(raw)), ("small", events)):
        url = f"{root}/{protocol}/{kind}/{size}"
        cases[f"decoded {size}"] = lambda pieces=pieces: decoded(protocol, pieces)
        cases[f"received {size}"] = lambda url=url: asyncio.run(received(url))
        cases[f"whole {size}"] = lambda url=url: asyncio.run(whole(protocol, f"{url}/v1"))
    took = measured(cases, rounds)
    yield f"{len(raw) / 1e6:5.1f} {took['json']:6.0f}"
    for size in ("large", "small"):
        own = took[f"whole {size}"] - took[f"received {size}"]
        for milliseconds in (took[f"decoded {size}"], own, took[f"received {size}"]):
            yield f"{milliseconds / took['json']:9.2f}"


def main(rounds: int) -> None:
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None and server.stdin is not None
    try:
        root = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        print(f"{DELTAS:,} deltas, medians of {rounds} rounds; multiples of json (wanted: {TARGET})")
        print(f"{'':41}{'chunks of 16 KiB':^30}{'one event a chunk':^30}")
        print(f"{'wire':17} {'deltas':9} {'MB':>5} {'json':>6}" + f" {'decoded':>9} {'whole':>9} {'received':>9}" * 2)
        for protocol, kind in ANSWERS:
            shown = " ".join(figures(root, protocol, kind, rounds))
            print(f"{protocol:17} {kind:9} {shown}", flush=True)
    finally:
        server.stdin.close()
        server.wait(timeout=10)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
