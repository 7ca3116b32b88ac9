"""Bytes of the first request of a run that works on code, on each wire, and what they are spent on.

python tests/bench/bench_first_request.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes.cli import Home
from fakes.first_request import MAX_BYTES, MAX_SYSTEM_BYTES, first_request, system_bytes
from fakes.speaking import WIRES


def main() -> None:
    for protocol in WIRES:
        with tempfile.TemporaryDirectory() as folder:
            body = first_request(Home(Path(folder)), protocol)
        data = json.loads(body)
        tools = len(json.dumps(data["tools"], separators=(",", ":")))
        system = system_bytes(body, protocol)
        print(f"{protocol}: {len(body)} bytes (at most {MAX_BYTES}), tools {tools}, ", end="")
        print(f"system prompt {system} (at most {MAX_SYSTEM_BYTES})")


if __name__ == "__main__":
    main()
