"""Proposals of what to remember: stored inactive, until a person accepts or rejects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from remit.base.errors import ErrorCode, Failure, UsageFault
from remit.base.text import scrub, shorten
from remit.store.db import exists, transaction

if TYPE_CHECKING:
    import sqlite3

MAX_PER_RUN = 3

Status = Literal["proposed", "accepted", "rejected"]


class Proposal(msgspec.Struct, frozen=True):
    """One proposal. created: Unix seconds. task: name of the task that ran."""

    id: str
    status: Status
    text: str
    tags: tuple[str, ...]
    reason: str
    run_id: str
    task: str
    created: float


class MemoryProposals:
    """The proposals of a user, in the state directory. All may raise EnvironmentFault, UsageFault."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir

    def propose(
        self, run_id: str, call_key: str, *, task: str, text: str, tags: Sequence[str], reason: str, created: float
    ) -> str:
        """Store a proposal, inactive, and return its id. The same call storing again keeps one
        proposal. Raises Failure(too_many_proposals) past three of one run."""
        ident = _ident(run_id, call_key)
        with transaction(self._state_dir) as state:
            (others,) = state.execute(
                "SELECT count(*) FROM memory_proposals WHERE run_id = ? AND id != ?", (run_id, ident)
            ).fetchone()
            if others >= MAX_PER_RUN:
                raise Failure(
                    ErrorCode.TOO_MANY_PROPOSALS,
                    f"this task has made {others} memory proposals, and {MAX_PER_RUN} are accepted; go on without",
                )
            # Decided already: what a person saw does not change under their hands.
            state.execute(
                "INSERT INTO memory_proposals (id, run_id, call, task, text, tags, reason, created, status)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'proposed')"
                " ON CONFLICT (id) DO UPDATE SET text = excluded.text, tags = excluded.tags,"
                " reason = excluded.reason WHERE status = 'proposed'",
                (
                    ident,
                    run_id,
                    call_key,
                    scrub(task),
                    scrub(text),
                    msgspec.json.encode([scrub(tag) for tag in tags]).decode(),
                    scrub(reason),
                    created,
                ),
            )
        return ident

    def read(self, *, decided: bool = False) -> list[Proposal]:
        """Proposals, oldest first: those that wait, or with `decided` all."""
        if not exists(self._state_dir):
            return []
        with transaction(self._state_dir) as state:
            rows = state.execute(
                "SELECT id, status, text, tags, reason, run_id, task, created FROM memory_proposals"
                " WHERE ? OR status = 'proposed' ORDER BY created, rowid",
                (decided,),
            ).fetchall()
        return [_proposal(row) for row in rows]

    def decide(self, refs: Sequence[str], status: Literal["accepted", "rejected"]) -> list[Proposal]:
        """Accept or reject proposals, named by id or the start of one: all of them, or none.

        Raises UsageFault naming what is unknown or ambiguous.
        """
        with transaction(self._state_dir) as state:
            idents = list(dict.fromkeys(_find(state, ref) for ref in refs))
            state.executemany(
                "UPDATE memory_proposals SET status = ? WHERE id = ?", [(status, ident) for ident in idents]
            )
            rows = [
                state.execute(
                    "SELECT id, status, text, tags, reason, run_id, task, created FROM memory_proposals WHERE id = ?",
                    (ident,),
                ).fetchone()
                for ident in idents
            ]
        return [_proposal(row) for row in rows]


def _ident(run_id: str, call_key: str) -> str:
    import hashlib

    return hashlib.sha256(f"{run_id}\0{call_key}".encode("utf-8", "replace")).hexdigest()[:10]


def _proposal(row: tuple[Any, ...]) -> Proposal:
    ident, status, text, tags, reason, run_id, task, created = row
    return Proposal(
        ident, status, text, tuple(msgspec.json.decode(tags, type=list[str])), reason, run_id, task, created
    )


def _find(state: sqlite3.Connection, ref: str) -> str:
    """The id that `ref` names or starts."""
    idents = [str(ident) for (ident,) in state.execute("SELECT id FROM memory_proposals ORDER BY id")]
    matches = [ref] if ref in idents else [ident for ident in idents if ref and ident.startswith(ref)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageFault(f"{shorten(ref)} is the start of {len(matches)} proposals: {', '.join(matches[:10])}")
    import difflib

    near = difflib.get_close_matches(ref, idents, n=3, cutoff=0.6)
    hint = f"did you mean {', '.join(near)}?" if near else "remit memory proposals --all lists them"
    raise UsageFault(f"there is no memory proposal {shorten(ref)}", hint=hint, kind="unknown_proposal")
