"""The file of a recorded run: JSON lines in the order in which things happened.

First the header: `{"remit_recording": 3, "version", "provider", "model", "models", "started", "home", "own",
"spec", "agents_models"}`. Then, for each question to a model, `{"model", "request", "parts", "error"?}`, and for each
call, checks of the task included, `{"call": {...}}` as `RecordedCall` has it. Last `{"end": {...}}`, which a run
that was killed does not get to write. What an agent asked and did that works for the main one has its task id as
`"agent"`.

Requests and parts are `base.messages` as JSON, and no line holds secrets that are known: `[redacted]` stands
in their place, all else is spelled as it was. Live deltas are left out, but for the text of a block that
never ended: the blocks say the same, and a secret that arrives in two pieces could not be found in deltas.
Version 1 holds only questions and answers; what agents did is in none before version 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from remit.base.calls import Decision, Outcome, Retained
from remit.base.errors import Fault, Faults, PreflightFault, ProviderBusy, ProviderFault
from remit.base.finite import hold_finite
from remit.base.messages import MAX_TOKENS, BlockPart, Delta, Part, Request, UsagePart
from remit.base.records import ArtifactRemoved, ArtifactWritten
from remit.base.redact import REDACTED
from remit.base.resources import Resource
from remit.base.spec import Environment, Price
from remit.config.load import read_bytes

T = TypeVar("T")

VERSION = 3
READABLE = (1, 2, 3)
WITH_AGENTS = 3
"""The first version that holds what agents did."""


class RecordedModel(msgspec.Struct, frozen=True):
    """A model of the run, in the order in which they are asked. provider, model: the provider's own names.
    price, metered: what its answers cost."""

    provider: str
    model: str
    price: Price | None = None
    metered: bool = True

    @property
    def id(self) -> str:
        return f"{self.provider}/{self.model}"


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """provider, model: of the model that was asked first. version: of the program. started: Unix seconds.
    home, own: the user's home directory and the places of remit itself, which the rules went by.
    spec: the RunSpec as builtins, None where no run was recorded but only a provider. agents_models: those that the
    profiles of agents name, by the name they have in the spec."""

    remit_recording: int
    provider: str
    model: str
    version: str = ""
    models: tuple[RecordedModel, ...] = ()
    started: float = 0.0
    home: str = ""
    own: tuple[str, ...] = ()
    spec: dict[str, Any] | None = None
    agents_models: dict[str, RecordedModel] = {}


class RecordedError(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an exchange failed: a ProviderFault, or a ProviderBusy where `busy`, a PreflightFault where `preflight`."""

    what: str
    kind: str
    hint: str = ""
    where: str = ""
    busy: bool = False
    preflight: bool = False
    reset_at: str = ""

    @classmethod
    def of(cls, fault: ProviderFault | PreflightFault) -> RecordedError:
        return cls(
            fault.what,
            fault.kind,
            fault.hint,
            fault.where,
            isinstance(fault, ProviderBusy),
            isinstance(fault, PreflightFault),
            fault.reset_at if isinstance(fault, ProviderBusy) else "",
        )

    def fault(self) -> ProviderFault | PreflightFault:
        if self.preflight:
            return PreflightFault(self.what, where=self.where, hint=self.hint, kind=self.kind)
        if not self.busy:
            return ProviderFault(self.what, where=self.where, hint=self.hint, kind=self.kind)
        busy = ProviderBusy(self.what, hint=self.hint, kind=self.kind, reset_at=self.reset_at)
        busy.where = self.where
        return busy


class Exchange(msgspec.Struct, frozen=True):
    """request: canonical, as `canonical` makes it. model: `provider/model` that was asked, "" in version 1.
    line: where it stands in the file."""

    request: dict[str, Any]
    parts: tuple[Part, ...] = ()
    error: RecordedError | None = None
    model: str = ""
    line: int = 0

    def answers(self) -> int:
        """How many answers of the model its request holds."""
        return sum(message.get("role") == "assistant" for message in self.request.get("messages", ()))


class RecordedCall(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of a call. decision None: no rule was asked, because its arguments make no sense or it was
    not run for another reason. outcome None: the run ended before the call did. content: what the model is
    shown. output: where that was kept whole. network_requests: charged since the call before it was settled.
    redacted: what it was called with held a secret, so that it cannot be made again as it was. wrote: the artifacts
    that commands of it wrote by themselves, without their content, and those they took away."""

    key: str
    id: str
    tool: str
    resources: tuple[Resource, ...] = ()
    allowed: bool = False
    decision: Decision | None = None
    approval: str = ""
    outcome: Outcome | None = None
    content: str = ""
    network_requests: int = 0
    redacted: bool = False
    output: Retained | None = None
    wrote: tuple[ArtifactWritten | ArtifactRemoved, ...] = ()


class RecordedEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the run ended: verdict, exit code and kind of the result, what was said, and what did not hold.
    gave: the rest of the result, as `given` has it."""

    verdict: str
    exit_code: int
    gave: dict[str, Any]
    kind: str = ""
    errors: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


class RecordedRun(msgspec.Struct, frozen=True):
    """A recording as it was read. calls: by key. lines: where each of them stands. end None: it was killed.
    torn: the line in which the file breaks off, 0: none. agents: what those did that worked for it, by task id; their
    header and end are the run's."""

    path: str
    header: Header
    exchanges: list[Exchange]
    calls: dict[str, RecordedCall]
    lines: dict[str, int]
    end: RecordedEnd | None
    torn: int = 0
    agents: dict[str, RecordedRun] = {}

    @property
    def holds_agents(self) -> bool:
        """Whether what agents did would be in it."""
        return self.header.remit_recording >= WITH_AGENTS

    @property
    def environment(self) -> Environment | None:
        """What the model was told of where and when it worked; None where that is not known."""
        try:
            return msgspec.convert((self.header.spec or {}).get("environment"), Environment | None)
        except msgspec.ValidationError:
            return None

    def agent(self, task_id: str) -> RecordedRun:
        """What the agent did, if anything."""
        return self.agents.get(task_id) or msgspec.structs.replace(self, exchanges=[], calls={}, lines={}, agents={})


_encode = msgspec.json.Encoder().encode


def encode(value: Any) -> bytes:
    """In the order in which keys stand: that of the tools in a spec is the one the model is told. Raises ValueError
    for a number that JSON does not have."""
    return hold_finite(value, _encode(value))


def canonical(request: Request, clean: Callable[[Any], Any]) -> dict[str, Any]:
    """A request as it stands in a recording: all of it but secrets, which `clean` takes from builtins, and what
    a run that plays it again does not share: the conversation's key and who gave the answers."""
    cleaned: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(clean(msgspec.to_builtins(request))))
    cleaned.pop("cache_key", None)
    for message in cleaned["messages"]:
        message.pop("origin", None)
    return cleaned


def given(result: Mapping[str, Any], redacted: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What a result holds besides its verdict that a run that plays it again has to give as well, structured
    output as JSON text. redacted: artifacts with a secret in them, whose digest is another without it."""
    artifacts = [
        {"name": each["name"], "sha256": REDACTED if each["name"] in redacted else each["sha256"]}
        for each in result.get("artifacts", ())
    ]
    output = encode(result.get("structured_output")).decode()
    same = {key: result.get(key) for key in ("result", "num_turns", "counts")}
    return {**same, "structured_output": output, "artifacts": artifacts}


def kept(parts: Sequence[Part]) -> list[Part]:
    """The parts that a recording holds. Text whose block never ended stands behind them, in one piece."""
    begun: dict[int, list[str]] = {}
    whole: list[Part] = []
    for part in parts:
        if isinstance(part, Delta):
            begun.setdefault(part.index, []).append(part.text if part.kind == "text" else "")
            continue
        if isinstance(part, BlockPart):
            begun.pop(part.index, None)
        whole.append(part)
    texts = ((index, "".join(pieces)) for index, pieces in sorted(begun.items()))
    return whole + [Delta(index, "text", text) for index, text in texts if text]


# -- reading -----------------------------------------------------------------------------------


class _Mark(msgspec.Struct, frozen=True):
    remit_recording: int


class _Line(msgspec.Struct, frozen=True):
    request: dict[str, Any] | None = None
    parts: tuple[Part, ...] = ()
    error: RecordedError | None = None
    model: str = ""
    call: RecordedCall | None = None
    end: RecordedEnd | None = None
    agent: str = ""


def read_recording(path: str) -> RecordedRun:
    """A recording. A last line that no newline ends, or that is no JSON, was cut and does not count. Raises
    Faults."""
    lines, torn = _whole_lines(path)
    if not lines:
        raise Faults([Fault("this is no recording: it has no header", path)])
    version = _decode(lines[0], _Mark, path, 1).remit_recording
    if version not in READABLE:
        message = f"the recording is of version {version}, this program reads {VERSION} and older"
        raise Faults([Fault(message, f"{path}:1", "play it with the remit that wrote it, or record it again")])
    run = RecordedRun(path, _decode(lines[0], Header, path, 1), [], {}, {}, None, torn, {})
    for number, raw in enumerate(lines[1:], 2):
        if run.end is not None:
            raise Faults([Fault("the recording goes on after its end", f"{path}:{number}", "record it again")])
        run = _with_line(run, _decode(raw, _Line, path, number), number)
    if run.end is not None and torn:
        raise Faults([Fault("the recording goes on after its end", f"{path}:{torn}", "record it again")])
    agents = {name: msgspec.structs.replace(each, end=run.end) for name, each in run.agents.items()}
    return msgspec.structs.replace(run, agents=agents)


def _whole_lines(path: str) -> tuple[list[bytes], int]:
    """The lines, and the number of a last one that is not whole, 0 when it is."""
    *lines, rest = read_bytes(path, None).split(b"\n")
    if rest:
        return lines, len(lines) + 1
    if len(lines) > 1 and not _is_json(lines[-1]):
        return lines[:-1], len(lines)
    return lines, 0


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _with_line(run: RecordedRun, line: _Line, number: int) -> RecordedRun:
    kinds = [each for each in (line.request, line.call, line.end) if each is not None]
    where = f"{run.path}:{number}"
    if len(kinds) != 1:
        raise Faults([Fault("this is no line of a recording: it is neither exchange, call nor end", where)])
    if line.agent:
        if line.end is not None:
            raise Faults([Fault("this is no line of a recording: an agent has no end of its own", where)])
        run.agents[line.agent] = _with_line(run.agent(line.agent), msgspec.structs.replace(line, agent=""), number)
        return run
    if line.request is not None:
        _hold_usage(line, where)
        run.exchanges.append(Exchange(line.request, line.parts, line.error, line.model, number))
    if line.call is not None:
        if line.call.key in run.calls:
            first = run.lines[line.call.key]
            raise Faults([Fault(f"the call {line.call.key} stands in line {first} already", where, "record it again")])
        run.calls[line.call.key], run.lines[line.call.key] = line.call, number
    return msgspec.structs.replace(run, end=line.end) if line.end is not None else run


def _hold_usage(line: _Line, where: str) -> None:
    """Raise Faults for what is no number of tokens."""
    for part in line.parts:
        if isinstance(part, UsagePart):
            counts = msgspec.structs.asdict(part.usage)
            odd = next((name for name, count in counts.items() if not 0 <= count <= MAX_TOKENS), "")
            if odd:
                what = f"this is no line of a recording: a usage of {counts[odd]} {odd} tokens"
                raise Faults([Fault(what, where, "record it again")])


def _decode(line: bytes, kind: type[T], path: str, number: int) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        where = f"{path}:{number}"
        raise Faults([Fault(f"this is no line of a recording: {problem}", where)]) from None
