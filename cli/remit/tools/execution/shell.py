"""shell: one line of bash in the workspace, confined."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from remit.base.calls import Outcome, done
from remit.base.clipping import Gap, gap
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, MIB, Bounds
from remit.base.messages import ToolSpec
from remit.base.ports import Finished, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten, visible
from remit.tools.contract import Tool

if TYPE_CHECKING:
    from remit.workspace.terminal import Rendered

MAX_COMMAND_BYTES = 64 * KIB
MAX_SECONDS = 21_600
DEFAULT_SECONDS = 120
KEPT_BYTES = 1 * MIB - 256
"""Of each stream, as a terminal shows it; with the notice of what is left out, as much as is filtered."""

PREVIEW_BYTES = 24 * KIB
"""Of all that the model reads of a command."""

MAX_LABEL = 80
MAX_REFUSED_HOSTS = MAX_LEFT_BEHIND = MAX_HIDDEN = 10
"""That the model is told of."""

Execution = Literal["sync", "auto", "async"]

_SLACK_SECONDS = 30.0
_MAX_ASSIGNMENTS = 20
_ASSIGNMENT = re.compile(r"\w+\+?=")
_PUNCTUATION = frozenset("();<>|&")
_JOINED = re.compile(r"\s2>&1$")
_LEADING_CD = re.compile(
    r"""\s*cd\s+(?P<quote>['"]?)(?P<place>[^\s'"$`~*?\[{\\;&|<>()!#-][^\s'"$`*?\[{\\;&|<>()]*)(?P=quote)\s*&&"""
)


class ShellParams(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(min_length=1, description="A line or script, up to 64 KiB.")]
    timeoutSec: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=MAX_SECONDS)] | msgspec.UnsetType,
        msgspec.Meta(description="Seconds until it is ended; default 120."),
    ] = msgspec.UNSET
    workdir: Annotated[
        str,
        msgspec.Meta(description="Directory of the workspace."),
    ] = "."

    @property
    def seconds(self) -> int:
        return DEFAULT_SECONDS if self.timeoutSec is msgspec.UNSET else self.timeoutSec


class Shell(Tool):
    """Run a command in bash, without input, in the workspace or in `workdir`: do not start with `cd`.

    Nothing it started runs on after it. Only the workspace, $REMIT_OUT (the artifacts) and $TMPDIR are writable. No
    network but to hosts that this run grants, through $HTTP_PROXY. stdout and stderr show up to 24 KiB of their start
    and end; tool_output has up to 1 MiB of each.
    """

    name = "shell"
    toolset = "execution"
    notes = """\
A command that fails is a result too: its exit code says so. No profile is read. It ends after timeoutSec with all it
started. Files that hold credentials cannot be read; those that a line names are told. Output is shown as a terminal
would show it; more than 100 MiB of it ends the command."""
    effects = frozenset({Effect.EXECUTE, Effect.NETWORK})
    # The command's own limit ends it, never the gate.
    bounds = Bounds(seconds=MAX_SECONDS + _SLACK_SECONDS, output_bytes=PREVIEW_BYTES)
    hands = frozenset({"jobs"})
    Params = ShellParams

    def __init__(self, execution: Execution = "sync", threshold: int = DEFAULT_SECONDS) -> None:
        """execution: whether a command goes on in the background; with auto it does when it is given more than
        `threshold` seconds."""
        self._execution = execution
        self._threshold = threshold

    def spec(self) -> ToolSpec:
        spec = super().spec()
        if self._execution == "sync":
            return spec
        which = "Every command" if self._execution == "async" else f"With a timeoutSec above {self._threshold} it"
        told = f"{which} goes on in the background: you get a receipt at once, and what came of it by itself."
        return ToolSpec(spec.name, f"{spec.description}\n\n{told}", spec.schema)

    def resources(self, params: ShellParams, world: World) -> Sequence[Resource]:
        _check(params.command)
        _refuse_leading_cd(params, world)
        place = world.path(world.relative(params.workdir), Effect.READ)
        if place.name == ".":
            return [Resource("command", params.command, Effect.EXECUTE)]
        return [Resource("command", params.command, Effect.EXECUTE, cwd=place.name), place]

    def producer(self, params: ShellParams) -> str:
        return next(_programs(params.command), self.name)

    async def run(self, params: ShellParams, ctx: ToolContext) -> Outcome:
        if not self._goes_on(params):
            return await self._run(params, ctx)
        return ctx.jobs.start(self.producer(params), _label(params.command), lambda: self._run(params, ctx))

    def _goes_on(self, params: ShellParams) -> bool:
        """Whether it is not waited for."""
        if self._execution != "auto":
            return self._execution == "async"
        return params.timeoutSec is not msgspec.UNSET and params.timeoutSec > self._threshold

    async def _run(self, params: ShellParams, ctx: ToolContext) -> Outcome:
        from remit.workspace.capture import Capture

        captures = (Capture(KEPT_BYTES), Capture(KEPT_BYTES))
        finished = await ctx.process.shell(
            params.command,
            workdir=params.workdir,
            seconds=params.seconds,
            take=lambda stream, data: captures[stream - 1].feed(data),
        )
        stdout, stderr = (capture.finish() for capture in captures)
        told, stages = _filtered(params.command, finished, (stdout.text, stderr.text), ctx.process.filters)
        printed, errors = (each.rstrip("\n") for each in told)
        pieces = list(_told(params, finished, printed, errors, (stdout, stderr)))
        text = "\n".join(pieces)
        cut = gap(text, self.bounds.output_bytes, self.bounds.output_lines)
        data = {
            "relative_workdir": finished.workdir,
            "timeout_ms": params.seconds * 1000,
            "duration_ms": round(finished.seconds * 1000),
            "exit_code": None if _signal(finished) else finished.exit_code,
            "signal": _signal(finished),
            "timed_out": finished.timed_out,
            "output_limit_exceeded": finished.flooded,
            "outlived": finished.outlived,
            "stdout_bytes": finished.stdout_bytes,
            "stderr_bytes": finished.stderr_bytes,
            "stdout": stdout.text,
            "stderr": stderr.text,
            "filtered": stages,
            "stdout_truncated": bool(stdout.left_out_bytes),
            "stderr_truncated": bool(stderr.left_out_bytes),
            "stdout_preview_truncated": _loses(pieces, printed, cut),
            "stderr_preview_truncated": _loses(pieces, errors, cut),
        }
        if finished.refused_hosts:
            data["refused_hosts"] = list(finished.refused_hosts)
        if finished.hidden:
            data["hidden"] = list(finished.hidden)
        if finished.left_behind:
            data["left_behind"] = list(finished.left_behind)
        return done(data, text)


def _programs(line: str) -> Iterator[str]:
    """The base names of a line's words, without the assignments before them."""
    for word in line.split(maxsplit=_MAX_ASSIGNMENTS):
        if not _ASSIGNMENT.match(word):
            yield word.rpartition("/")[2]


def _loses(pieces: Sequence[str], part: str, cut: Gap | None) -> bool:
    """Whether the model is shown less than all of this piece of the lines it is told."""
    if cut is None or not part:
        return False
    start = 0
    for piece in pieces:
        if piece is part:
            return cut.start < start + len(part) and start < cut.end
        start += len(piece) + 1
    return False


def _filtered(
    command: str, finished: Finished, streams: tuple[str, str], wanted: bool
) -> tuple[tuple[str, str], list[str]]:
    """The streams as the model should read them, and what changed them, by name."""
    if not wanted or not any(streams):
        return streams, []
    from remit.workspace.output_filter import filter_output

    argv = simple_command(command)
    stdout, stderr = (filter_output(argv, text, finished.exit_code) for text in streams)
    return (stdout.text, stderr.text), list(dict.fromkeys((*stdout.stages, *stderr.stages)))


def simple_command(line: str) -> list[str]:
    """The words of a line that is one command and nothing else, which may have its stderr joined; else none."""
    lexer = shlex.shlex(_JOINED.sub("", line.strip()), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    if "\n" in line.strip() or any(set(word) <= _PUNCTUATION for word in words if word):
        return []
    return words


def _label(command: str) -> str:
    """A line that people know the command by."""
    line = " ".join(command.split())
    return line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 3]}..."


def _check(command: str) -> None:
    if not command.strip():
        raise Failure(ErrorCode.INVALID_ARGUMENTS, "command: it is blank; write a line of bash")
    if "\0" in command:
        raise Failure(ErrorCode.INVALID_ARGUMENTS, "command: it contains a NUL, which no command line can hold")
    size = len(command.encode("utf-8", "replace"))
    if size > MAX_COMMAND_BYTES:
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS,
            f"command: {size} bytes; at most {MAX_COMMAND_BYTES} are allowed: write it to a file, and run that",
        )


def _refuse_leading_cd(params: ShellParams, world: World) -> None:
    """A way into the workspace belongs into workdir, where rules and people see it. Others are bash's affair."""
    found = _LEADING_CD.match(params.command)
    if found is None:
        return
    try:
        place = world.path(world.relative(found["place"]), Effect.READ).name
    except Failure:
        return
    rest = params.command[found.end() :].strip()
    raise Failure(
        ErrorCode.INVALID_ARGUMENTS,
        f"command: it starts with cd {found['place']}; give workdir {place!r} and the command {shorten(rest)} instead",
    )


def _signal(finished: Finished) -> str | None:
    """The name of the signal that ended it."""
    if finished.exit_code is None or finished.exit_code >= 0:
        return None
    try:
        return signal.Signals(-finished.exit_code).name
    except ValueError:
        return f"SIG{-finished.exit_code}"


def _told(
    params: ShellParams, finished: Finished, printed: str, errors: str, streams: tuple[Rendered, Rendered]
) -> Iterator[str]:
    """What the model reads."""
    yield _ending(params, finished)
    if finished.outlived:
        yield "[something it started could not be ended]"
    if printed:
        yield printed
    if errors:
        yield "stderr:"
        yield errors
    if not printed and not errors:
        yield "no output"
    yield from _notes(streams)
    for refused in finished.refused_hosts[:MAX_REFUSED_HOSTS]:
        yield f"[not connected to {refused[:300]}]"
    if finished.hidden:
        named = ", ".join(visible(name[:300]) for name in finished.hidden[:MAX_HIDDEN])
        yield f"[hidden from the commands of this run: {named}]"
    for undone in finished.left_behind[:MAX_LEFT_BEHIND]:
        yield f"[{undone[:400]}]"


def _ending(params: ShellParams, finished: Finished) -> str:
    if finished.timed_out:
        return f"timed out after {params.seconds} s and was ended; what it printed until then:"
    if finished.flooded:
        return "ended for printing more than 100 MiB; redirect long output to a file, or print less:"
    name = _signal(finished)
    return f"ended by signal {name}" if name else f"exit code {finished.exit_code}"


def _notes(streams: tuple[Rendered, Rendered]) -> Iterator[str]:
    counts: list[tuple[int, str]] = [
        (sum(each.frames for each in streams), "rows drawn over, as by a progress bar"),
        (sum(each.skimmed for each in streams), "bytes of more such rows, not counted"),
        (sum(each.undecodable for each in streams), "bytes that are not UTF-8, shown as \ufffd"),
        (sum(each.hidden for each in streams), "bytes drawn on the alternate screen, not shown"),
    ]
    for count, what in counts:
        if count:
            yield f"[{count} {what}]"
