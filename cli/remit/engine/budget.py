"""One ledger for every limit of a run. It is rebuilt from the journal, so a resume goes on counting."""

from __future__ import annotations

from collections.abc import Callable

from remit.base.errors import BudgetSpent
from remit.base.limits import Limits
from remit.base.messages import Usage

HINTS = {
    "turns": "raise it with --max-turns or limits.turns",
    "seconds": "raise it with --max-seconds or limits.seconds",
    "tokens": "raise it with --max-tokens or limits.tokens",
    "usd": "raise it with --max-usd or limits.usd",
    "calls": "raise it with --max-calls or limits.calls",
    "network_requests": "raise it with --max-network-requests or limits.network_requests",
    "artifacts_total_bytes": "raise it with --max-artifacts-total-bytes or limits.artifacts_total_bytes",
}


class Ledger:
    """What has been spent, by the names of `Limits`. Bytes, seconds, US dollars, counts."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.turns = 0
        self.tokens = 0
        self.usd = 0.0
        self.usd_known = True
        self.calls = 0
        self.network_requests = 0
        self.artifacts_total_bytes = 0
        self.elsewhere: Callable[[], int] = lambda: 0
        """How many calls other agents of the run have open: each of them will count."""

    def answer(self, usage: Usage, usd: float | None, *, estimated: bool = False) -> None:
        """Book an answer. usd None: the model has no price. estimated: neither figure is the server's."""
        self.tokens += usage.total()
        self.usd += usd or 0.0
        if estimated or (usd is None and usage.total()):
            self.usd_known = False

    def overspent(self) -> list[str]:
        """The caps that the last answer went over, one phrase each."""
        caps = {"tokens": self.tokens, "usd": self.usd}
        return [
            f"{limit} = {getattr(self.limits, limit):g} ({used:g} are spent)"
            for limit, used in caps.items()
            # Sums of prices are never quite the sum.
            if getattr(self.limits, limit) is not None and round(used, 9) > getattr(self.limits, limit)
        ]

    def before_request(self, *, turns: bool = True) -> None:
        """Raise BudgetSpent when one more model request is over a limit. turns: whether it is a turn."""
        if turns:
            self._hold("turns", self.turns + 1)
        self._below("tokens", self.tokens)
        self._below("usd", self.usd)

    def before_call(self, ahead: int) -> None:
        """Raise BudgetSpent when one more call, with `ahead` unsettled ones before it, is over the limit."""
        self._hold("calls", self.calls + self.elsewhere() + ahead + 1)

    def before_network_request(self) -> None:
        self._hold("network_requests", self.network_requests + 1)

    def before_artifact(self, size: int) -> None:
        self._hold("artifacts_total_bytes", self.artifacts_total_bytes + size)

    def spent(self) -> dict[str, float]:
        """All counters, for the result line."""
        return {
            "turns": self.turns,
            "tokens": self.tokens,
            "usd": round(self.usd, 6),
            "calls": self.calls,
            "network_requests": self.network_requests,
            "artifacts_total_bytes": self.artifacts_total_bytes,
        }

    def _hold(self, limit: str, wanted: float) -> None:
        cap = getattr(self.limits, limit)
        if cap is not None and wanted > cap:
            raise spent_error(limit, cap)

    def _below(self, limit: str, used: float) -> None:
        cap = getattr(self.limits, limit)
        if cap is not None and used >= cap:
            raise spent_error(limit, cap)


def spent_error(limit: str, cap: float) -> BudgetSpent:
    """The one wording for a limit that was reached."""
    shown = f"{cap:g}" if isinstance(cap, float) else str(cap)
    return BudgetSpent(limit, f"the limit {limit} = {shown} is spent", hint=HINTS[limit])
