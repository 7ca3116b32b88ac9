"""`remit runs`: the runs of this user, and what came of one."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import typer

from remit.base.calls import RuleRef
from remit.base.errors import RemitError
from remit.base.messages import Usage
from remit.base.ports import ArtifactInfo
from remit.base.records import (
    Answered,
    ArtifactWritten,
    CallChecked,
    CallSettled,
    CallsPending,
    PromptEnded,
    Record,
    RunResumed,
    RunStarted,
    Spent,
)
from remit.base.text import visible
from remit.store.rundir import RunEntry, RunStatus, find_run, list_runs

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="List runs and show one.",
)


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
) -> None:
    """List runs, newest first."""
    entries = list_runs(_state_dir(), number)
    if json:
        from remit.stream.writer import pretty_json

        typer.echo(pretty_json(entries))
        return
    if not entries:
        typer.echo("no runs yet", err=True)
        return
    for line in table(entries):
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


def table(entries: Sequence[RunEntry]) -> list[str]:
    """The runs as lines of aligned columns."""
    rows = [("RUN", "STATUS", "STARTED (UTC)", "TOOK", "MODEL", "NAME")]
    for entry in entries:
        status = entry.status or RunStatus(run_id=entry.run_id)
        rows.append(
            (
                entry.run_id,
                entry.state,
                _moment(status.started),
                _took(None if status.ended is None else status.ended - status.started),
                visible(status.model) or "-",
                visible(status.name) if entry.status else visible(entry.path),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return ["  ".join([*map(str.ljust, row, widths), row[5]]).rstrip() for row in rows]


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
    _fold(report, records)
    if report.ended is not None and report.seconds is None:
        report.seconds = report.ended - report.started
    if entry.state == "interrupted":
        report.resumable = bool(records)
    report.next = _next(report)
    return report


def _fold(report: RunReport, records: Sequence[Record]) -> None:
    artifacts: dict[str, ArtifactInfo] = {}
    denials: dict[str, Denial] = {}
    spent: Counter[str] = Counter()
    for record in records:
        match record:
            case RunStarted(spec=spec):
                _take_spec(report, spec)
            case RunResumed():
                report.pending, report.approvals = 0, []
                report.errors, report.hint, report.seconds = [], "", None
            case Answered(turn=turn, usage=usage, usd=usd):
                report.turns = turn
                report.usage = report.usage + usage
                known = report.usd is not None and (usd is not None or usage.total() == 0)
                report.usd = (report.usd or 0.0) + (usd or 0.0) if known else None
            case CallChecked():
                _take_decision(denials, record)
            case CallSettled(outcome=outcome):
                report.calls += 1
                report.failed_calls += not outcome.ok
            case CallsPending(asked=asked, approvals=approvals):
                report.pending, report.approvals = len(asked), list(approvals)
            case Spent(limit=limit, amount=amount):
                spent[limit] += int(amount)
            case ArtifactWritten(name=name, bytes=size, sha256=digest, media_type=kind, call=call, path=path):
                artifacts[name] = ArtifactInfo(name, size, digest, kind, call, path)
            case PromptEnded(result=result, resumable=resumable):
                report.resumable = resumable
                _take_result(report, result)
            case _:
                pass
    report.artifacts = [artifacts[name] for name in sorted(artifacts)]
    report.denials = list(denials.values())
    report.network_requests = spent["network_requests"]
    report.artifacts_total_bytes = spent["artifacts_total_bytes"]


def _take_spec(report: RunReport, spec: dict[str, Any]) -> None:
    report.name = report.name or str(spec.get("name", ""))
    report.task = report.task or str(spec.get("task", ""))
    report.model = report.model or str(spec.get("model", ""))
    report.workspace = str(spec.get("workspace", ""))


def _take_decision(denials: dict[str, Denial], record: CallChecked) -> None:
    # A call that was asked for and refused may be allowed after a resume.
    denials.pop(record.key, None)
    if not record.allowed:
        decision = record.decision
        resource = decision.resource.name if decision.resource else ""
        denials[record.key] = Denial(record.key, record.tool, resource, decision.decide, decision.rule)


def _take_result(report: RunReport, result: dict[str, Any]) -> None:
    unmet, errors = result.get("unmet") or [], result.get("errors") or []
    report.errors = [str(each) for each in unmet or errors]
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
        f"refused {each.tool} {each.resource}: {each.rule.why} [{each.rule.source} {each.rule.where}]".rstrip()
        for each in report.denials
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
    parts = [f"{report.turns} turns", f"{report.calls} calls" + _failed(report)]
    parts += [f"{into:,} tokens in, {usage.output:,} out"] if usage.total() else []
    if report.usd is None:
        parts.append("cost not known")
    elif report.usd:
        parts.append(f"${report.usd:.4f}")
    parts += [f"{report.network_requests} network requests"] if report.network_requests else []
    parts += [f"{report.artifacts_total_bytes:,} bytes of artifacts"] if report.artifacts_total_bytes else []
    return ", ".join(parts)


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
