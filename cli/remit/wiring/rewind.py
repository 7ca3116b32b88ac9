"""Going back to a message of a session: what of its journal is kept."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.errors import RemitError
from remit.base.records import REPORT, Answered, CallSettled, Record, SessionForked, UserSaid
from remit.store.journal import JOURNAL_FILE, read_journal
from remit.store.run_list import RunEntry, each_run

_ANSWER = re.compile(r"msg_(\d+)")
NO_MESSAGE = "no_session"
"""Kind of an error that is told as it is."""


class Point(msgspec.Struct, frozen=True):
    """A message to go back to. uuid: as the stream told it, or as the client named its own message. drops: that of the
    only prompt which may be left out by that, "" for any."""

    uuid: str
    drops: str = ""


def go_back(entry: RunEntry, point: Point, state_dir: str) -> tuple[RunEntry, tuple[Record, ...]]:
    """The run that holds the message, which may be one that this was copied from, and its records up to there. Raises
    RemitError where no message has that name, or where more would be lost than is meant to be."""
    for each, records in _line_of(entry, state_dir):
        end = _end_of(records, _events(each), point.uuid)
        if end is not None:
            if point.drops:
                _hold_drops(records[end:], point.drops)
            return each, tuple(records[:end])
    raise RemitError(f"No message found with message.uuid of: {point.uuid}", kind=NO_MESSAGE)


def _line_of(entry: RunEntry, state_dir: str) -> Iterator[tuple[RunEntry, Sequence[Record]]]:
    """A run, and those that it was copied from, as far as they are there."""
    seen: set[str] = set()
    while entry.run_id not in seen:
        seen.add(entry.run_id)
        records, _ = read_journal(os.path.join(entry.path, JOURNAL_FILE))
        yield entry, records
        origin = next((each.run_id for each in records if isinstance(each, SessionForked)), "")
        found = next((each for each in each_run(state_dir) if origin and each.run_id == origin), None)
        if found is None:
            return
        entry = found


def _events(entry: RunEntry) -> Sequence[Mapping[str, Any]]:
    from remit.stream.reader import read_log

    return read_log(os.path.join(entry.path, "events.jsonl"))


def _end_of(records: Sequence[Record], log: Sequence[Mapping[str, Any]], uuid: str) -> int | None:
    """How many records there are up to the message, itself included."""
    event = next((each for each in log if each.get("uuid") == uuid and not each.get("agent_id")), {})
    found = [number for number, record in enumerate(records, 1) if _is(record, event, uuid)]
    return found[0] if found else None


def _is(record: Record, event: Mapping[str, Any], uuid: str) -> bool:
    """Whether the record is that of the message."""
    match record:
        case UserSaid(synthetic=False):
            return record.uuid == uuid
        case UserSaid():
            return event.get("type") == "user" and _block(event).get("text") == record.text
        case CallSettled():
            return event.get("type") == "user" and _block(event).get("tool_use_id") == record.id
        case Answered():
            told = event.get("message", {}).get("id", "") if event.get("type") == "assistant" else ""
            answer = _ANSWER.fullmatch(told)
            return answer is not None and int(answer[1]) == record.turn
        case _:
            return False


def _block(event: Mapping[str, Any]) -> Mapping[str, Any]:
    block: Mapping[str, Any] = event["message"]["content"][0]
    return block


def _hold_drops(rest: Sequence[Record], prompt: str) -> None:
    """Raise RemitError unless all that is left out belongs to that prompt."""
    begun = (
        record for record in rest if isinstance(record, UserSaid) and (not record.synthetic or record.reason == REPORT)
    )
    other = next((said for said in begun if said.uuid != prompt), None)
    if other is not None:
        named = f"message {other.uuid}" if other.uuid else "a message without a uuid"
        what = f"{named} would be left out and is no part of turn {prompt}"
        raise RemitError(f"Resume rejected by --resume-drops-turn: {what}", kind=NO_MESSAGE)
