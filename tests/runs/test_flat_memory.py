"""What a long run holds in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.model_server import ModelServer, Received, Reply, calls, text

TURNS = 220
PAGE = 6000
EARLY, LATE = range(30, 60), range(190, 220)

COPIES = 12
"""How often the transcript may be there: as it is kept, as it is sent, and as one request that is being made
and is on its way. Were requests kept until the collector comes, it would be more than twenty."""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="reads the resident size from /proc")
def test_memory_grows_with_the_transcript_alone(home: Home) -> None:
    home.write("pages.txt", "All work and no play. " * (TURNS * PAGE // 20))
    started: Future[int] = Future()
    resident: list[int] = []
    sent: list[int] = []

    def answer(request: Received) -> Reply:
        turn = len(sent)
        sent.append(len(request.raw))
        pages = Path(f"/proc/{started.result(10)}/statm").read_text().split()[1]
        resident.append(int(pages) * os.sysconf("SC_PAGE_SIZE"))
        if turn == TURNS:
            return text("Done.")
        page = {"path": "pages.txt", "offset": turn * PAGE, "limit": PAGE}
        return calls((f"call_{turn}", "read_file", json.dumps(page)))

    with ModelServer(answer) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-0"}
        command = [
            "run",
            "Read.",
            "--tools",
            "read_file",
            "-m",
            "openai/m",
            "-q",
            "-n",
            "--max-turns",
            "none",
            "--max-calls",
            "none",
        ]
        with home.started(*command, environ=environ, stdout=subprocess.DEVNULL) as process:
            started.set_result(process.pid)
            assert process.wait(120) == 0
    assert len(sent) == len(resident) == TURNS + 1
    grown = min(resident[turn] for turn in LATE) - min(resident[turn] for turn in EARLY)
    transcript = sent[LATE.start] - sent[EARLY.start]
    assert grown <= COPIES * transcript
