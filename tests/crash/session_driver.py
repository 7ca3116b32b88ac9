"""Takes a session up with a further prompt, in another mode, as `remit run --resume` does, and kills itself by
SIGKILL right after the Nth journal record.

    python session_driver.py N after|torn OUT PROMPT MODE
"""

from __future__ import annotations

import asyncio
import os
import sys

from driver import Killer

from remit import wiring
from remit.base.records import UserSaid
from remit.config.settings import load_settings
from remit.store.rundir import RunDir


def main(number: str, how: str, out: str, prompt: str, mode: str) -> int:
    settings = load_settings(dict(os.environ))
    ports = wiring.Ports(dict(os.environ), followers=(Killer(int(number), how, out),))
    said = UserSaid(prompt)
    ready = wiring.resume(
        RunDir.open(out), lambda spec: spec, settings, wiring.Listeners(), ports, said=said, further=True, mode=mode
    )
    result = asyncio.run(ready.run.go(ready.said))
    ready.close()
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
