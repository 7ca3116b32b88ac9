"""How a run stands, for those who only look at its directory."""

from __future__ import annotations

from collections.abc import Iterable

from remit.base.records import PromptEnded, Record, RunStarted
from remit.base.spec import PLAYED
from remit.store.run_status import begins_prompt, outcome
from remit.store.rundir import RunDir
from remit.wiring.ports import SystemClock


class StatusFollower:
    """Keeps `run.json` in step with the journal: a prompt's end is the status. records: of the processes
    before this one."""

    def __init__(self, directory: RunDir, clock: SystemClock, records: Iterable[Record]) -> None:
        self._directory = directory
        self._clock = clock
        self._begun = sum(map(begins_prompt, records))

    def __call__(self, record: Record) -> None:
        if isinstance(record, RunStarted):
            # From its first record on a run can be taken up, should this process die.
            self._directory.update(resumable=not record.spec.get("command", {}).get(PLAYED))
        self._begun += begins_prompt(record)
        if begins_prompt(record) and self._directory.status.status != "running":
            # Another prompt of a session whose last one has ended.
            self._directory.update(status="running", verdict="", exit_code=None, ended=None)
        if not isinstance(record, PromptEnded):
            return
        self._directory.update(ended=self._clock.now(), prompts=self._begun, **outcome(record))
