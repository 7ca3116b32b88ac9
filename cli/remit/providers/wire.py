"""Requests to model APIs: one client, one reader, and the only place where a request is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import msgspec

from remit import __version__
from remit.base.errors import PreflightFault, ProviderFault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.messages import BlockPart, Delta, Part, RetryPart
from remit.base.redact import Redactor
from remit.providers.failures import LONGEST_HINT_SECONDS, AttemptFailed, from_response, hinted
from remit.providers.http import HttpClient, Response, check_base_url
from remit.providers.opening import Opening
from remit.providers.timing import Timing

if TYPE_CHECKING:
    from remit.providers.decoding import Decoder
    from remit.providers.sse import SseEvent

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
MAX_ATTEMPTS = 8
FIRST_WAIT_SECONDS = 2.0
LONGEST_WAIT_SECONDS = 30.0
JITTER = 0.25

_ERROR_BODY_BYTES = 64 * 1024
_DRAIN_SECONDS = 0.25
_KEEP_ALIVES = frozenset({"ping", "keepalive"})
"""Names of events that bring nothing but the news that the connection stands."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A model API. base_url: scheme, host and path prefix, no slash at the end. query: of every request,
    encoded. key "": none is sent. key_source: where it came from, for messages. renew_key: fetches
    another key when this one is no longer taken (blocking). environ: names the proxies. secrets: what else
    no message shows."""

    provider: str
    base_url: str
    headers: dict[str, str] = {}
    query: str = ""
    key_header: str = "authorization"
    key_prefix: str = ""
    key: str = ""
    key_source: str = "none"
    renew_key: Callable[[], str] | None = None
    environ: Mapping[str, str] = {}
    secrets: list[str] = []


_LIKE_A_KEY = lazy_pattern(r"(?=[A-Za-z0-9_]*[0-9])(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{20,}")
"""Letters and digits in a row for longer than any word or version. Names of features are cut by dashes."""


def open_wire(
    opening: Opening, *, auth_header: str, scheme: str = "", headers: Mapping[str, str] | None = None
) -> Wire:
    """The wire to a model's endpoint. auth_header: the protocol's own header of the key, and what
    stands before it. headers: those of the protocol; the model's own come over them.

    Raises PreflightFault for a key or header that no HTTP header can carry, and without a base URL."""
    model, credential = opening.model, opening.credential
    if not opening.base_url:
        what = f"{model.provider} has no base URL"
        variable = f"set {model.base_url_env} to its address, " if model.base_url_env else "name its address, "
        hint = (
            f"{variable}such as http://127.0.0.1:8000/v1, or write `base_url` of [{model.provider}] in providers.toml"
        )
        raise PreflightFault(what, hint=hint, kind="base_url")
    name = model.auth_header or auth_header
    prefix = scheme if name == auth_header else ""
    fixed = {**(headers or {}), **model.headers}
    for header, value in fixed.items():
        check_header(model.provider, header, value, header)
    check_header(model.provider, name, credential.value, credential.source)
    endpoint = Endpoint(
        provider=model.provider,
        base_url=opening.base_url,
        headers=fixed,
        query=urlencode(model.query, quote_via=quote),
        secrets=[value for value in (*model.headers.values(), *model.query.values()) if _LIKE_A_KEY.search(value)],
        key_header=name,
        key_prefix=prefix,
        key=credential.value,
        key_source=credential.source,
        renew_key=credential.renew,
        environ=opening.environ,
    )
    return Wire(
        endpoint,
        retry_seconds=opening.retry_seconds,
        timing=opening.timing,
        connect_seconds=opening.connect_seconds,
        silence_seconds=opening.silence_seconds,
    )


def check_header(provider: str, name: str, value: str, source: str) -> None:
    """Raises PreflightFault for a value that no HTTP header can carry, and does not show it."""
    if not (value.isascii() and (value.isprintable() or not value)):
        what = f"{provider}: the value of {source} has characters that no HTTP header can carry"
        hint = "check it for line breaks and for letters outside of ASCII"
        raise PreflightFault(what, hint=hint, kind="no_key")


class Wire:
    """Asks one endpoint. A request that fails before its first part is tried again while attempts and
    `retry_seconds` last: neither the waits since the first failure nor all attempts together take longer."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        retry_seconds: float = 300.0,
        timing: Timing | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        check_base_url(endpoint.provider, endpoint.base_url)
        self._endpoint = endpoint
        self._retry_seconds = retry_seconds
        self._timing = timing or Timing()
        self._silence_seconds = silence_seconds
        self._key = endpoint.key
        self._keys = [endpoint.key, *endpoint.secrets]
        self._redact = Redactor(self._keys)
        self._client = HttpClient(
            endpoint.base_url,
            {
                "content-type": "application/json",
                "accept": "text/event-stream, application/json",
                "user-agent": f"remit/{__version__}",
                **endpoint.headers,
            },
            endpoint.environ,
            keyed=bool(endpoint.key),
            connect_seconds=connect_seconds,
            silence_seconds=silence_seconds,
        )

    @property
    def provider(self) -> str:
        """The provider's name, for messages."""
        return self._endpoint.provider

    @property
    def base_url(self) -> str:
        return self._endpoint.base_url

    async def ask(self, path: str, body: bytes, decoder: Callable[[], Decoder]) -> AsyncGenerator[Part, None]:
        """POST `body` (JSON) and yield the parts of the answer. `decoder` makes a fresh one an attempt.

        Raises ProviderBusy (rate limit or overload past the budget, with the reset time where the
        server told it) and ProviderFault (auth, quota, bad_request, not_found, context_overflow,
        refused, malformed, network; `cut` once a part has been given)."""
        retries, first_failure, begun, renewed = 0, 0.0, False, False
        asked = self._timing.monotonic()
        while True:
            try:
                async with aclosing(self._attempt(path, body, decoder)) as batches:
                    async for parts in batches:
                        for part in parts:
                            begun = begun or isinstance(part, (Delta, BlockPart))
                            yield part
                return
            except AttemptFailed as problem:
                failed = problem
            except ProviderFault as fault:
                if not (begun and fault.kind == "malformed"):
                    fault.what = self._redact.text(fault.what)
                    raise
                failed = AttemptFailed("malformed", fault.what)
            if begun:
                raise self._broken(failed) from None
            now = self._timing.monotonic()
            first_failure = first_failure if retries else now
            delay = self._delay(failed, retries, now - first_failure, now - asked)
            if failed.kind == "auth" and not renewed and await self._renew_key():
                renewed, delay = True, 0.0
            if delay is None:
                raise self._given_up(failed, retries) from None
            retries += 1
            told = self._redact.text(f"{failed.kind}: {failed.message}")
            yield RetryPart(retries, MAX_ATTEMPTS - 1, delay, failed.status, told)
            await self._timing.sleep(delay)

    async def close(self) -> None:
        """Close the connections; a later `ask` opens new ones."""
        await self._client.close()

    async def _renew_key(self) -> bool:
        """Whether there is another key now. Keys that a command prints do not last as long as a run."""
        if self._endpoint.renew_key is None:
            return False
        try:
            renewed = await asyncio.to_thread(self._endpoint.renew_key)
        except PreflightFault as problem:
            # The run has begun, so that it ends as one whose key is no longer taken: it can be resumed.
            raise ProviderFault(problem.what, hint=problem.hint, kind="auth") from None
        old, self._key = self._key, renewed
        self._keys.append(renewed)
        self._redact = Redactor(self._keys)
        return self._key != old

    # -- trying again ------------------------------------------------------------------------------

    def _delay(self, failed: AttemptFailed, retries: int, elapsed: float, asking: float) -> float | None:
        """Seconds to wait before the next attempt; None when there is none. elapsed: since the first
        failure. asking: since the first attempt, which a silent server alone can make too long."""
        if not failed.retryable or retries >= MAX_ATTEMPTS - 1:
            return None
        backoff = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**retries)
        # The server's hint is a floor: a tiny one must not burn all attempts in a moment.
        delay = max(failed.hint or 0.0, backoff * (1 - JITTER * self._timing.chance()))
        return delay if max(asking, elapsed + delay) <= self._retry_seconds else None

    def _given_up(self, failed: AttemptFailed, retries: int) -> ProviderFault:
        # A hint that long is no plan of the server's.
        told = failed.hint is not None and failed.hint <= LONGEST_HINT_SECONDS
        reset_at = _iso(self._timing.now() + (failed.hint or 0.0)) if told else ""
        advice = self._redact.text(self._advice(failed, reset_at))
        fault = failed.fault(self._endpoint.provider, reset_at=reset_at, advice=advice)
        tries = f" (tried {retries + 1} times)" if retries else ""
        fault.what = self._redact.text(fault.what) + tries
        return fault

    def _advice(self, failed: AttemptFailed, reset_at: str) -> str:
        if failed.kind == "auth":
            return f"check the key in {self._endpoint.key_source} for {self._endpoint.base_url}"
        if failed.kind == "network":
            return f"check that {self._endpoint.base_url} is right and that its server runs"
        if reset_at:
            return f"run it again after {reset_at}"
        return "run it again later" if failed.retryable else ""

    def _broken(self, failed: AttemptFailed) -> ProviderFault:
        # Events were understood until this one: it is the line that garbled it.
        if not failed.retryable and failed.kind != "malformed":
            return self._given_up(failed, 0)
        what = self._redact.text(f"{self._endpoint.provider}: the answer broke off: {failed.message}")
        return ProviderFault(what, kind="cut", hint="`remit resume` goes on from there")

    # -- one attempt -------------------------------------------------------------------------------

    async def _attempt(
        self, path: str, body: bytes, new_decoder: Callable[[], Decoder]
    ) -> AsyncGenerator[Sequence[Part], None]:
        """Batches of parts, none of them empty. What reads them is loaded while the server thinks."""
        key = {self._endpoint.key_header: self._endpoint.key_prefix + self._key} if self._key else {}
        async with self._client.post(path, body, key, self._endpoint.query) as sent:
            from remit.providers.bodies import events_of, reader_for
            from remit.providers.listener import Listener

            decoder = new_decoder()
            response = await sent.response()
            if not 200 <= response.status < 300:
                raise await self._refusal(response)
            reader = reader_for(response)
            async with Listener(response.chunks(), self._silence_seconds) as listener:
                end_seconds = None
                while not decoder.finished:
                    chunk = await listener.next()
                    events = events_of(reader, chunk)
                    if _say_something(events):
                        listener.heard()
                    parts, failure = _decode(decoder, events)
                    if parts:
                        yield parts
                    if failure is not None:
                        raise hinted(failure, response.headers, self._timing.now())
                    if chunk is None:
                        break
                    if decoder.end_seconds != end_seconds:
                        end_seconds = decoder.end_seconds
                        listener.expect_end(end_seconds or 0.0)
                if decoder.finished:
                    await listener.drain(_DRAIN_SECONDS)
        yield _ended(decoder)

    async def _refusal(self, response: Response) -> AttemptFailed:
        body = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._silence_seconds), aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) >= _ERROR_BODY_BYTES:
                        break
        return from_response(response.status, response.headers, body, self._timing.now())


def _say_something(events: list[SseEvent]) -> bool:
    """Comments and pings that keep a connection alive are silence too."""
    for event in events:  # noqa: SIM110 - `any` over a generator costs more than all else that is done for an event
        if event.name not in _KEEP_ALIVES:
            return True
    return False


def _decode(decoder: Decoder, events: list[SseEvent]) -> tuple[list[Part], Exception | None]:
    """The parts of these events, up to the first that fails: what came before a failure counts."""
    parts: list[Part] = []
    try:
        for event in events:
            parts += decoder.feed(event)
            if decoder.finished:
                break
    except (AttemptFailed, ProviderFault) as problem:
        return parts, problem
    except RecursionError:
        return parts, _too_deep()
    return parts, None


def _ended(decoder: Decoder) -> Sequence[Part]:
    try:
        return decoder.end()
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> AttemptFailed:
    # What a reader of JSON takes, those who walk through it may not.
    return AttemptFailed("malformed", "an event of the stream is nested too deep")


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
