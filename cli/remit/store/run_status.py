"""What `run.json` says of a run, and the ids of runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from remit.base.errors import RemitError
from remit.base.lazy_pattern import lazy_pattern
from remit.base.ports import Clock
from remit.base.records import REPORT, PromptEnded, Record, RunStarted, UserSaid
from remit.base.spec import PLAYED

STATUS_FILE = "run.json"

_RUN_ID = lazy_pattern(r"\d{8}-\d{6}-[0-9a-f]{6}")


def new_run_id(clock: Clock, random_bytes: Callable[[int], bytes]) -> str:
    """`YYYYMMDD-HHMMSS-xxxxxx`: UTC, and six hex digits of chance."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(clock.now()))
    return f"{moment}-{random_bytes(3).hex()}"


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`. status: `running`, or the verdict it ended with. started, ended: Unix seconds.
    workspace: absolute, "" where the run is no session that can be continued. prompts: how many came to an
    end, once each, however often a process took one up. counts:
    turns, calls, refusals, ... as the result line has them."""

    run_id: str
    version: int = 1
    session_id: str = ""
    status: str = "running"
    verdict: str = ""
    exit_code: int | None = None
    resumable: bool = False
    pid: int = 0
    started: float = 0.0
    ended: float | None = None
    name: str = ""
    task: str = ""
    model: str = ""
    usd: float | None = None
    error: str = ""
    counts: dict[str, int] = {}
    workspace: str = ""
    prompts: int = 0


def directory_itself(path: str) -> str:
    """The directory of a run, absolute: not a link to it, since none is followed beneath."""
    place = os.path.abspath(path)
    return os.path.realpath(place) if os.path.islink(place) else place


def read_status(path: str) -> RunStatus | None:
    """How the run of a directory stands; None when there is none of ours. Where `run.json` is damaged or gone, what
    the journal says, which is the truth about the run: it stands as if its process had died."""
    try:
        with open(os.path.join(path, STATUS_FILE), "rb") as file:
            status = msgspec.json.decode(file.read(1 << 20), type=RunStatus)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return _told_by_journal(path)
    return status if is_run_id(status.run_id) else _told_by_journal(path)


def has_status(path: str) -> bool:
    """Whether there is a `run.json` in a directory, readable or not, as far as one may look."""
    try:
        os.lstat(os.path.join(path, STATUS_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def outcome(ended: PromptEnded) -> dict[str, Any]:
    """What the end of a prompt changes in the status, but for time and number."""
    result = ended.result
    return {
        "status": ended.verdict,
        "verdict": ended.verdict,
        "exit_code": ended.exit_code,
        "resumable": ended.resumable,
        "usd": result.get("total_cost_usd"),
        "error": "; ".join(result.get("errors") or []),
        "counts": {**result.get("counts", {}), "turns": result.get("num_turns", 0)},
    }


def begins_prompt(record: Record) -> bool:
    """Whether another prompt of the session begins with this record."""
    return isinstance(record, UserSaid) and not record.joined and (not record.synthetic or record.reason == REPORT)


def prompts_ended(records: Iterable[Record]) -> int:
    """How many prompts of these records came to an end. One that a further process took up has several ends."""
    ended = begun = 0
    for record in records:
        begun += begins_prompt(record)
        if isinstance(record, PromptEnded):
            ended = begun
    return ended


def _told_by_journal(path: str) -> RunStatus | None:
    from remit.store.journal import JOURNAL_FILE, first_record, read_journal

    journal = os.path.join(path, JOURNAL_FILE)
    first = first_record(journal)
    if not isinstance(first, RunStarted) or not is_run_id(first.run_id):
        return None
    played = bool(first.spec.get("command", {}).get(PLAYED))
    status = RunStatus(
        run_id=first.run_id,
        session_id=first.session_id,
        started=first.started,
        resumable=not played,
        name=str(first.spec.get("name", "")),
        task=str(first.spec.get("task", "")),
        model=str(first.spec.get("model", "")),
        workspace="" if played else str(first.spec.get("workspace", "")),
    )
    try:
        records, _ = read_journal(journal)
    except RemitError:
        return status
    last = outcome(records[-1]) if isinstance(records[-1], PromptEnded) else {}
    return msgspec.structs.replace(status, prompts=prompts_ended(records), **last)
