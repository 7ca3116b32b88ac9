"""What a low floor needs from a high one, as Protocols. `wiring` hands in the real parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal, Protocol, runtime_checkable

import msgspec

from remit.base.calls import Call, Decision, Outcome, Retained, RuleRef
from remit.base.events import Event
from remit.base.messages import Part, Request
from remit.base.records import PlanWritten, Record
from remit.base.resources import Effect, Resource
from remit.base.spec import Environment, HookEvent


class Clock(Protocol):
    def now(self) -> float:
        """Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...


class Listener(Protocol):
    """One of those who hear every event, in order. `line` is the event as one JSON line, no newline."""

    def on_event(self, event: Event, line: bytes) -> None: ...


class Journal(Protocol):
    def append(self, record: Record, *, sync: bool = True) -> None:
        """Write one record; with `sync` it is on disk when this returns. Raises EnvironmentFault."""
        ...


class Provider(Protocol):
    """A model. Typed failures: ProviderFault, ProviderBusy, PreflightFault."""

    name: str
    """`scripted`, `replay`, `openai`, `local`, ..."""

    model: str
    """The provider's own model name, as it goes into a Request."""

    key_source: str
    """Where the key came from (an environment variable's name), or `none`."""

    def stream(self, request: Request) -> AsyncIterator[Part]:
        """Ask. A complete answer ends with a StopPart; the iterator may be closed early."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Recorded(Protocol):
    """A provider that knows how the run has to go."""

    @property
    def unplayed(self) -> int:
        """Answers it still holds; a run that ends with some left is not the one that was recorded."""
        ...

    @property
    def environment(self) -> Environment | None:
        """What the recorded model was told of where and when it worked."""
        ...


class Policy(Protocol):
    """A rule set. It never changes: another mode is another rule set."""

    def decide(self, tool: str, effects: frozenset[Effect], resources: Sequence[Resource]) -> Decision:
        """The strictest word over all resources. Never raises: what it cannot judge is denied."""
        ...

    def asked(self, tool: str, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Those of a call's resources that an approval has to cover."""
        ...

    def entry_allowed(self, tool: str, effect: Effect, entry: Resource, approved: RuleRef | None = None) -> bool:
        """Whether a tree call may show this entry below its root (no rule that always holds, and no
        rule of the rank that speaks, denies or asks for it). approved: the asking rule that was
        answered for the tree, and so for its entries."""
        ...

    def never_allows(
        self, tool: str, effects: frozenset[Effect], answerable: Callable[[str], bool] | None = None
    ) -> RuleRef | None:
        """The rule (or absence of one) by which every call of this tool would be refused, if so.
        answerable: whether approvals at hand may answer an ask of a tool; None: any may be answered."""
        ...


class Approval(msgspec.Struct, frozen=True):
    """A prepared answer that fits a call. where: `file:line` of the entry."""

    allow: bool
    where: str
    why: str
    entry: str
    """Stable id of the entry (file digest and index), by which uses are counted."""


class Approvals(Protocol):
    def answer(self, tool: str, arguments_digest: str, resources: Sequence[Resource]) -> Approval | None:
        """What the unexpired, unspent entries say of a call with these asking resources. A use is
        counted (durably) when it is allowed."""
        ...

    def answerable(self, tool: str) -> bool:
        """Whether any entry may still allow a call of this tool."""
        ...

    def why_not(self, tool: str, resources: Sequence[Resource]) -> str:
        """Why the last call of this tool with these asking resources was not answered, or ""; for the one who reads
        the refusal."""
        ...


class ClientWord(msgspec.Struct, frozen=True):
    """What a client program says of a call that the rules ask about. arguments: JSON text that replaces those of
    the model, None: as they are. message: for the model, why it is refused. interrupt: end the prompt as well."""

    allow: bool
    message: str = ""
    arguments: str | None = None
    interrupt: bool = False


class Client(Protocol):
    """A program that drives the session and can be asked."""

    async def may_use(self, call: Call, decision: Decision, agent_id: str = "") -> ClientWord:
        """Whether the call may be made. agent_id: of the agent that makes it, "" for the main one. Never raises: no
        answer is a refusal that says so."""
        ...


Response = Callable[[str, Call, Outcome, str], Any]
"""The result of a call as hooks are told it: from the agent, the call, its outcome, and what the model reads."""


class HookWord(msgspec.Struct, frozen=True):
    """What hooks say of a step. The empty one says nothing.

    decide: before a call `allow` answers an ask, `ask` makes one where the rules would let the call pass, `deny`
    refuses; of a prompt `deny` withholds it from the model; at the end `deny` has the model go on. message: why, for
    the model. arguments: JSON text in place of the call's, which the rules judge as a new call. context: text that
    the model is told along with the step. stop: why the prompt ends here, None: it does not; a call
    that it is said of does not run. who: the hook that spoke. output: what takes the place of the result of a call,
    None: nothing does. said: what people are to hear of it."""

    decide: Literal["", "allow", "ask", "deny"] = ""
    message: str = ""
    arguments: str | None = None
    context: str = ""
    stop: str | None = None
    who: str = ""
    output: Any = None
    said: tuple[str, ...] = ()


class Hooks(Protocol):
    """Programs that are told of the steps of a run and may have a word in them. Never raises: a hook that fails is a
    refusal that says so."""

    async def before_call(self, call: Call) -> HookWord:
        """Before the rules judge a call, or a part of one. May be asked again after a resume."""
        ...

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        """After a call that ran. content: what the model is shown. Only `context`, `message` and `stop` count."""
        ...

    async def on_prompt(self, text: str) -> HookWord:
        """Before a message of the user reaches the model."""
        ...

    async def on_stop(self, text: str, again: bool) -> HookWord:
        """When the model is done. text: its answer. again: a hook has had it go on before."""
        ...

    async def on_asked(self, call: Call) -> HookWord:
        """When somebody is to be asked about a call. Only `stop` counts."""
        ...

    async def on_step(self, event: HookEvent, fields: Mapping[str, Any], kind: str = "") -> HookWord:
        """Another step. fields: what is told of it. kind: of the step, which matchers go by."""
        ...

    def for_agent(self, agent_id: str, agent_type: str) -> Hooks:
        """The same, told of the steps of an agent."""
        ...


class Names(Protocol):
    """What a client calls our tools and their parameters."""

    def tool(self, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
        """arguments: of the call, under our names, where it is one: some tools of ours are several of theirs."""
        ...

    def shown(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a tool of ours under the client's names."""
        ...

    def taken(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The client's arguments for a tool of ours under our names."""
        ...

    def told(self, tool: str, text: str) -> str:
        """A text about a call, for the client."""
        ...


class World(Protocol):
    """The facts a tool may ask before policy has spoken: names, never content.

    Raises Failure(path_refused) for names that no workspace tool accepts."""

    def path(self, spelled: str, effect: Effect) -> Resource:
        """A file or directory itself."""
        ...

    def tree(self, spelled: str, effect: Effect) -> Resource:
        """A directory and all below it."""
        ...

    def place(self, spelled: str, effect: Effect) -> Resource:
        """A tree where a directory is there now, else a path."""
        ...

    def relative(self, spelled: str) -> str:
        """An absolute path below the workspace as a name in it, for tools that take both; any other
        spelling as it is. Raises Failure(path_refused) for an absolute path elsewhere."""
        ...

    def url(self, spelled: str, effect: Effect) -> Resource:
        """A public URL, in its normal form. Raises Failure(url_refused, port_refused, address_refused)
        for one that no tool may reach, whatever the rules say."""
        ...


class Entry(msgspec.Struct, frozen=True):
    """One thing found by a walk. name: workspace-relative POSIX path. size: bytes, 0 for directories.
    link: whether the name is a symbolic link; kind and size are then those of its target, `other`
    where there is none inside the workspace. real: the name behind links where it is another, or ""."""

    name: str
    kind: Literal["file", "directory", "other"]
    size: int = 0
    link: bool = False
    real: str = ""

    def names(self) -> tuple[str, ...]:
        """Every name the entry has to be judged by: the spelled one and the real one."""
        return (self.name, self.real) if self.real else (self.name,)


class Walk(Protocol):
    """A walk over a declared tree: sorted by name, directories before what they hold, links not
    followed out of the workspace, entries that the rules withhold left out and counted.

    The counts grow while it is iterated. withheld: by the rules. unreadable: directories and entries
    that the file system does not show. outside: links that lead out of the workspace or in a circle.
    unfollowed: directories behind links, listed and not descended. overfull: directories with more
    entries than a walk holds, listed in part."""

    withheld: int
    unreadable: int
    outside: int
    unfollowed: int
    overfull: int

    def __iter__(self) -> Iterator[Entry]: ...


class Original(msgspec.Struct, frozen=True):
    """A file as it was found. name: as declared. real: behind links, as the file system has it. content:
    None where there is no file yet. mark: tells this state of the file from others,
    `<mtime_ns>:<size>:<inode>`, or "". mode: permission bits. links: how many names the file has. linked:
    whether the name itself is a symbolic link. identity: what must not change until it is replaced."""

    name: str
    real: str
    content: bytes | None = None
    mark: str = ""
    mode: int = 0
    links: int = 0
    linked: bool = False
    identity: tuple[int, ...] = ()


class Ground(Protocol):
    """A declared tree, opened for a search; a context manager. Names are relative to it, as the file
    system has them.

    fd: of the directory. name: the tree's, workspace-relative."""

    fd: int
    name: str

    def __enter__(self) -> Ground: ...

    def __exit__(self, *_: object) -> None: ...

    def shows(self, name: str) -> bool:
        """Whether an entry may be shown: no credential file, and no rule withholds it."""
        ...

    def open(self, name: str) -> BinaryIO:
        """A regular file below, itself and not through a link."""
        ...

    def open_directory(self, name: str) -> int:
        """A directory below, itself and not through a link; the caller closes the descriptor."""
        ...


class Files(Protocol):
    """The grant for declared paths and trees of the workspace. Anything else: Failure(undeclared).

    Names may also be absolute paths below the workspace."""

    def open(self, name: str) -> BinaryIO:
        """A regular file for reading, opened beneath the root and held to be what policy saw.
        `name` is a declared path, or an entry of a declared tree's walk."""
        ...

    def read(self, name: str, max_bytes: int) -> Original:
        """A regular file in one state, whole. Raises Failure(file_too_large, file_changed)."""
        ...

    def stat(self, name: str) -> Entry:
        """Raises Failure(not_found)."""
        ...

    def walk(self, name: str, max_depth: int | None = None) -> Walk:
        """The entries below a declared tree; depth 1 is its direct children."""
        ...

    def ground(self, name: str) -> Ground:
        """A declared tree, or a directory in one, opened for a search. Raises Failure(not_a_directory)."""
        ...


class Change(msgspec.Struct, frozen=True):
    """What becomes of a file. original: as it was read for this. content: None removes it. mode: of a new
    file; None: as the process makes files."""

    original: Original
    content: bytes | None
    mode: int | None = None


class Edits(Protocol):
    """The grant for declared paths that are written. Anything else: Failure(undeclared).

    Names may also be absolute paths below the workspace."""

    def read(self, name: str, max_bytes: int) -> Original:
        """The file that is to be changed, or that there is none. Raises Failure(not_a_file, file_too_large,
        file_changed, path_refused)."""
        ...

    def publish(self, changes: Sequence[Change], check: Callable[[], None]) -> tuple[str, ...]:
        """All changes or none; the marks of the new states, "" for a removed file. Each file is whole at
        every instant, and none is touched that is no longer as it was read: Failure(file_changed,
        already_exists). Missing directories of new files are made. check: asked before the first file is
        touched; what it raises calls everything off. Raises Failure(io_error) with nothing changed."""
        ...


class Page(msgspec.Struct, frozen=True):
    """What one GET brought. media_type: lower case, no parameters. charset: the header's, or "".
    redirect_to: set when the answer was a redirect to another host, which is not followed."""

    url: str
    final_url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    requests: int
    redirect_to: str = ""


class Web(Protocol):
    """The grant for declared URLs. Anything else: Failure(undeclared)."""

    async def get(self, url: str) -> Page: ...


class ArtifactInfo(msgspec.Struct, frozen=True):
    """One published artifact. path: relative to the run directory. sha256: hex."""

    name: str
    bytes: int
    sha256: str
    media_type: str
    call: str
    path: str


class Artifacts(Protocol):
    """The grant for declared artifact names."""

    max_bytes: int

    def write(self, name: str, content: bytes) -> ArtifactInfo:
        """Store and publish, whole or not at all; the same call may write again without harm."""
        ...


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the plan."""

    step: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]
TodoPriority = Literal["high", "medium", "low"]


class Todo(msgspec.Struct, frozen=True):
    """One item of the todo list."""

    content: str
    status: TodoStatus = "pending"
    priority: TodoPriority = "medium"


class RunState(Protocol):
    """The grant for stores that the run owns."""

    def set_plan(self, steps: Sequence[Step], note: str) -> None: ...

    def set_todos(self, todos: Sequence[Todo]) -> None:
        """Replace the whole list."""
        ...

    def plan_document(self) -> str:
        """The plan of the session. Raises Failure(not_found, file_refused)."""
        ...

    def write_plan_document(self, content: str) -> PlanWritten:
        """Replace the plan of the session. Raises Failure(denied, invalid_arguments), EnvironmentFault."""
        ...

    def propose_memory(self, text: str, tags: Sequence[str], reason: str) -> str:
        """Store an inactive proposal and return its id. Raises Failure(too_many_proposals)."""
        ...

    def submit_output(self, value: Any, problems: str) -> None:
        """An attempt at the structured output; `problems` "" when it fits. The last valid one counts."""
        ...

    @property
    def result_bytes(self) -> int:
        """What one result may take of the model's context window."""
        ...

    def output(self, handle: str) -> str:
        """A result that this run keeps, whole. Raises Failure(not_found)."""
        ...


class Outputs(Protocol):
    """Keeps results whole that the model is shown in part, or may want to look into again."""

    def retain(self, key: str, producer: str, text: str, *, cut: bool, sync: bool) -> Retained | None:
        """Keep the result of a call where it is worth it. producer: what it is named after. cut: the model is
        shown only a part. sync: it is on disk when this returns. Raises EnvironmentFault."""
        ...


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A process that ended. exit_code: minus the number of the signal that ended it; None when it was
    killed by its time limit. truncated: stdout or stderr is not all there was. timed_out, flooded: ended by us, for
    its time or for printing too much. outlived: something it started could not be ended. seconds: wall
    time. stdout_bytes, stderr_bytes: as they came. workdir: where it ran, a name in the workspace. refused_hosts: what
    it asked to be connected to in vain, and why. left_behind: what of its doing was undone, such as settings that would
    make git run programs later, outside the sandbox, and what among the artifacts is none. hidden: what the line names,
    as it is written there, and no command can read."""

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False
    timed_out: bool = False
    flooded: bool = False
    outlived: bool = False
    seconds: float = 0.0
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    workdir: str = "."
    refused_hosts: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class Process(Protocol):
    """The grant for declared commands, confined as the run's sandbox says. filters: whether the model is to read their
    output without what it does not need."""

    filters: bool

    async def run(self, argv: Sequence[str], *, seconds: float, max_bytes: int) -> Finished:
        """Run without a shell in the workspace, stdin null; all it started ends with it. Raises
        Failure(command_failed) when it cannot be started."""
        ...

    async def shell(
        self, command: str, *, workdir: str, seconds: float, take: Callable[[int, bytes], None]
    ) -> Finished:
        """Run a line in bash in a declared directory ("." is the workspace), otherwise as `run`. take: gets
        the bytes of the streams (1 stdout, 2 stderr) as they come; Finished holds none."""
        ...


class Raised(msgspec.Struct, frozen=True):
    """What a script failed with. type: the exception's name, or `TypeCheckError` before it ran."""

    type: str
    message: str
    traceback: str = ""


class Evaluated(msgspec.Struct, frozen=True):
    """What a script came to. limited: a limit ended it, `limit` says which. value: of its last expression;
    value_repr: in its place, for a value that JSON has no word for or that is too large."""

    outcome: Literal["ok", "error", "limited"]
    value: Any = None
    value_repr: str = ""
    limit: Literal["", "time", "memory", "recursion"] = ""
    raised: Raised | None = None
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False


class Interpreter(Protocol):
    """The grant for tools that run scripts in isolation."""

    async def run(self, code: str, *, seconds: float) -> Evaluated:
        """Run Python with nothing to reach from inside. Raises Failure(command_failed) when it cannot."""
        ...


class SourceCode(Protocol):
    """The grant for tools that read source. Its methods block."""

    def answers(self, name: str) -> Any:
        """A `code.answers.Answers` over a declared tree, or a directory in one, as it is now; the same for as long as
        nothing in it changes. Raises Failure(not_a_directory, command_failed, cancelled)."""
        ...

    def facts(self, name: str, source: bytes) -> Any:
        """What one file defines and imports, as `code.facts.Facts`, its language told by name and content; None where
        that is no language that can be read here, or the file is one that no parser survives. Raises
        Failure(command_failed, cancelled)."""
        ...


SudoState = Literal["available", "unavailable", "not-found", "unknown", "not-needed", "not-applicable", "refused"]


class Machine(msgspec.Struct, frozen=True):
    """Facts about the machine. sudo: without a password; `refused` where no rule let it be tried. tools: by
    group, programs and their versions, "" where not known. refused: commands that no rule let run."""

    system: str
    release: str
    architecture: str
    package_managers: tuple[str, ...]
    container: tuple[str, ...]
    root: bool
    sudo: SudoState
    tools: dict[str, dict[str, str]]
    refused: tuple[str, ...] = ()


class MachineSurvey(Protocol):
    """The grant for the tool that inspects the machine."""

    async def survey(self) -> Machine:
        """Look around, and run those commands of a fixed list that the rules allow this call."""
        ...


class Question(msgspec.Struct, frozen=True):
    """What the model asks a person. header: a name for it. options: their labels. multiple: whether several may be
    chosen. notes: by option, what follows from choosing it."""

    text: str
    header: str
    options: tuple[str, ...] = ()
    multiple: bool = False
    notes: tuple[str, ...] = ()


class Reply(msgspec.Struct, frozen=True):
    """answer: labels, or one text of other words; empty: none, `why_not` says why. where: who gave it, `file:line`
    of a prepared one."""

    answer: tuple[str, ...] = ()
    where: str = ""
    why_not: str = ""


class Questions(Protocol):
    """Who answers questions of the model; also the grant for the tool that asks them."""

    async def ask(self, question: Question) -> Reply:
        """Never waits for somebody who is not there."""
        ...


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is asked for. task_id: of one that was asked before, which goes on; mode, profile: "" is as the
    caller has it, or as that one had it. schema: of its result, None for a text. background: nobody waits."""

    description: str
    prompt: str = ""
    task_id: str = ""
    mode: str = ""
    profile: str = ""
    schema: dict[str, Any] | None = None
    background: bool = False


class Agents(Protocol):
    """The grant for tools that have other agents work."""

    async def delegate(self, order: Order) -> Outcome:
        """What the agent came to, or that it goes on in the background. Raises Failure (invalid_arguments,
        not_found)."""
        ...


class Jobs(Protocol):
    """The grant for tools that deal with work in the background. Raises Failure(not_found) for unknown task ids."""

    def start(self, label: str, description: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Carry on with the call in the background; the receipt. label: what its id is made of."""
        ...

    def listing(self, before: str, limit: int) -> dict[str, Any]:
        """The running jobs, and those that ended, the newest first: at most `limit`, older than `before`."""
        ...

    def status(self, task_id: str) -> dict[str, Any]: ...

    async def cancel(self, task_id: str) -> dict[str, Any]:
        """End it, and wait for that."""
        ...

    def promote(self, task_id: str) -> dict[str, Any]:
        """Let a job that a call waits for go on in the background. Raises Failure(invalid_arguments)."""
        ...


class Principal(Protocol):
    """The grant for telling the agent that this one works for."""

    def report(self, title: str, message: str, *, blocked: bool) -> None: ...


class ToolContext(Protocol):
    """What a running call holds: its grants, and nothing else. A grant that was not given raises
    Failure(undeclared) when reached for."""

    key: str

    def check_cancelled(self) -> None:
        """Raise Failure(cancelled) once the call has been cancelled; long loops ask now and then."""
        ...

    @property
    def files(self) -> Files: ...
    @property
    def edits(self) -> Edits: ...
    @property
    def web(self) -> Web: ...
    @property
    def artifacts(self) -> Artifacts: ...
    @property
    def state(self) -> RunState: ...
    @property
    def process(self) -> Process: ...
    @property
    def python(self) -> Interpreter: ...
    @property
    def machine(self) -> MachineSurvey: ...
    @property
    def code(self) -> SourceCode: ...
    @property
    def questions(self) -> Questions: ...
    @property
    def agents(self) -> Agents: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def principal(self) -> Principal: ...

    def seen(self, path: str) -> str:
        """The mark of a file of the workspace when the model last read or wrote it, or ""."""
        ...

    def saw(self, path: str, mark: str) -> dict[str, str]:
        """The model now knows the file in this state ("": it is gone). The stamp that says so, for the
        outcome's data: under `stamp`, several under `stamps`."""
        ...

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run blocking work off the loop. When the call is cancelled the result is abandoned."""
        ...
