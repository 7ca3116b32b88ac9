"""When a request is tried again, how long that waits, and how it ends: the same on every wire."""

from __future__ import annotations

import socket
from email.utils import formatdate
from typing import Any

import pytest

from fakes.asking import START, Heard, Slept, ask, request
from fakes.model_server import ModelServer, Received, Reply, Stall, delta, event, refusal, stream, text
from fakes.speaking import KEY, WIRES, Speaker, speaking
from remit.base.errors import ProviderBusy
from remit.base.messages import Delta, RetryPart, TextBlock
from remit.base.spec import Protocol
from remit.providers.wire import MAX_ATTEMPTS

OK = [TextBlock("ok")]


@pytest.fixture(params=WIRES)
def speaker(request: pytest.FixtureRequest) -> Speaker:
    protocol: Protocol = request.param
    return speaking(protocol)


CHAT = speaking("openai")


def heard_from(speaker: Speaker, replies: list[Reply], slept: Slept | None = None, **more: Any) -> Heard:
    """What one question brought. The bytes of its requests are in `heard_requests`."""
    with ModelServer(replies) as server:
        timing = (slept or Slept()).timing
        heard = ask(speaker.opened(server, api_key=KEY, key_source="THE_KEY", timing=timing, **more), request())
        heard_requests[:] = [received.raw for received in server.requests]
    return heard


heard_requests: list[bytes] = []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_failure_that_may_pass_is_tried_again(speaker: Speaker, status: int) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(status, message="wait"), speaker.say("ok")], slept)
    assert heard.blocks() == OK
    kind = "rate_limited" if status == 429 else "overloaded"
    assert heard[0] == RetryPart(1, MAX_ATTEMPTS - 1, 2.0, status, f"{kind}: HTTP {status}: wait")
    assert slept.waits == [2.0]
    assert heard_requests[0] == heard_requests[1]


def assert_ends_at_once(heard: Heard, slept: Slept, status: int, kind: str) -> None:
    assert heard.fault is not None and not isinstance(heard.fault, ProviderBusy)
    assert heard.fault.kind == kind
    assert f"HTTP {status}" in heard.fault.what
    assert list(heard) == [] and slept.waits == [] and len(heard_requests) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (402, "quota"),
        (403, "auth"),
        (404, "not_found"),
        (413, "context_overflow"),
        (418, "bad_request"),
        (422, "bad_request"),
        (301, "bad_request"),
    ],
)
def test_a_failure_that_no_wait_mends_ends_at_once(speaker: Speaker, status: int, kind: str) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(status)], slept)
    assert_ends_at_once(heard, slept, status, kind)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"code": "context_length_exceeded"}, "context_overflow"),
        (400, {"type": "exceed_context_size_error"}, "context_overflow"),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, "context_overflow"),
        (400, {"message": "prompt is too long: 210000 tokens"}, "context_overflow"),
        (400, {"code": "content_filter"}, "refused"),
        (400, {"code": "model_not_found"}, "not_found"),
        (429, {"code": "insufficient_quota"}, "quota"),
        (
            400,
            {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
            },
            "quota",
        ),
        (403, {"message": "Insufficient balance"}, "quota"),
        (429, {"message": "Your account has insufficient funds"}, "quota"),
        (429, {"message": "You exceeded your current quota, please check your plan and billing details."}, "quota"),
        (403, {"message": "Request had insufficient authentication scopes."}, "auth"),
    ],
)
def test_words_that_say_more_than_the_status(status: int, error: dict[str, str], kind: str) -> None:
    slept = Slept()
    heard = heard_from(CHAT, [refusal(status, **{"message": "no", **error})], slept)
    assert_ends_at_once(heard, slept, status, kind)


OVERFLOWS: dict[Protocol, str] = {
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "openai": "This model's maximum context length is 8192 tokens.",
    "openai-responses": "Your input exceeds the context window of this model.",
    "google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
}


def test_each_wire_says_in_its_own_words_that_the_request_is_too_long(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(400, message=OVERFLOWS[speaker.protocol])], slept)
    assert_ends_at_once(heard, slept, 400, "context_overflow")


def test_the_server_may_say_that_trying_again_is_useless(speaker: Speaker) -> None:
    heard = heard_from(speaker, [speaker.refusal(429, {"x-should-retry": "false"})])
    assert isinstance(heard.fault, ProviderBusy) and len(heard_requests) == 1


def test_waits_double_up_to_their_cap_and_end_as_busy(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(529)] * 20, slept)
    assert slept.waits == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert isinstance(heard.fault, ProviderBusy)
    assert (heard.fault.kind, heard.fault.reset_at) == ("overloaded", "")
    assert len(heard_requests) == MAX_ATTEMPTS == 8
    assert [part.attempt for part in heard.of(RetryPart)] == [1, 2, 3, 4, 5, 6, 7]
    assert "tried 8 times" in heard.fault.what


def test_a_storm_that_passes_in_time(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(529)] * 7 + [speaker.say("ok")], slept)
    assert heard.fault is None and heard.blocks() == OK and len(slept.waits) == 7


def test_chance_shortens_a_wait_by_a_quarter_at_most() -> None:
    slept = Slept(chance=1.0)
    heard_from(CHAT, [refusal(500), refusal(500), text("ok")], slept)
    assert slept.waits == [1.5, 3.0]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 2.0),
        ({"retry-after": formatdate(START + 9, usegmt=True)}, 9.0),
        ({"retry-after-ms": "4500", "retry-after": "5"}, 4.5),
    ],
    ids=["seconds", "zero", "date", "milliseconds"],
)
def test_every_wire_takes_the_servers_hint(speaker: Speaker, headers: dict[str, str], wait: float) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(429, headers), speaker.say("ok")], slept)
    assert heard.blocks() == OK and slept.waits == [wait]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7.5"}, 7.5),
        ({"retry-after": formatdate(START - 9, usegmt=True)}, 2.0),
        ({"retry-after": "1"}, 2.0),
        ({"retry-after": "soon"}, 2.0),
        ({"retry-after": "-5"}, 2.0),
        ({"retry-after-ms": "4500"}, 4.5),
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
    heard = heard_from(CHAT, [refusal(429, headers), text("ok")], slept)
    assert heard.blocks() == OK
    assert slept.waits == [wait]


def test_a_tiny_hint_does_not_burn_the_attempts() -> None:
    slept = Slept()
    heard_from(CHAT, [refusal(429, {"retry-after": "1"})] * 10, slept)
    assert sum(slept.waits) == 120.0


def test_a_hint_above_the_budget_ends_as_busy_with_the_reset_time(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(429, {"retry-after": "3600"}), speaker.say("never")], slept)
    assert isinstance(heard.fault, ProviderBusy)
    assert heard.fault.reset_at == "2027-01-15T09:00:00Z"
    assert "2027-01-15T09:00:00Z" in heard.fault.hint
    assert slept.waits == [] and len(heard_requests) == 1


YEAR = 366 * 86400


@pytest.mark.parametrize(
    ("seconds", "reset_at"), [(str(YEAR), "2028-01-16T08:00:00Z"), (str(YEAR + 1), ""), ("9" * 20, ""), ("9" * 400, "")]
)
def test_a_hint_of_any_length_is_never_sooner_and_an_absurd_one_is_no_date(seconds: str, reset_at: str) -> None:
    slept = Slept()
    heard = heard_from(CHAT, [refusal(429, {"retry-after": seconds}), text("never")], slept)
    assert isinstance(heard.fault, ProviderBusy) and heard.fault.reset_at == reset_at
    assert slept.waits == [] and len(heard_requests) == 1 and heard.fault.hint


@pytest.mark.parametrize("seconds", ["1e9", "+5", "inf", "nan"])
def test_a_hint_that_is_no_number_of_seconds_is_passed_over(seconds: str) -> None:
    slept = Slept()
    heard_from(CHAT, [refusal(429, {"retry-after": seconds}), text("ok")], slept)
    assert slept.waits == [2.0]


def test_the_hint_of_a_stream_that_fails_before_its_first_part_counts(speaker: Speaker) -> None:
    slept = Slept()
    failing = speaker.overloaded()
    failing = failing._replace(headers={**failing.headers, "retry-after": "9"})
    assert heard_from(speaker, [failing, speaker.say("ok")], slept).blocks() == OK
    assert slept.waits == [9.0]


def test_the_budget_itself_may_be_waited_and_not_a_second_more(speaker: Speaker) -> None:
    exact = [speaker.refusal(429, {"retry-after": "300"}), speaker.say("ok")]
    assert heard_from(speaker, exact).blocks() == OK
    over = [speaker.refusal(429, {"retry-after": "301"}), speaker.say("never")]
    assert isinstance(heard_from(speaker, over).fault, ProviderBusy)


def test_the_total_of_all_waits_is_bounded(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.refusal(503, {"retry-after": "100"})] * 9, slept, retry_seconds=250)
    assert slept.waits == [100.0, 100.0]
    assert isinstance(heard.fault, ProviderBusy) and heard.fault.reset_at == "2027-01-15T08:05:00Z"


def test_words_of_a_spent_quota_that_will_be_filled_again_are_a_limit() -> None:
    message = "You exceeded your current quota, please check your plan and billing details."
    slept = Slept()
    heard = heard_from(CHAT, [refusal(429, {"retry-after": "7"}, message), text("ok")], slept)
    assert heard.blocks() == OK and slept.waits == [7.0]


def test_without_a_budget_nothing_is_tried_again(speaker: Speaker) -> None:
    heard = heard_from(speaker, [speaker.refusal(500), speaker.say("never")], retry_seconds=0)
    assert isinstance(heard.fault, ProviderBusy) and len(heard_requests) == 1


def test_a_refused_connection_is_tried_again_and_ends_as_network() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        slept = Slept()
        with ModelServer([]) as server:
            client = CHAT.opened(server, base_url=f"http://127.0.0.1:{port}/v1", timing=slept.timing)
            heard = ask(client, request())
            assert server.requests == []
    assert heard.fault is not None and not isinstance(heard.fault, ProviderBusy)
    assert heard.fault.kind == "network"
    assert f"http://127.0.0.1:{port}/v1" in heard.fault.hint
    assert len(slept.waits) == 7
    assert heard.of(RetryPart)[0].status is None


@pytest.mark.parametrize(("took", "requests"), [(250.0, 2), (251.0, 1)])
def test_an_attempt_that_takes_longer_than_the_budget_is_the_last(took: float, requests: int) -> None:
    slept = Slept()

    def slowly(received: Received) -> Reply:
        slept.passed += took
        return refusal(504)

    with ModelServer(slowly) as server:
        heard = ask(CHAT.opened(server, timing=slept.timing, retry_seconds=250), request())
        assert len(server.requests) == requests
    assert isinstance(heard.fault, ProviderBusy)


def test_a_silent_server_is_told_in_words(speaker: Speaker) -> None:
    heard = heard_from(speaker, [Reply([Stall()])], silence_seconds=0.1, retry_seconds=0)
    assert heard.fault is not None and heard.fault.kind == "network"
    with socket.create_server(("127.0.0.1", 0)) as mute, ModelServer([]) as server:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        mute_heard = ask(speaker.opened(server, base_url=url, silence_seconds=0.1, retry_seconds=0), request())
    assert mute_heard.fault is not None
    for fault in (heard.fault, mute_heard.fault):
        assert fault.what == f"{speaker.provider}: the server sent nothing for 0.1 s"


def test_a_connection_that_never_stands_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ModelServer([]) as server:
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        heard = ask(CHAT.opened(server, base_url=url, connect_seconds=0.2, retry_seconds=0), request())
        for each in waiting:
            each.close()
    assert heard.fault is not None and heard.fault.kind == "network"
    assert heard.fault.what == "openai: the connection could not be made within 0.2 s"


# -- failures inside of an answer --------------------------------------------------------------------


def test_an_overload_in_the_stream_before_its_first_part_is_tried_again(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.overloaded(), speaker.say("ok")], slept)
    assert heard.blocks() == OK and slept.waits == [2.0] and len(heard_requests) == 2
    assert heard.of(RetryPart)[0].error.startswith("overloaded: error in the stream: ")


def test_an_overload_in_the_stream_after_its_first_part_keeps_what_came(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.overloaded("Hel", "lo"), speaker.say("never")], slept)
    assert heard.fault is not None and heard.fault.kind == "cut" and "resume" in heard.fault.hint
    assert "".join(part.text for part in heard.of(Delta)) == "Hello"
    assert slept.waits == [] and len(heard_requests) == 1


def test_a_storm_inside_of_streams_ends_as_busy(speaker: Speaker) -> None:
    slept = Slept()
    heard = heard_from(speaker, [speaker.overloaded()] * 20, slept)
    assert isinstance(heard.fault, ProviderBusy) and heard.fault.kind == "overloaded"
    assert len(heard_requests) == MAX_ATTEMPTS and slept.waits[-1] == 30.0


def test_parts_in_the_same_chunk_as_an_error_count_as_arrived(speaker: Speaker) -> None:
    steps = speaker.overloaded("Hel").steps
    together = Reply([b"".join(step for step in steps if isinstance(step, bytes))])
    heard = heard_from(speaker, [together, speaker.say("never")])
    assert heard.of(Delta) == [Delta(0, "text", "Hel")]
    assert heard.fault is not None and heard.fault.kind == "cut"


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
    heard = heard_from(CHAT, [stream({"error": error})], retry_seconds=0)
    assert heard.fault is not None and heard.fault.kind == kind
    assert isinstance(heard.fault, ProviderBusy) == busy


def test_an_event_named_error_is_one() -> None:
    named = Reply([b'event: error\ndata: {"message": "overheated"}\n\n'])
    heard = heard_from(CHAT, [named], retry_seconds=0)
    assert heard.fault is not None and "overheated" in heard.fault.what


def test_a_stream_that_ends_cleanly_without_an_answer_is_tried_again() -> None:
    assert heard_from(CHAT, [Reply([event(delta())]), text("ok")]).blocks() == OK


# -- how errors are told -----------------------------------------------------------------------------


def test_errors_are_quoted_on_one_short_line_without_the_key(speaker: Speaker) -> None:
    heard = heard_from(speaker, [speaker.refusal(401, message=f"Incorrect key {KEY}\n\nprovided " + "x" * 500)])
    assert heard.fault is not None
    assert KEY not in str(heard.fault) and "[redacted]" in heard.fault.what
    assert "\n" not in heard.fault.what and len(heard.fault.what) < 400
    assert "THE_KEY" in heard.fault.hint


def test_errors_are_quoted_without_headers_and_parameters_that_look_like_keys() -> None:
    secret, plain = "Zk3v9QpL0aXw7Tn2Rb5Y", "output-128k-2025-02-19"
    sent = {"headers": {"x-route": f"to={secret}", "x-beta": plain}, "query": {"v": secret[::-1]}}
    heard = heard_from(CHAT, [refusal(400, message=f"to={secret} {plain} {secret[::-1]}")], **sent)
    assert heard.fault is not None and heard.fault.what == f"openai: HTTP 400: [redacted] {plain} [redacted]"


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
    heard = heard_from(CHAT, [Reply([body], 400, {"content-type": "application/json"})])
    assert heard.fault is not None and heard.fault.what == "openai: HTTP 400: broken thing"


ODD_BODIES = [b"", b"null", b"[]", b"{}", b'{"error": {}}', b"\xff\xfe", b"7", b"[" * 5000]
# Readers and those who walk through what they read do not give up at the same depth.
ODD_BODIES += [b'{"error":' * depth + b"[" * depth + b"]" * depth + b"}" * depth for depth in (100, 400, 450, 480, 500)]


@pytest.mark.parametrize("body", ODD_BODIES, ids=range(len(ODD_BODIES)))
def test_an_odd_error_body_breaks_nothing(speaker: Speaker, body: bytes) -> None:
    heard = heard_from(speaker, [Reply([body] if body else [], 400, {"content-type": "application/json"})])
    assert heard.fault is not None and heard.fault.kind == "bad_request"
