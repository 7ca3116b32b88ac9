"""A model that plays a script: for examples, for trying a task without a key, for tests.

A script is a YAML or TOML file of turns. Which turn is due is read from the transcript, so that a run
taken up by another process goes on at the right one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec

from remit.base.errors import Fault, Faults, ProviderBusy, ProviderFault
from remit.base.messages import (
    MAX_TOKENS,
    BlockPart,
    CallBlock,
    Delta,
    Message,
    Part,
    Request,
    ResultBlock,
    StopPart,
    StopReason,
    TextBlock,
    ThinkingBlock,
    Usage,
    UsagePart,
)
from remit.base.spec import Dollars, Price
from remit.base.text import shorten
from remit.config import load
from remit.config.document import Document
from remit.providers.opening import Opening
from remit.providers.timing import Timing

NAME = "scripted"
MAX_REPEAT = 10_000

MORE_HINT = "add a turn that ends without calls"
OTHER_HINT = (
    "an agent asks, or the model that judges the goal: add an entry to `agents` whose `when` stands in the first "
    "message, see remit-script(5)"
)
"""Where `turns` are asked for by another than the run itself, and answer in place of an entry that is missing."""

_Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]
_Repeat = Annotated[int, msgspec.Meta(ge=1, le=MAX_REPEAT)]


class ScriptCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of a tool."""

    tool: Annotated[str, msgspec.Meta(description="The tool.")]
    arguments: Annotated[
        dict[str, Any] | None, msgspec.Meta(description="The arguments of the call. Default: none.")
    ] = None
    raw: Annotated[
        str | None,
        msgspec.Meta(description="Instead of `arguments` the text that a model might write, valid JSON or not."),
    ] = None
    id: Annotated[
        str | None, msgspec.Meta(description="The id of the call. Default: `call_` with the numbers of turn and call.")
    ] = None
    expect_result: Annotated[
        Any,
        msgspec.Meta(
            description="What the result of the call has to hold, or the run ends with exit code 5. A mapping is "
            "compared key by key, and a list as a whole or, by a mapping with indices as keys, item by item; numbers "
            "are exact. A text that is no JSON has to occur in the result. Default: anything."
        ),
    ] = msgspec.UNSET

    def text(self) -> str:
        return msgspec.json.encode(self.arguments or {}).decode() if self.raw is None else self.raw


class ScriptUsage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens that a turn counts for."""

    input: Annotated[_Tokens, msgspec.Meta(description="Tokens read.")] = 0
    output: Annotated[_Tokens, msgspec.Meta(description="Tokens written.")] = 0
    cache_read: Annotated[_Tokens, msgspec.Meta(description="Tokens read from a cache.")] = 0
    cache_write: Annotated[_Tokens, msgspec.Meta(description="Tokens written to a cache.")] = 0


ErrorKind = Literal[
    "rate_limited",
    "overloaded",
    "auth",
    "bad_request",
    "context_overflow",
    "network",
    "malformed",
    "cut",
]


class ScriptError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure in place of an answer."""

    kind: Annotated[
        ErrorKind, msgspec.Meta(description="What fails; `rate_limited` and `overloaded` end as `busy`, exit code 6.")
    ]
    message: Annotated[str, msgspec.Meta(description="What the model's server says.")] = ""
    reset_at: Annotated[
        str, msgspec.Meta(description="For these two kinds when to try again, in ISO 8601: 2026-12-31T00:00:00Z.")
    ] = ""
    after_text: Annotated[str, msgspec.Meta(description="Text that arrives before it fails.")] = ""

    def fault(self) -> ProviderFault:
        what = f"scripted: {self.message or f'the script has an error of kind {self.kind} here'}"
        if self.kind in ("rate_limited", "overloaded"):
            return ProviderBusy(what, kind=self.kind, reset_at=self.reset_at)
        return ProviderFault(what, kind=self.kind)


class ScriptTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model."""

    text: Annotated[str, msgspec.Meta(description="What it says.")] = ""
    thinking: Annotated[str, msgspec.Meta(description="What it thinks before.")] = ""
    calls: Annotated[
        tuple[ScriptCall, ...], msgspec.Meta(description="The tools it calls. A turn without calls ends the run.")
    ] = ()
    usage: Annotated[ScriptUsage, msgspec.Meta(description="The tokens it counts for.")] = ScriptUsage()
    stop: Annotated[
        StopReason | None,
        msgspec.Meta(description="Why it stops. Default: `tool_use` with calls, `end_turn` without."),
    ] = None
    delay: Annotated[_Seconds, msgspec.Meta(description="Seconds before it.")] = 0.0
    repeat: Annotated[_Repeat, msgspec.Meta(description="How many times in a row it is given.")] = 1
    error: Annotated[ScriptError | None, msgspec.Meta(description="A failure in place of the answer.")] = None
    expect_prompt: Annotated[
        str,
        msgspec.Meta(
            description="Text that the last message of the user has to hold, or the run ends with exit code 5."
        ),
    ] = ""


class ScriptPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens."""

    input: Annotated[Dollars, msgspec.Meta(description="US dollars per million tokens read.")]
    output: Annotated[Dollars, msgspec.Meta(description="US dollars per million tokens written.")]


class ScriptAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answers to agents that the run sends (tool `task`), known by what they are asked."""

    when: Annotated[str, msgspec.Meta(min_length=1, description="Text that their first message holds.")]
    turns: Annotated[tuple[ScriptTurn, ...], msgspec.Meta(min_length=1, description="The answers, in their order.")]


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script file."""

    version: Annotated[Literal[1], msgspec.Meta(description="Version of this format.")]
    turns: Annotated[tuple[ScriptTurn, ...], msgspec.Meta(min_length=1, description="The answers, in their order.")]
    model: Annotated[str, msgspec.Meta(description="The name of the model that the run shows.")] = NAME
    price: Annotated[
        ScriptPrice | None, msgspec.Meta(description="What it costs, so that a limit in money can be tried.")
    ] = None
    agents: Annotated[
        tuple[ScriptAgent, ...],
        msgspec.Meta(
            description="Answers to agents that the run sends, and to the model that judges its goal and whose first "
            "message holds the transcript, instead of `turns`: the first entry that fits counts.",
        ),
    ] = ()

    def sections(self) -> Iterator[tuple[tuple[str | int, ...], str, tuple[ScriptTurn, ...]]]:
        """Where the turns stand in the file, the text that they are for, and the turns; those of agents first."""
        for index, agent in enumerate(self.agents):
            yield ("agents", index), agent.when, agent.turns
        yield (), "", self.turns


def read_script(source: str | Document) -> tuple[Script, Document]:
    """The script in a file or a document. Raises Faults, all of them at once."""
    document = load.read(source) if isinstance(source, str) else source
    script, faults = load.convert(document, Script)
    if script is not None:
        faults = [
            fault
            for place, _, turns in script.sections()
            for index, turn in enumerate(turns)
            for fault in _contradictions(turn, index, document, place)
        ]
    if script is None or faults:
        raise Faults(faults)
    return script, document


def _contradictions(turn: ScriptTurn, index: int, document: Document, place: tuple[str | int, ...]) -> list[Fault]:
    """What is well-formed and cannot be meant."""
    at = (*place, "turns", index)
    faults = [
        Fault(f"turn {index + 1}, call {number + 1}: `arguments` and `raw` exclude one another",
              document.where(*at, "calls", number))
        for number, call in enumerate(turn.calls)
        if call.arguments is not None and call.raw is not None
    ]  # fmt: skip
    if turn.error is not None and (turn.text or turn.thinking or turn.calls):
        message = f"turn {index + 1} both answers and fails"
        faults.append(Fault(message, document.where(*at, "error"), "text before a failure is `after_text`"))
    if turn.error is None and not (turn.text or turn.thinking or turn.calls or turn.stop):
        message = f"turn {index + 1} does nothing"
        faults.append(Fault(message, document.where(*at), "give it text, calls, an error, or a `stop` to be empty"))
    return faults


def open_provider(opening: Opening) -> ScriptedProvider:
    """Raises Faults for a script that cannot be used."""
    return ScriptedProvider(opening.model.name, timing=opening.timing)


class ScriptedProvider:
    """source: the path of a script, or its document. price: the script's, or None."""

    name = NAME
    key_source = "none"

    def __init__(self, source: str | Document, *, timing: Timing | None = None) -> None:
        script, self._document = read_script(source)
        self.model = script.model
        self.price = None if script.price is None else Price(script.price.input, script.price.output)
        timing = timing or Timing()
        self._conversation: str | None = None
        self._sections = [_Section(*each, self._document, timing) for each in script.sections()]

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """Raises ProviderFault(script) when the transcript is not what the script expects, or goes on
        after the script's end."""
        first = next((message.text() for message in request.messages if message.role == "user"), "")
        section = next(each for each in self._sections if each.when in first)
        if self._conversation is None:
            self._conversation = request.cache_key
        strange = not section.when and request.cache_key != self._conversation
        async for part in section.stream(request, OTHER_HINT if strange else MORE_HINT):
            yield part

    async def close(self) -> None:
        """There is nothing to close."""


class _Section:
    """Turns for one conversation, or for all whose first message holds `when`. place: where they stand in the file."""

    def __init__(
        self,
        place: tuple[str | int, ...],
        when: str,
        turns: Sequence[ScriptTurn],
        document: Document,
        timing: Timing,
    ) -> None:
        self.when = when
        self._place = place
        self._document = document
        self._timing = timing
        # Where a turn is repeated, its place in the file stays the one people have to look at.
        self._slots = [(index, turn) for index, turn in enumerate(turns) for _ in range(turn.repeat)]
        self._failed: set[int] = set()

    async def stream(self, request: Request, more: str) -> AsyncIterator[Part]:
        """more: what to do where the turns are too few."""
        answers = [index for index, message in enumerate(request.messages) if message.role == "assistant"]
        due, last = self._position(request.messages, answers)
        if last is not None:
            self._check_results(last, request.messages, answers[-1])
        if due >= len(self._slots):
            turns = f"{len(self._slots)} turn{'' if len(self._slots) == 1 else 's'}"
            what = f"the script has {turns} and the run asks for one more"
            raise self._fault(what, len(self._slots) - 1, hint=more)
        turn = self._slots[due][1]
        self._check_prompt(due, request.messages)
        if turn.delay:
            await self._timing.sleep(turn.delay)
        if turn.error is not None:
            self._failed.add(due)
            if turn.error.after_text:
                yield Delta(0, "text", turn.error.after_text)
            raise turn.error.fault()
        for part in _parts(turn, len(answers) + 1):
            yield part

    # -- which turn --------------------------------------------------------------------------------

    def _position(self, messages: Sequence[Message], answers: Sequence[int]) -> tuple[int, int | None]:
        """The slot that is due, and the slot that gave the last answer.

        A failing turn leaves an answer only where its text was kept; this process plays it once."""
        slot, last = 0, None
        for index in answers:
            while self._leaves_no_answer(slot, messages[index]):
                slot += 1
            last, slot = slot, slot + 1
        while slot in self._failed:
            slot += 1
        return slot, last

    def _leaves_no_answer(self, slot: int, answer: Message) -> bool:
        error = self._slots[slot][1].error if slot < len(self._slots) else None
        return error is not None and (not error.after_text or error.after_text != answer.text())

    # -- what it expects ---------------------------------------------------------------------------

    def _check_prompt(self, slot: int, messages: Sequence[Message]) -> None:
        wanted = self._slots[slot][1].expect_prompt
        if not wanted:
            return
        said = next((m.text() for m in reversed(messages) if m.role == "user" and m.text()), "")
        if wanted not in said:
            what = f"the last user message does not hold {shorten(wanted)}; it is {shorten(said, 120)}"
            raise self._fault(what, slot, "expect_prompt")

    def _check_results(self, slot: int, messages: Sequence[Message], answer: int) -> None:
        if slot >= len(self._slots):
            return
        calls = self._slots[slot][1].calls
        if all(call.expect_result is msgspec.UNSET for call in calls):
            return
        made = messages[answer].calls()
        results = {
            block.call_id: block.content
            for message in messages[answer + 1 :]
            for block in message.content
            if isinstance(block, ResultBlock)
        }
        for number, call in enumerate(calls):
            if call.expect_result is msgspec.UNSET:
                continue
            content = results.get(made[number].id) if number < len(made) else None
            difference = "it has no result" if content is None else compare(call.expect_result, content)
            if difference:
                what = f"call {number + 1} ({call.tool}): {difference}; nothing was written after this"
                raise self._fault(what, slot, "calls", number, "expect_result")

    def _fault(self, what: str, slot: int, *keys: str | int, hint: str = "") -> ProviderFault:
        index = self._slots[slot][0]
        where = self._document.where(*self._place, "turns", index, *keys)
        hint = hint or "if the change is meant, change the script; if not, look at the task's input"
        return ProviderFault(f"script turn {index + 1}: {what}", where=where, hint=hint, kind="script")


def _parts(turn: ScriptTurn, number: int) -> list[Part]:
    parts: list[Part] = []
    if turn.thinking:
        parts += [Delta(0, "thinking", turn.thinking), BlockPart(0, ThinkingBlock(turn.thinking))]
    if turn.text:
        index = len(parts) // 2
        parts += [Delta(index, "text", turn.text), BlockPart(index, TextBlock(turn.text))]
    for position, call in enumerate(turn.calls, 1):
        index, text, call_id = len(parts) // 2, call.text(), call.id or f"call_{number}_{position}"
        parts += [Delta(index, "call", text, call_id, call.tool), BlockPart(index, CallBlock(call_id, call.tool, text))]
    usage = turn.usage
    parts.append(UsagePart(Usage(usage.input, usage.output, usage.cache_read, usage.cache_write)))
    parts.append(StopPart(turn.stop or ("tool_use" if turn.calls else "end_turn")))
    return parts


# -- comparing a result ------------------------------------------------------------------------------


def compare(expected: Any, content: str) -> str:
    """What is wrong with a result, or "". content: the text the model reads.

    JSON is compared with JSON, numbers exactly; an expectation that is no JSON has to occur in the text."""
    try:
        seen = json.loads(content)
    except (ValueError, RecursionError):
        if isinstance(expected, str):
            return "" if expected in content else f"the result lacks {shorten(expected)}, seen {shorten(content, 120)}"
        return f"expected JSON with {shorten(expected)}, seen {shorten(content, 120)}"
    if isinstance(expected, str):
        try:
            expected = json.loads(expected)
        except ValueError:
            return "" if expected in content else f"the result lacks {shorten(expected)}, seen {shorten(content, 120)}"
    return _difference(expected, seen, "$")


def _difference(expected: Any, seen: Any, path: str) -> str:
    if isinstance(expected, dict) and isinstance(seen, list):
        return _difference_by_index(expected, seen, path)
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key, value in expected.items():
            if key not in seen:
                return f"the result has no {path}.{key}, expected {shorten(value)}; it has {shorten(list(seen))}"
            if found := _difference(value, seen[key], f"{path}.{key}"):
                return found
        return ""
    if isinstance(expected, list) and isinstance(seen, list):
        if len(expected) != len(seen):
            return f"the result differs at {path}: expected {len(expected)} items, seen {len(seen)}"
        pairs = enumerate(zip(expected, seen, strict=True))
        return next((found for i, (a, b) in pairs if (found := _difference(a, b, f"{path}[{i}]"))), "")
    if _same(expected, seen):
        return ""
    return f"the result differs at {path}: expected {shorten(expected)}, seen {shorten(seen)}"


def _difference_by_index(expected: dict[str, Any], seen: list[Any], path: str) -> str:
    for key, value in expected.items():
        index = int(key) if key.isdecimal() else -1
        if not 0 <= index < len(seen):
            return f"the result has no {path}[{key}], expected {shorten(value)}; it is a list of {len(seen)}"
        if found := _difference(value, seen[index], f"{path}[{index}]"):
            return found
    return ""


def _same(expected: Any, seen: Any) -> bool:
    # True equals 1 in Python, and is not the same value in JSON.
    if isinstance(expected, bool) or isinstance(seen, bool):
        return expected is seen
    return bool(expected == seen)
