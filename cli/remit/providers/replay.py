"""A model that answers from a recording, and only to the very requests that were recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from remit.base.errors import ProviderFault
from remit.base.messages import BlockPart, CallBlock, Delta, Part, Request, TextBlock
from remit.base.redact import Redactor, is_secret_name
from remit.providers.opening import Opening
from remit.providers.recording import Exchange, canonical, read_recording

NAME = "replay"
_AROUND = 40
_encode = msgspec.json.Encoder(order="sorted").encode


def open_provider(opening: Opening) -> ReplayProvider:
    """Raises Faults for a file that is no recording."""
    return ReplayProvider(opening.model.name, Redactor(_secrets(opening)))


def _secrets(opening: Opening) -> list[str]:
    return [value for name, value in opening.environ.items() if is_secret_name(name)]


class ReplayProvider:
    """Strict and offline. redact: has to know the secrets that the recording one knew, where they
    still occur in requests."""

    name = NAME
    key_source = "none"

    def __init__(self, path: str, redact: Redactor | None = None) -> None:
        header, self._exchanges = read_recording(path)
        self.model = header.model
        self._path = path
        self._redact = redact or Redactor()
        self._next: int | None = None

    @property
    def unplayed(self) -> int:
        """Exchanges after the last one asked for: not 0 means that the run ended earlier than the recorded one."""
        return len(self._exchanges) - (self._next or 0)

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """Raises ProviderFault(replay) with the first difference; the recorded error where there is one."""
        asked = canonical(request, self._redact)
        due = self._due(asked)
        if due >= len(self._exchanges):
            what = f"the recording ends after {len(self._exchanges)} exchanges, and the run asks for one more"
            raise ProviderFault(what, where=self._path, kind="replay", hint="the recorded run was stopped there")
        exchange = self._exchanges[due]
        self._check(exchange, asked, due)
        self._next = due + 1
        for part in exchange.parts:
            if isinstance(part, BlockPart):
                yield _delta(part)
            yield part
        if exchange.error is not None:
            raise exchange.error.fault()

    async def close(self) -> None:
        """There is nothing to close."""

    def _due(self, asked: dict[str, Any]) -> int:
        """One after the other; a run taken up by another process starts where its transcript stands."""
        if self._next is not None:
            return self._next
        answers = Exchange(asked).answers()
        fitting = (i for i, exchange in enumerate(self._exchanges) if exchange.answers() >= answers)
        return next(fitting, len(self._exchanges))

    def _check(self, exchange: Exchange, asked: dict[str, Any], index: int) -> None:
        difference = first_difference(exchange.request, asked)
        if difference:
            what = f"request {index + 1} is not the recorded one\n{difference}"
            hint = "replay compares everything the model would be sent; record again if the change is meant"
            raise ProviderFault(what, where=f"{self._path}:{index + 2}", kind="replay", hint=hint)


def _delta(part: BlockPart) -> Delta:
    block = part.block
    if isinstance(block, CallBlock):
        return Delta(part.index, "call", block.arguments, block.id, block.tool)
    return Delta(part.index, "text" if isinstance(block, TextBlock) else "thinking", block.text)


def first_difference(recorded: Any, now: Any) -> str:
    """The first place where two JSON values differ, with both, as a small diff; "" when they are equal."""
    # As text, since to Python 1, 1.0 and True are equal.
    found = None if _encode(recorded) == _encode(now) else _find(recorded, now, "$")
    if found is None:
        return ""
    path, left, right = found
    return f"  at {path}\n- recorded: {left}\n+ now:      {right}"


def _find(recorded: Any, now: Any, path: str) -> tuple[str, str, str] | None:
    if type(recorded) is not type(now) or not isinstance(recorded, (dict, list, str)):
        same = type(recorded) is type(now) and recorded == now
        return None if same else (path, _show(recorded), _show(now))
    if isinstance(recorded, str):
        return None if recorded == now else _find_in_text(recorded, now, path)
    if isinstance(recorded, dict):
        return _find_in_mapping(recorded, now, path)
    for index, (left, right) in enumerate(zip(recorded, now, strict=False)):
        if found := _find(left, right, f"{path}[{index}]"):
            return found
    if len(recorded) == len(now):
        return None
    at = min(len(recorded), len(now))
    extra = _show(recorded[at]) if at < len(recorded) else "(nothing)", _show(now[at]) if at < len(now) else "(nothing)"
    return f"{path}[{at}]", *extra


def _find_in_mapping(recorded: dict[str, Any], now: dict[str, Any], path: str) -> tuple[str, str, str] | None:
    for key in [*recorded, *(key for key in now if key not in recorded)]:
        place = f"{path}.{key}"
        if key not in now:
            return place, _show(recorded[key]), "(nothing)"
        if key not in recorded:
            return place, "(nothing)", _show(now[key])
        if found := _find(recorded[key], now[key], place):
            return found
    return None


def _find_in_text(recorded: str, now: str, path: str) -> tuple[str, str, str]:
    shorter = min(len(recorded), len(now))
    at = next((i for i in range(shorter) if recorded[i] != now[i]), shorter)
    return f"{path} (character {at})", _window(recorded, at), _window(now, at)


def _window(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"


def _show(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 2 * _AROUND else f"{text[: 2 * _AROUND]}..."
