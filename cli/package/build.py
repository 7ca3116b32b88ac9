"""Build the one-file program: `python cli/package/build.py [--out DIR] [--wheel FILE]`.

Makes `remit-VERSION-SYSTEM-MACHINE` (an executable file), its `.sha256`, its `.cdx.json`, a list of what is in it, and
its `.licences.txt`, the texts of all licences, which it carries within itself too.
A venv of run-time packages alone is made for it, PyInstaller collects a directory from that, and `header.sh` in front
of the directory's archive makes one file of it, which unpacks itself into the user's cache when it is first run.

Two builds of one commit on one system are the same to the byte, wherever and whenever they are made
(`tests/check_build.py`): packages are those of `locked.txt`, names are sorted, times are fixed, hashes are not salted.
Another Python, libc or system library gives another file. `--lock` writes `locked.txt` anew, with what there is today.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from join import MADE, join

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXTRAS = "python,images,binary"
"""Of the wheel; a local model is too large to carry."""

LOCKED = HERE / "locked.txt"
"""The version of every package that goes into it, or makes it."""

VERSION = "from remit import __version__; print(__version__)"
OURS = {"remit", "pip", "setuptools"}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, default=ROOT / "dist")
    options.add_argument("--wheel", type=Path, help="of remit; built when it is not given")
    options.add_argument("--lock", action="store_true", help="only write down which packages there are today")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="remit-build-") as place:
        work = Path(place)
        wheel = given.wheel or _wheel(work)
        python = _environment(work, wheel, locked=not given.lock)
        if given.lock:
            _lock(_installed(python))
            return 0
        folder = _collect(work, python)
        licences = _say(python, str(HERE / "licences.py"), str(work / "origins.json")) + "\n"
        (folder / "_internal" / "LICENCES.txt").write_text(licences)
        given.out.mkdir(parents=True, exist_ok=True)
        target = given.out / f"remit-{_say(python, '-c', VERSION)}-{_system()}"
        join(folder, target)
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        Path(f"{target}.sha256").write_text(f"{digest}  {target.name}\n")
        bill = _say(python, str(HERE / "bill.py"), str(work / "origins.json"), str(folder), digest)
        Path(f"{target}.cdx.json").write_text(f"{bill}\n")
        Path(f"{target}.licences.txt").write_text(licences)
    print(f"{target} {target.stat().st_size} bytes, sha256 {digest}")
    return 0


def _system() -> str:
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{sys.platform}-{machine}"


def _wheel(work: Path) -> Path:
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work / "wheel", ROOT], check=True)
    return next((work / "wheel").glob("remit-*.whl"))


def _environment(work: Path, wheel: Path, *, locked: bool) -> Path:
    """A venv that holds what the program needs, and PyInstaller; its Python."""
    venv = work / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin" / "python"
    constraints = ["-c", LOCKED] if locked else []
    subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[{EXTRAS}]", *constraints], check=True)
    if locked and (free := set(_installed(python)) - set(LOCKED.read_text().split())):
        raise SystemExit(f"not in {LOCKED.name}: {', '.join(sorted(free))}; write it anew with --lock")
    return python


def _installed(python: Path) -> list[str]:
    """`NAME==VERSION` of all packages but those that every build brings."""
    return [line for line in _say(python, "-m", "pip", "freeze").splitlines() if line.partition(" ")[0] not in OURS]


def _lock(installed: list[str]) -> None:
    """What is not installed here stays: other systems need it."""
    versions = dict(line.split("==") for line in [*LOCKED.read_text().split(), *installed])
    LOCKED.write_text("".join(f"{name}=={versions[name]}\n" for name in sorted(versions, key=str.lower)))


def _collect(work: Path, python: Path) -> Path:
    """The directory with everything in it."""
    for file in ("remit.spec", "modules.py", "entry.py"):
        shutil.copy(HERE / file, work)
    subprocess.run([python, HERE / "tables.py"], check=True)
    fixed = {"SOURCE_DATE_EPOCH": str(MADE), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    command = [python, "-m", "PyInstaller", "--noconfirm", "--log-level=WARN", "remit.spec"]
    subprocess.run(command, cwd=work, env={**os.environ, **fixed}, check=True)
    folder = work / "dist" / "remit"
    _pack(folder / "_internal" / "bin" / "monty")
    return folder


def _pack(program: Path) -> None:
    """Compress a large program that few runs need; `workspace.bundled` unpacks it when one does."""
    whole = program.read_bytes()
    program.with_name(f"{program.name}.xz").write_bytes(lzma.compress(whole, preset=9 | lzma.PRESET_EXTREME))
    program.with_name(f"{program.name}.xz.size").write_text(str(len(whole)))
    program.unlink()


def _say(python: Path, *args: str) -> str:
    return subprocess.run([python, *args], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
