"""From a host name to addresses that may be dialed: looked up once, all of them checked."""

from __future__ import annotations

from collections.abc import Sequence

from remit.base.errors import ErrorCode, Failure
from remit.net.dial import Resolver
from remit.net.guard import check_address, is_address


async def checked_addresses(resolver: Resolver, host: str, port: int) -> Sequence[str]:
    """The addresses of a host in its normal form, in the order to try them: whoever dials one of these and looks
    nothing up again is led nowhere else. Raises Failure(dns_failed, address_refused)."""
    addresses = [host] if is_address(host) else list(dict.fromkeys(await resolver.resolve(host, port)))
    if not addresses:
        raise Failure(ErrorCode.DNS_FAILED, f"{host} has no address")
    for address in addresses:
        if reason := check_address(address):
            raise Failure(
                ErrorCode.ADDRESS_REFUSED,
                f"{host} resolves to an address that is not public ({reason}); only public hosts are reached",
            )
    return addresses
