from __future__ import annotations

import asyncio
import gzip
import socket
from email.utils import formatdate
from typing import Any

import pytest

from fakes.asking import START, Heard, Slept, ask, hear, request
from fakes.model_server import Cut, KeepAlive, ModelServer, Reply, Stall, delta, event, refusal, stream, text
from fakes.opened import opened
from remit.base.errors import ProviderBusy, ProviderFault
from remit.base.messages import Delta, RetryPart, TextBlock
from remit.providers.wire import MAX_ATTEMPTS

KEY = "sk-test-0123456789abcdef"


def provider(server: ModelServer, slept: Slept | None = None, **more: Any) -> Any:
    timing = slept.timing if slept else None
    return opened("m", base_url=server.url, api_key=KEY, key_source="OPENAI_API_KEY", timing=timing, **more)


def heard_from(replies: list[Reply], slept: Slept | None = None, **more: Any) -> Heard:
    with ModelServer(replies) as server:
        heard = ask(provider(server, slept or Slept(), **more), request())
        heard_requests[:] = [received.raw for received in server.requests]
    return heard


heard_requests: list[bytes] = []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_failure_that_may_pass_is_tried_again(status: int) -> None:
    slept = Slept()
    heard = heard_from([refusal(status, message="wait"), text("ok")], slept)
    assert heard.blocks() == [TextBlock("ok")]
    kind = "rate_limited" if status == 429 else "overloaded"
    assert heard[0] == RetryPart(1, MAX_ATTEMPTS - 1, 2.0, status, f"{kind}: HTTP {status}: wait")
    assert slept.waits == [2.0]
    assert heard_requests[0] == heard_requests[1]


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {}, "bad_request"),
        (401, {}, "auth"),
        (402, {}, "quota"),
        (403, {}, "auth"),
        (404, {}, "not_found"),
        (413, {}, "context_overflow"),
        (418, {}, "bad_request"),
        (422, {}, "bad_request"),
        (301, {}, "bad_request"),
        (400, {"code": "context_length_exceeded"}, "context_overflow"),
        (400, {"type": "exceed_context_size_error"}, "context_overflow"),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, "context_overflow"),
        (400, {"message": "prompt is too long: 210000 tokens"}, "context_overflow"),
        (400, {"code": "content_filter"}, "refused"),
        (400, {"code": "model_not_found"}, "not_found"),
        (429, {"code": "insufficient_quota"}, "quota"),
    ],
)
def test_a_failure_that_no_wait_mends_ends_at_once(status: int, error: dict[str, str], kind: str) -> None:
    slept = Slept()
    heard = heard_from([refusal(status, **{"message": "no", **error})], slept)
    assert heard.fault is not None and not isinstance(heard.fault, ProviderBusy)
    assert heard.fault.kind == kind
    assert f"HTTP {status}" in heard.fault.what
    assert list(heard) == [] and slept.waits == [] and len(heard_requests) == 1


def test_the_server_may_say_that_trying_again_is_useless() -> None:
    heard = heard_from([refusal(429, {"x-should-retry": "false"})])
    assert isinstance(heard.fault, ProviderBusy) and len(heard_requests) == 1


def test_waits_double_up_to_their_cap_and_end_as_busy() -> None:
    slept = Slept()
    heard = heard_from([refusal(529)] * 20, slept)
    assert slept.waits == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert isinstance(heard.fault, ProviderBusy)
    assert (heard.fault.kind, heard.fault.reset_at) == ("overloaded", "")
    assert len(heard_requests) == MAX_ATTEMPTS == 8
    assert [part.attempt for part in heard.of(RetryPart)] == [1, 2, 3, 4, 5, 6, 7]
    assert "tried 8 times" in heard.fault.what


def test_chance_shortens_a_wait_by_a_quarter_at_most() -> None:
    slept = Slept(chance=1.0)
    heard_from([refusal(500), refusal(500), text("ok")], slept)
    assert slept.waits == [1.5, 3.0]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7.5"}, 7.5),
        ({"retry-after": formatdate(START + 9, usegmt=True)}, 9.0),
        ({"retry-after": formatdate(START - 9, usegmt=True)}, 2.0),
        ({"retry-after": "0"}, 2.0),
        ({"retry-after": "1"}, 2.0),
        ({"retry-after": "soon"}, 2.0),
        ({"retry-after": "-5"}, 2.0),
        ({"retry-after-ms": "4500"}, 4.5),
        ({"retry-after-ms": "4500", "retry-after": "5"}, 4.5),
        ({"x-ratelimit-reset": "12"}, 12.0),
        ({"x-ratelimit-reset": str(int(START) + 12)}, 12.0),
        ({"x-ratelimit-reset": str(int(START + 12) * 1000)}, 12.0),
        ({"x-ratelimit-reset-requests": "1m3s", "x-ratelimit-remaining-requests": "0"}, 63.0),
        ({"x-ratelimit-reset-tokens": "6500ms", "x-ratelimit-remaining-tokens": "0"}, 6.5),
        ({"x-ratelimit-reset-tokens": "90s", "x-ratelimit-remaining-tokens": "12"}, 2.0),
    ],
)
def test_the_servers_hint_is_a_lower_bound(headers: dict[str, str], wait: float) -> None:
    slept = Slept()
    heard = heard_from([refusal(429, headers), text("ok")], slept)
    assert heard.blocks() == [TextBlock("ok")]
    assert slept.waits == [wait]


def test_a_tiny_hint_does_not_burn_the_attempts() -> None:
    slept = Slept()
    heard_from([refusal(429, {"retry-after": "1"})] * 10, slept)
    assert sum(slept.waits) == 120.0


def test_a_hint_above_the_budget_ends_as_busy_with_the_reset_time() -> None:
    slept = Slept()
    heard = heard_from([refusal(429, {"retry-after": "3600"}), text("never")], slept)
    assert isinstance(heard.fault, ProviderBusy)
    assert heard.fault.reset_at == "2027-01-15T09:00:00Z"
    assert "2027-01-15T09:00:00Z" in heard.fault.hint
    assert slept.waits == [] and len(heard_requests) == 1


def test_an_absurd_hint_is_a_year() -> None:
    heard = heard_from([refusal(429, {"retry-after": "999999999999999"})])
    assert isinstance(heard.fault, ProviderBusy) and heard.fault.reset_at == "2028-01-16T08:00:00Z"


def test_the_budget_itself_may_be_waited_and_not_a_second_more() -> None:
    assert heard_from([refusal(429, {"retry-after": "300"}), text("ok")]).blocks() == [TextBlock("ok")]
    assert isinstance(heard_from([refusal(429, {"retry-after": "301"}), text("ok")]).fault, ProviderBusy)


def test_the_total_of_all_waits_is_bounded() -> None:
    slept = Slept()
    heard = heard_from([refusal(503, {"retry-after": "100"})] * 9, slept, retry_seconds=250)
    assert slept.waits == [100.0, 100.0]
    assert isinstance(heard.fault, ProviderBusy) and heard.fault.reset_at == "2027-01-15T08:05:00Z"


def test_without_a_budget_nothing_is_tried_again() -> None:
    heard = heard_from([refusal(500), text("never")], retry_seconds=0)
    assert isinstance(heard.fault, ProviderBusy) and len(heard_requests) == 1


def test_a_refused_connection_is_tried_again_and_ends_as_network() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        slept = Slept()
        client = opened("m", base_url=f"http://127.0.0.1:{port}/v1", timing=slept.timing)
        heard = ask(client, request())
    assert heard.fault is not None and not isinstance(heard.fault, ProviderBusy)
    assert heard.fault.kind == "network"
    assert f"http://127.0.0.1:{port}/v1" in heard.fault.hint
    assert len(slept.waits) == 7
    assert heard.of(RetryPart)[0].status is None


@pytest.mark.parametrize(
    "steps",
    [
        [Cut()],
        [event(delta())[:20], Cut()],
        [event(delta({"role": "assistant"})), b": hold on\n\n", Cut()],
        [event(delta({"content": "\u00e9"})).partition(b"\\u00e9")[0] + b"\xc3", Cut()],
    ],
)
def test_a_stream_cut_before_its_first_part_is_tried_again(steps: list[Any]) -> None:
    slept = Slept()
    assert heard_from([Reply(steps), text("ok")], slept).blocks() == [TextBlock("ok")]
    assert slept.waits == [2.0]


def test_a_stream_that_ends_cleanly_without_an_answer_is_tried_again() -> None:
    assert heard_from([stream(delta(), done=False), text("ok")]).blocks() == [TextBlock("ok")]


def test_a_stream_cut_after_its_first_part_keeps_what_came() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "t", "arguments": '{"a'}}
    broken = stream(delta({"content": "Hello"}), delta({"tool_calls": [call]}), Cut())
    slept = Slept()
    heard = heard_from([broken, text("never")], slept)
    assert heard.fault is not None and heard.fault.kind == "cut"
    assert heard.blocks() == [TextBlock("Hello")]
    assert slept.waits == [] and len(heard_requests) == 1


def test_parts_in_the_same_chunk_as_an_error_count_as_arrived() -> None:
    both = event(delta({"content": "Hel"})) + event({"error": {"message": "boom", "type": "server_error"}})
    heard = heard_from([Reply([both]), text("never")])
    assert heard.of(Delta) == [Delta(0, "text", "Hel")]
    assert heard.fault is not None and heard.fault.kind == "cut" and "boom" in heard.fault.what


@pytest.mark.parametrize(
    ("error", "kind", "busy"),
    [
        ({"message": "slow down", "type": "rate_limit_error"}, "rate_limited", True),
        ({"message": "slow down", "code": 429}, "rate_limited", True),
        ({"message": "sorry", "type": "server_error"}, "overloaded", True),
        ({"message": "sorry", "code": 502}, "overloaded", True),
        ("sorry", "overloaded", True),
        ({"message": "bad key", "code": "invalid_api_key"}, "auth", False),
        ({"message": "context window full"}, "context_overflow", False),
        ({"message": "bad", "code": 400}, "bad_request", False),
    ],
)
def test_an_error_object_in_the_stream_is_the_error_it_names(error: Any, kind: str, busy: bool) -> None:
    heard = heard_from([stream({"error": error})], retry_seconds=0)
    assert heard.fault is not None and heard.fault.kind == kind
    assert isinstance(heard.fault, ProviderBusy) == busy


def test_an_event_named_error_is_one() -> None:
    named = Reply([b'event: error\ndata: {"message": "overheated"}\n\n'])
    heard = heard_from([named], retry_seconds=0)
    assert heard.fault is not None and "overheated" in heard.fault.what


def test_silence_has_an_end() -> None:
    with ModelServer([Reply([Stall()])]) as server:
        heard = ask(provider(server, retry_seconds=0, silence_seconds=0.1), request())
    assert heard.fault is not None and heard.fault.kind == "network"


def test_comments_that_keep_the_connection_alive_are_silence_too() -> None:
    with ModelServer([Reply([KeepAlive(b": ping\n\n", 0.02)])]) as server:
        heard = ask(provider(server, retry_seconds=0, silence_seconds=0.2), request())
    assert heard.fault is not None and heard.fault.kind == "network"
    assert "sent nothing for 0.2 s" in heard.fault.what


def test_silence_after_the_last_event_does_not_delay_the_answer() -> None:
    with ModelServer(
        [stream(delta({"content": "x"}), delta(finish_reason="stop"), event(b"[DONE]"), Stall())]
    ) as server:
        assert ask(provider(server, silence_seconds=30), request()).stop() == "end_turn"


def test_a_silent_server_can_be_left_at_any_time() -> None:
    async def run(server: ModelServer) -> list[Any]:
        client = provider(server)
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


def test_one_connection_serves_all_turns() -> None:
    with ModelServer([text("a"), text("b"), refusal(500), text("c")]) as server:
        ask(provider(server, Slept()), request(), request(), request())
        assert len(server.requests) == 4 and server.connections == 1


def test_a_compressed_answer_is_read() -> None:
    raw = b"".join(step for step in text("packed").steps if isinstance(step, bytes))
    packed = gzip.compress(raw)
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    assert heard_from([Reply([packed[:20], packed[20:]], 200, headers)]).blocks() == [TextBlock("packed")]
    broken = heard_from([Reply([b"not gzip at all"], 200, headers)])
    assert broken.fault is not None and broken.fault.kind == "malformed"


def test_a_web_page_is_no_answer() -> None:
    page = Reply([b"<html>"], 200, {"content-type": "text/html; charset=utf-8"})
    heard = heard_from([page])
    assert heard.fault is not None and heard.fault.kind == "malformed" and "base URL" in heard.fault.hint


def test_errors_are_quoted_on_one_short_line_without_the_key() -> None:
    heard = heard_from([refusal(401, message=f"Incorrect key {KEY}\n\nprovided " + "x" * 500)])
    assert heard.fault is not None
    assert KEY not in str(heard.fault) and "[redacted]" in heard.fault.what
    assert "\n" not in heard.fault.what and len(heard.fault.what) < 400
    assert "OPENAI_API_KEY" in heard.fault.hint


@pytest.mark.parametrize(
    "body",
    [
        b'{"detail": "broken thing"}',
        b'{"error": "broken thing"}',
        b"broken thing",
        b'[{"error": {"message": "broken thing"}}]',
        b'{"error": {"error": {"message": "broken thing"}}}',
        b'{"message": "broken thing"}',
    ],
)
def test_every_shape_of_error_body_is_understood(body: bytes) -> None:
    heard = heard_from([Reply([body], 400, {"content-type": "application/json"})])
    assert heard.fault is not None and heard.fault.what == "openai: HTTP 400: broken thing"


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"error": {}}', b"\xff\xfe", b"7"])
def test_an_odd_error_body_breaks_nothing(body: bytes) -> None:
    heard = heard_from([Reply([body], 400, {"content-type": "application/json"})] if body else [Reply([], 400)])
    assert heard.fault is not None and heard.fault.kind == "bad_request"


def test_a_redirect_is_not_followed_and_names_its_target() -> None:
    moved = Reply([], 307, {"location": "http://127.0.0.1:1/elsewhere"})
    heard = heard_from([moved])
    assert heard.fault is not None and "http://127.0.0.1:1/elsewhere" in heard.fault.what


def test_the_fault_of_a_broken_answer_says_what_to_do() -> None:
    heard = heard_from([stream(delta({"content": "a"}), Cut())])
    assert isinstance(heard.fault, ProviderFault) and "resume" in heard.fault.hint
