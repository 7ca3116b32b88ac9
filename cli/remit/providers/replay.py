"""Models that answer from a recording, and only to the very requests that were recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from remit.base.errors import ProviderFault, RemitError
from remit.base.messages import BlockPart, CallBlock, Delta, Part, Request, TextBlock
from remit.base.redact import Redactor, secrets_of
from remit.providers.difference import first_difference
from remit.providers.opening import Opening
from remit.providers.recording import Exchange, RecordedRun, canonical, read_recording

NAME = "replay"
HINT = "replay compares everything the model would be sent; record again if the change is meant"


def open_provider(opening: Opening) -> ReplayProvider:
    """Raises Faults for a file that is no recording."""
    return ReplayProvider(opening.model.name, Redactor(secrets_of(opening.environ)))


class Tape:
    """The exchanges of a recording, played one after the other. redact: has to know the secrets that the
    recording one knew, where they still occur in requests. over: what to raise when one more is asked for
    than there are. differs: what to raise for another question than was recorded, of what and line of the file."""

    def __init__(
        self,
        run: RecordedRun,
        redact: Redactor,
        over: Callable[[str], Awaitable[RemitError]],
        differs: Callable[[str, int], RemitError],
    ) -> None:
        self._run = run
        self._redact = redact
        self._over = over
        self._differs = differs
        self._next: int | None = None

    @property
    def left(self) -> int:
        """Exchanges that were not asked for yet."""
        return len(self._run.exchanges) - (self._next or 0)

    async def play(self, request: Request, model: str = "") -> AsyncIterator[Part]:
        """model: `provider/model` that is asked, where that is compared as well. Raises ProviderFault(replay)
        with the first difference; the recorded error where there is one."""
        asked = canonical(request, self._redact.data)
        due = self._due(request)
        exchanges = self._run.exchanges
        if due >= len(exchanges):
            raise await self._over(
                f"the recording ends after {len(exchanges)} exchanges, and the run asks for one more"
            )
        exchange = exchanges[due]
        self._check(exchange, asked, model, due)
        self._next = due + 1
        for part in exchange.parts:
            if isinstance(part, BlockPart):
                yield _delta(part)
            yield part
        if exchange.error is not None:
            raise exchange.error.fault()

    def fits(self, request: Request) -> bool:
        """Whether this is the question that comes next."""
        due = self._due(request)
        exchanges = self._run.exchanges
        return due < len(exchanges) and self._difference(exchanges[due], canonical(request, self._redact.data)) == ""

    def _due(self, request: Request) -> int:
        """One after the other; a run taken up by another process starts where its transcript stands."""
        if self._next is not None:
            return self._next
        answers = sum(message.role == "assistant" for message in request.messages)
        fitting = (i for i, exchange in enumerate(self._run.exchanges) if exchange.answers() >= answers)
        return next(fitting, len(self._run.exchanges))

    def _check(self, exchange: Exchange, asked: dict[str, Any], model: str, index: int) -> None:
        difference = self._difference(exchange, asked)
        if not difference and model and exchange.model != model:
            difference = first_difference({"provider/model": exchange.model}, {"provider/model": model})
        if difference:
            what = f"request {index + 1} is not the recorded one\n{difference}"
            raise self._differs(what, exchange.line)

    def _difference(self, exchange: Exchange, asked: dict[str, Any]) -> str:
        # A secret of this process may have been a plain word to the recording one.
        return first_difference(exchange.request, asked) and first_difference(
            self._redact.data(exchange.request), asked
        )


class ReplayProvider:
    """A recording as the model of a run with a task and tools of its own. Strict and offline."""

    name = NAME
    key_source = "none"

    def __init__(self, path: str, redact: Redactor | None = None) -> None:
        run = read_recording(path)
        self.model = run.header.model
        self.environment = run.environment
        """What the recorded model was told of it."""
        self._path = path
        tapes = [Tape(each, redact or Redactor(), self._over, self._differs) for each in (run, *run.agents.values())]
        self._tape, self._agents = tapes[0], tapes[1:]

    @property
    def unplayed(self) -> int:
        """Exchanges after the last one asked for: not 0 means that the run ended earlier than the recorded one."""
        return sum(tape.left for tape in (self._tape, *self._agents))

    def stream(self, request: Request) -> AsyncIterator[Part]:
        """As `Tape.play`. Who asks is not told: an agent is known by its question."""
        agent = next((tape for tape in self._agents if tape.fits(request)), None)
        return (agent or self._tape).play(request)

    async def close(self) -> None:
        """There is nothing to close."""

    def _differs(self, what: str, line: int) -> RemitError:
        return ProviderFault(what, where=f"{self._path}:{line}", kind="replay", hint=HINT)

    async def _over(self, what: str) -> RemitError:
        return ProviderFault(what, where=self._path, kind="replay", hint="the recorded run was stopped there")


class PlayedModel:
    """One of the models of a recorded run, under the name it had."""

    key_source = "none"

    def __init__(self, tape: Tape, name: str, model: str) -> None:
        self.name = name
        self.model = model
        self._tape = tape

    def stream(self, request: Request) -> AsyncIterator[Part]:
        """As `Tape.play`; it has to be this model's turn."""
        return self._tape.play(request, f"{self.name}/{self.model}")

    async def close(self) -> None:
        """There is nothing to close."""


def _delta(part: BlockPart) -> Delta:
    block = part.block
    if isinstance(block, CallBlock):
        return Delta(part.index, "call", block.arguments, block.id, block.tool)
    return Delta(part.index, "text" if isinstance(block, TextBlock) else "thinking", block.text)
