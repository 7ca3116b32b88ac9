"""`remit runs`: the runs of this user, and what came of one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import msgspec
import typer

from remit.base.calls import RuleRef
from remit.base.errors import RemitError
from remit.base.limits import Limits
from remit.base.messages import Usage
from remit.base.ports import ArtifactInfo
from remit.base.records import PromptEnded, Record, RunStarted
from remit.base.text import visible
from remit.engine.state import State
from remit.store.run_list import RunEntry, each_run, find_run, list_runs
from remit.store.run_status import RunStatus

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="List runs and show one.",
)


SPARED = ("SESSION", "PROMPTS", "MODEL", "TOOK")
"""Columns of the list that a narrow terminal does without, in this order."""


class Denial(msgspec.Struct, frozen=True):
    """A call that was refused, and the rule that did it."""

    call: str
    tool: str
    resource: str
    decide: str
    rule: RuleRef


class RunReport(msgspec.Struct, kw_only=True):
    """What is known of a run: `run.json`, and a fold over its journal.

    status: `running`, `interrupted` or the verdict. started, ended: Unix seconds. seconds: of all its
    processes, None while unknown. usd None: a price is not known. approvals: for each call that waits, the
    entry of an approvals file that would allow it. next: the command that goes on, or "".
    """

    run_id: str
    directory: str
    status: str
    exit_code: int | None
    resumable: bool
    name: str = ""
    task: str = ""
    model: str = ""
    workspace: str = ""
    started: float = 0.0
    ended: float | None = None
    seconds: float | None = None
    turns: int = 0
    calls: int = 0
    failed_calls: int = 0
    usage: Usage = Usage()
    usd: float | None = 0.0
    network_requests: int = 0
    artifacts_total_bytes: int = 0
    artifacts: list[ArtifactInfo] = []
    denials: list[Denial] = []
    pending: int = 0
    approvals: list[str] = []
    errors: list[str] = []
    hint: str = ""
    journal_fault: str = ""
    next: str = ""


@app.command("list")
def list_(
    json: bool = typer.Option(False, "--json", help="Print a JSON array."),
    number: int = typer.Option(20, "-n", "--number", min=1, metavar="N", help="At most so many, newest first."),
    everything: bool = typer.Option(False, "--all", help="Also those whose directory is gone."),
) -> None:
    """List runs, newest first. A narrow terminal is shown fewer columns; --json has all."""
    entries, hidden = (list_runs(_state_dir(), number), 0) if everything else there(_state_dir(), number)
    if hidden:
        what = "1 run whose directory is" if hidden == 1 else f"{hidden} runs whose directories are"
        typer.echo(f"{what} gone: not shown, --all does", err=True)
    if json:
        from remit.stream.writer import pretty_json

        typer.echo(pretty_json(entries))
        return
    if not entries:
        if not hidden:
            typer.echo("no runs yet", err=True)
        return
    for line in table(entries, _columns()):
        typer.echo(line)


@app.command("show")
def show(
    run: str = typer.Argument(..., metavar="RUN", help="A run's id or the start of it, `last`, or its directory."),
    json: bool = typer.Option(False, "--json", help="Print a JSON object."),
) -> None:
    """Show what a run did, what it was refused, and how to go on."""
    report = report_of(find_run(_state_dir(), run))
    if json:
        from remit.stream.writer import pretty_json

        typer.echo(pretty_json(report))
        return
    for line in described(report):
        typer.echo(visible(line))
    for line in approvals_file(report.approvals):
        typer.echo(visible(line, keep="\n"))


def there(state_dir: str, number: int) -> tuple[list[RunEntry], int]:
    """The newest `number` runs that have their directory, and how many were passed over for want of it."""
    found: list[RunEntry] = []
    gone = 0
    for entry in each_run(state_dir):
        if len(found) == number:
            break
        if entry.state == "gone":
            gone += 1
        else:
            found.append(entry)
    return found, gone


def table(entries: Sequence[RunEntry], width: int | None = None) -> list[str]:
    """The runs as lines of aligned columns. width: of the terminal, in which they have to find room."""
    rows: list[tuple[str, ...]] = [
        ("RUN", "STATUS", "STARTED (UTC)", "TOOK", "PROMPTS", "SESSION", "MODEL", "NAME", "DIRECTORY")
    ]
    for entry in entries:
        status = entry.status or RunStatus(run_id=entry.run_id)
        rows.append(
            (
                entry.run_id,
                entry.state,
                _moment(status.started),
                _took(None if status.ended is None else status.ended - status.started),
                str(status.prompts),
                status.session_id[:8] or "-",
                visible(status.model) or "-",
                visible(status.name) or "-",
                visible(status.workspace) if entry.status else visible(entry.path),
            )
        )
    lines = _aligned(rows)
    for name in SPARED:
        if width is None or max(map(len, lines)) <= width:
            return lines
        at = rows[0].index(name)
        rows = [row[:at] + row[at + 1 :] for row in rows]
        lines = _aligned(rows)
    return [line if width is None or len(line) <= width else f"{line[: width - 3]}..." for line in lines]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]


def _columns() -> int | None:
    """Of the terminal that stdout is; None where it is none."""
    from remit.stream.progress import terminal_width

    return terminal_width(sys.stdout.fileno()) if sys.stdout.isatty() else None


def report_of(entry: RunEntry) -> RunReport:
    """Everything about a run; a journal that cannot be read is said and passed over."""
    from remit.store.journal import read_journal

    status = entry.status or RunStatus(run_id=entry.run_id)
    report = RunReport(
        run_id=entry.run_id,
        directory=entry.path,
        status=entry.state,
        exit_code=status.exit_code,
        resumable=status.resumable,
        name=status.name,
        task=status.task,
        model=status.model,
        started=status.started,
        ended=status.ended,
    )
    records: list[Record] = []
    try:
        records, _ = read_journal(os.path.join(entry.path, "journal.jsonl"))
    except RemitError as fault:
        report.journal_fault = str(fault)
    state = _folded(records)
    _take_spec(report, records)
    _take_state(report, state)
    if state.ended is not None:
        _take_result(report, state.ended)
    if report.ended is not None and report.seconds is None:
        report.seconds = report.ended - report.started
    if entry.state == "interrupted" and state.ended is not None:
        # Its process died between the last record and `run.json`.
        report.status, report.exit_code = state.ended.verdict, state.ended.exit_code
    elif entry.state == "interrupted":
        report.resumable = bool(records)
    report.next = _next(report)
    return report


def _folded(records: Sequence[Record]) -> State:
    state = State(Limits())
    for record in records:
        state.apply(record)
    return state


def _take_spec(report: RunReport, records: Sequence[Record]) -> None:
    spec = records[0].spec if records and isinstance(records[0], RunStarted) else {}
    report.name = report.name or str(spec.get("name", ""))
    report.task = report.task or str(spec.get("task", ""))
    report.model = report.model or str(spec.get("model", ""))
    report.workspace = str(spec.get("workspace", ""))


def _take_state(report: RunReport, state: State) -> None:
    report.turns = state.turn
    report.calls = state.counts["calls"]
    report.failed_calls = state.counts["failed_calls"] + state.counts["refusals"]
    report.usage = state.usage
    report.usd = state.ledger.usd if state.ledger.usd_known else None
    report.network_requests = int(state.ledger.network_requests)
    report.artifacts_total_bytes = int(state.ledger.artifacts_total_bytes)
    report.artifacts = [
        ArtifactInfo(each.name, each.bytes, each.sha256, each.media_type, each.call, each.path)
        for _, each in sorted(state.artifacts.items())
    ]
    report.denials = [
        Denial(key, each.tool, each.resource, each.decide, RuleRef(each.source, each.rule, each.why))
        for key, each in state.denials.items()
    ]
    if state.pending is not None:
        report.pending, report.approvals = len(state.pending.asked), list(state.pending.approvals)


def _take_result(report: RunReport, ended: PromptEnded) -> None:
    result = ended.result
    report.resumable = ended.resumable
    report.errors = [str(each) for each in result.get("unmet") or result.get("errors") or []]
    report.hint = str(result.get("hint") or "")
    if isinstance(result.get("duration_ms"), int):
        report.seconds = result["duration_ms"] / 1000


def _next(report: RunReport) -> str:
    if report.status == "running" or not report.resumable:
        return ""
    approvals = " -a approvals.toml" if report.pending else ""
    return f"remit resume {report.run_id}{approvals}"


def described(report: RunReport) -> list[str]:
    """The report in lines for a terminal; the caller escapes what is in them."""
    code = "" if report.exit_code is None else f" (exit {report.exit_code})"
    facts = [
        ("status", f"{report.status}{code}"),
        ("name", report.name),
        ("task", report.task),
        ("model", report.model),
        ("workspace", report.workspace),
        ("directory", report.directory),
        ("started", f"{_moment(report.started)} UTC"),
        ("took", _took(report.seconds)),
        ("spent", _spending(report)),
    ]
    lines = [f"run {report.run_id}"] + [f"  {name:<10} {value}" for name, value in facts if value]
    lines += [
        f"artifact {each.name}, {each.bytes:,} bytes, {each.media_type}, by {each.call}" for each in report.artifacts
    ]
    lines += [
        f"refused {' '.join(filter(None, (each.tool, each.resource)))}: {each.rule.told()}" for each in report.denials
    ]
    lines += [f"error: {part}" for error in report.errors for part in error.splitlines()]
    lines += [f"journal: {part}" for part in report.journal_fault.splitlines()]
    lines += [f"hint: {report.hint}"] if report.hint else []
    lines += [f"next: {report.next}"] if report.next else []
    return lines


def approvals_file(entries: Sequence[str]) -> list[str]:
    """The entries as a file to keep and edit; nothing when no call waits."""
    if not entries:
        return []
    return ["", "# approvals.toml: change allow to deny where you mean that", "version = 1", "", *entries]


def _spending(report: RunReport) -> str:
    usage = report.usage
    into = usage.input + usage.cache_read + usage.cache_write
    parts = [_counted(report.turns, "turn"), _counted(report.calls, "call") + _failed(report)]
    parts += [f"{into:,} tokens in, {usage.output:,} out"] if usage.total() else []
    if report.usd is None:
        parts.append("cost not known")
    elif report.usd:
        parts.append(f"${report.usd:.4f}")
    parts += [_counted(report.network_requests, "network request")] if report.network_requests else []
    parts += [f"{report.artifacts_total_bytes:,} bytes of artifacts"] if report.artifacts_total_bytes else []
    return ", ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _failed(report: RunReport) -> str:
    return f" ({report.failed_calls} failed or refused)" if report.failed_calls else ""


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) if seconds else "-"


def _took(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    whole = int(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _state_dir() -> str:
    from remit.config.settings import load_settings

    return load_settings(os.environ).state_dir
