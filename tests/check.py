"""The one check command: format, lint, strict types, floors, generated files, tests.

    python tests/check.py            everything
    python tests/check.py --quick    without the tests marked heavy
    python tests/check.py -- ARGS    the rest goes to pytest

Runs every step even when one fails, names those that failed, exits 1 then.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

STEPS: list[tuple[str, list[str]]] = [
    ("format", [str(BIN / "ruff"), "format", "--check", "cli", "tests"]),
    ("lint", [str(BIN / "ruff"), "check", "cli", "tests"]),
    ("types", [str(BIN / "mypy")]),
    # What the system lacks there shows as a type error: nothing of these checks runs there.
    ("types on macOS", [str(BIN / "mypy"), "--platform", "darwin", "--cache-dir", ".mypy_cache/darwin"]),
    ("floors", [str(BIN / "lint-imports")]),
    ("generated", [sys.executable, "-m", "remit.commands.generate", "--check", "."]),
]


def main(argv: list[str]) -> int:
    quick = "--quick" in argv
    extra = argv[argv.index("--") + 1 :] if "--" in argv else []
    tests = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal"]
    tests += ["-m", "not heavy"] if quick else []
    failed = []
    for name, command in [*STEPS, ("tests", tests + extra)]:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        said = "ok" if status == 0 else f"FAILED ({status})"
        print(f"== {name}: {said} in {time.monotonic() - began:.1f} s", flush=True)
        if status != 0:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
