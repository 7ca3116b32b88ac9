"""The web, one GET at a time: guarded, pinned, capped, and redirected on the same host only."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.ports import Page
from remit.base.resources import Resource
from remit.base.text import shorten
from remit.net.dial import Dialer, Resolver, SystemResolver, TcpDialer
from remit.net.guard import DEFAULT_PORTS, CheckedUrl, check_url
from remit.net.stack import prepare_http_stack
from remit.net.tls import shared_context

if TYPE_CHECKING:
    import ssl

    from remit.net.pinned import Answer, Progress

TOTAL_SECONDS = 20.0
MAX_BODY_BYTES = 2 * MIB
MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})

Spend = Callable[[], None]
"""Called before each request is made; raises BudgetSpent when none is left."""


MayFollow = Callable[[str], bool]
"""Whether a redirect on the same host may be followed to this URL (normal form)."""


def follow_all(url: str) -> bool:
    """Follows every redirect that the guard lets pass."""
    return True


class WebClient:
    """Fetches public pages. No proxies, whatever the environment says; no cookies, no credentials.

    resolver and dialer: the hands that look up and connect; whatever they are, only addresses that
    the guard lets pass are dialed. tls: builds the context for https. seconds: for a fetch in total,
    from the lookup to the last byte, redirects included. max_bytes: of a body, decoded.
    """

    def __init__(
        self,
        *,
        allowed_ports: Collection[int] = DEFAULT_PORTS,
        resolver: Resolver | None = None,
        dialer: Dialer | None = None,
        tls: Callable[[], ssl.SSLContext] = shared_context,
        seconds: float = TOTAL_SECONDS,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.allowed_ports = frozenset(allowed_ports)
        self.seconds = seconds
        self.max_bytes = max_bytes
        self._resolver = resolver or SystemResolver()
        self._dialer = dialer or TcpDialer()
        self._tls = tls

    def check(self, url: str) -> CheckedUrl:
        """The URL in its normal form. Raises Failure(url_refused, port_refused, address_refused)."""
        return check_url(url, self.allowed_ports)

    async def get(self, url: str, spend: Spend, may_follow: MayFollow = follow_all) -> Page:
        """The page, after redirects on its own host to URLs that `may_follow` lets pass; any other
        redirect is not followed but told in `redirect_to`.

        Raises Failure: that of `check`, dns_failed, connect_failed, tls_failed, timeout, http_error,
        redirect_refused, too_many_redirects, response_too_large, response_invalid; and what `spend`
        raises.
        """
        prepare_http_stack()
        from remit.net.pinned import Progress  # the HTTP stack is loaded by runs that fetch

        checked = self.check(url)
        progress = Progress()
        try:
            async with asyncio.timeout(self.seconds):
                return await self._follow(checked, spend, may_follow, progress)
        except TimeoutError:
            raise Failure(
                ErrorCode.TIMEOUT,
                f"{checked.url}: not complete after {self.seconds:g} s in total; it was still {progress.doing}",
            ) from None

    async def _follow(self, first: CheckedUrl, spend: Spend, may_follow: MayFollow, progress: Progress) -> Page:
        from remit.net.pinned import Pinned, exchange

        current = first
        for requests in range(1, MAX_REDIRECTS + 2):
            spend()
            backend = Pinned(self._resolver, self._dialer, progress)
            answer = await exchange(current, backend, self._tls, self.max_bytes, progress)
            if answer.status not in REDIRECTS:
                return _page(first, current, answer, requests)
            target = self._redirect(current, answer)
            if target.host != current.host or not may_follow(target.url):
                return _page(first, current, answer, requests, target.url)
            current = target
        raise Failure(
            ErrorCode.TOO_MANY_REDIRECTS,
            f"{first.url} redirects more than {MAX_REDIRECTS} times; the last redirect led to {shorten(current.url)}",
        )

    def _redirect(self, current: CheckedUrl, answer: Answer) -> CheckedUrl:
        location = answer.headers.get("location", "")
        if not location:
            raise Failure(
                ErrorCode.RESPONSE_INVALID, f"{current.url}: the server answered {answer.status} without a Location"
            )
        try:
            target = self.check(_absolute(current.url, location))
        except Failure as refusal:
            raise Failure(
                ErrorCode.REDIRECT_REFUSED, f"{current.url} redirects to where it may not: {refusal.message}"
            ) from None
        if target.host == current.host and (current.scheme, target.scheme) == ("https", "http"):
            raise Failure(
                ErrorCode.REDIRECT_REFUSED, f"{current.url} redirects from https to {target.url}; that is not followed"
            )
        return target


class WebGrant:
    """Implements base.ports.Web for the URLs among the declared resources of one call.

    may_follow: whether the rules let the call go on to a URL that a declared one redirects to."""

    def __init__(
        self, client: WebClient, resources: Iterable[Resource], spend: Spend, may_follow: MayFollow = follow_all
    ) -> None:
        self._client = client
        self._may_follow = may_follow
        self._urls = frozenset(each.name for each in resources if each.kind == "url")
        self._spend = spend

    async def get(self, url: str) -> Page:
        """Raises Failure(undeclared) and those of WebClient.get."""
        checked = self._client.check(url)
        if checked.url not in self._urls:
            raise Failure(ErrorCode.UNDECLARED, f"the call was granted no access to {shorten(checked.url)}")
        return await self._client.get(checked.url, self._spend, self._may_follow)


def _absolute(base: str, location: str) -> str:
    """A Location as an absolute URL; the blanks that some servers leave in it are encoded."""
    from urllib.parse import urljoin  # only redirects need it

    try:
        return urljoin(base, location.replace(" ", "%20"))
    except ValueError:
        raise Failure(ErrorCode.URL_REFUSED, f"{shorten(location)} is no valid URL") from None


def _page(first: CheckedUrl, last: CheckedUrl, answer: Answer, requests: int, redirect_to: str = "") -> Page:
    if not redirect_to and not 200 <= answer.status < 300:
        raise Failure(ErrorCode.HTTP_ERROR, f"{last.url}: the server answered {_status(answer.status)}")
    media_type, charset = _content_type(answer.headers.get("content-type", ""))
    return Page(first.url, last.url, answer.status, media_type, charset, answer.body, requests, redirect_to)


def _status(status: int) -> str:
    """Number and standard phrase: the server's own words do not enter an error message."""
    from http import HTTPStatus

    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


_CHARSET = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;]+))", re.IGNORECASE)


def _content_type(value: str) -> tuple[str, str]:
    """Media type in lower case and charset label, "" where not given."""
    found = _CHARSET.search(value)
    charset = next((group for group in found.groups() if group), "") if found else ""
    return value.partition(";")[0].strip().lower(), charset.strip().lower()
