"""Which session a command line is about: a new one, one that is there, or a copy of one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import msgspec

from remit.base.errors import UsageFault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.spec import RunSpec
from remit.base.text import shorten
from remit.store.run_list import RunEntry, find_run, find_session, latest_session

_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class SessionFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of `run` that choose a session. resume: a run or session, as in `find_run`."""

    latest: bool = False
    resume: str | None = None
    fork: bool = False
    session_id: str | None = None
    ephemeral: bool = False
    implement: str | None = None
    clear: bool = False

    @property
    def takes_up(self) -> bool:
        return self.latest or self.resume is not None or self.implement is not None

    def hold(self, *, out: str | None, new: dict[str, object], prompt: str | None = None) -> None:
        """Raise UsageFault for flags that contradict one another. new: flags for new sessions only, by name."""
        if self.latest and self.resume is not None:
            raise UsageFault("the latest session and one by its name are asked for", where="--continue")
        if self.implement is not None and (self.latest or self.resume is not None or self.fork):
            raise UsageFault("it names its session itself", where="--implement", hint="leave the other flags out")
        if self.implement is not None and prompt is not None:
            raise UsageFault("the plan is the prompt", where="--implement", hint="leave the prompt out")
        if self.clear and self.implement is None:
            raise UsageFault("there is no plan to move", where="--clear", hint="name its session with --implement")
        if self.fork and not self.takes_up:
            raise UsageFault("there is no session to copy", where="--fork", hint="name one with --resume")
        if self.ephemeral and out is not None:
            raise UsageFault("the run leaves nothing behind, so that it has no directory", where="--ephemeral")
        if self.takes_up and not self.fork and not self.clear:
            self._hold_old(out, new)
        elif self.takes_up:
            _hold_new(new)
        if self.session_id is not None and _UUID.fullmatch(self.session_id) is None:
            raise UsageFault(f"{shorten(self.session_id)} is no UUID", where="--session-id")

    def _hold_old(self, out: str | None, new: dict[str, object]) -> None:
        given = {"--session-id": self.session_id, "--ephemeral": self.ephemeral, "--out": out, **new}
        for flag, value in given.items():
            if value:
                raise UsageFault(
                    "a session that is taken up has that already",
                    where=flag,
                    hint="add --clear" if self.implement else "add --fork",
                )

    def entry(self, state_dir: str, cwd: str, workspace: str | None) -> RunEntry | None:
        """The session that is there; None for a new one. workspace: as flags give it. Raises UsageFault."""
        if (ref := self.resume if self.resume is not None else self.implement) is not None:
            return find_run(state_dir, ref)
        place = os.path.abspath(os.path.join(cwd, workspace or ""))
        return latest_session(state_dir, place) if self.latest else None

    def hold_id(self, state_dir: str) -> str:
        """The id of a new session, "" for any. Raises UsageFault for one that is in use."""
        if self.session_id is None:
            return ""
        wanted = self.session_id.lower()
        found = find_session(state_dir, wanted)
        if found is not None:
            hint = f"take it up with --resume {found.run_id}, or give another id"
            raise UsageFault(
                f"the session id {wanted} is in use by run {found.run_id}", where="--session-id", hint=hint
            )
        return wanted


def _hold_new(new: dict[str, object]) -> None:
    for flag, value in new.items():
        if value:
            raise UsageFault("that is for a session that begins anew", where=flag, hint=f"leave {flag} out")


Change = Callable[[RunSpec], RunSpec]


def noted(change: Callable[[RunSpec], tuple[RunSpec, list[str]]]) -> Change:
    """A change of a spec that tells people what they should know of it."""
    from remit.commands.output import write_stderr

    def changed(spec: RunSpec) -> RunSpec:
        fresh, notes = change(spec)
        for note in notes:
            write_stderr(f"remit: {note}\n")
        return fresh

    return changed
