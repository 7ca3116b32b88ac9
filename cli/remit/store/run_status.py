"""What `run.json` says of a run, and the ids of runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import msgspec

from remit.base.lazy_pattern import lazy_pattern
from remit.base.ports import Clock

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
    workspace: absolute, "" where the run is no session that can be continued. prompts: how many have ended. counts:
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


def read_status(path: str) -> RunStatus | None:
    """The `run.json` of a directory; None when there is none that is ours."""
    try:
        with open(os.path.join(path, STATUS_FILE), "rb") as file:
            status = msgspec.json.decode(file.read(1 << 20), type=RunStatus)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return status if is_run_id(status.run_id) else None
