"""Memory and our own CPU of one process over 1,000 messages of a client, each a prompt with a result of its own.

python tests/bench/bench_messages.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes.cli import Home
from fakes.driving import driven

MESSAGES = 1000
EVERY = 100


def resident(pid: int) -> int:
    """MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def cpu(pid: int) -> float:
    """Seconds of user and system time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        script = home.script({"text": "Done.", "repeat": MESSAGES})
        with driven(home, "-m", script, "--tools", "read_file") as client:
            before = 0.0
            for number in range(1, MESSAGES + 1):
                client.say(f"message {number}")
                client.until("result")
                client.seen.clear()
                if number % EVERY == 0:
                    now = cpu(client.process.pid)
                    each = (now - before) / EVERY * 1000
                    print(f"{number} messages: {resident(client.process.pid)} MiB, {each:.2f} ms CPU a message")
                    before = now
            print(f"exit code {client.end()}")


if __name__ == "__main__":
    main()
