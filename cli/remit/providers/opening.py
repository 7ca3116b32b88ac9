"""What a provider is opened with: a model, a key, and the outside world."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from remit.base.spec import ModelSpec, Protocol
from remit.providers.timing import Timing


class Credential(msgspec.Struct, frozen=True):
    """A key. source: where it came from, for messages: a variable, a file, a command. renew: fetches
    another one when this is no longer taken (blocking; raises PreflightFault), None when there is no other."""

    value: str = ""
    source: str = "none"
    renew: Callable[[], str] | None = None


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """model: resolved. retry_seconds: how long failed requests of one turn may be tried again. environ:
    names the proxies and base URLs."""

    model: ModelSpec
    credential: Credential = Credential()
    environ: Mapping[str, str] = {}
    retry_seconds: float = 300.0
    timing: Timing = Timing()
    connect_seconds: float = 10.0
    silence_seconds: float = 300.0

    @property
    def base_url(self) -> str:
        """Where the model is served: the variable's word before the file's, no slash at its end."""
        model = self.model
        given = self.environ.get(model.base_url_env, "").strip() if model.base_url_env else ""
        return (given or model.base_url).rstrip("/")

    @property
    def moved(self) -> bool:
        """Whether the model is served at another address than its own."""
        return self.base_url.lower() != self.model.base_url.rstrip("/").lower()

    @property
    def protocol(self) -> Protocol:
        """What is spoken there: elsewhere it may be another language than at home."""
        model = self.model
        return model.protocol_elsewhere or model.protocol if self.moved else model.protocol
