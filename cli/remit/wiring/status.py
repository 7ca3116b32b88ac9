"""How a run stands, for those who only look at its directory."""

from __future__ import annotations

from remit.base.records import REPORT, PromptEnded, Record, RunStarted, UserSaid
from remit.base.spec import PLAYED
from remit.store.run_status import outcome
from remit.store.rundir import RunDir
from remit.wiring.ports import SystemClock


class StatusFollower:
    """Keeps `run.json` in step with the journal: a prompt's end is the status."""

    def __init__(self, directory: RunDir, clock: SystemClock) -> None:
        self._directory = directory
        self._clock = clock

    def __call__(self, record: Record) -> None:
        if isinstance(record, RunStarted):
            # From its first record on a run can be taken up, should this process die.
            self._directory.update(resumable=not record.spec.get("command", {}).get(PLAYED))
        if _begins(record) and self._directory.status.status != "running":
            # Another prompt of a session whose last one has ended.
            self._directory.update(status="running", verdict="", exit_code=None, ended=None)
        if not isinstance(record, PromptEnded):
            return
        prompts = self._directory.status.prompts + 1
        self._directory.update(ended=self._clock.now(), prompts=prompts, **outcome(record))


def _begins(record: Record) -> bool:
    return isinstance(record, UserSaid) and (not record.synthetic or record.reason == REPORT)
