"""Build the one-file program: `python cli/package/build.py [--out DIR] [--wheel FILE]`.

Makes `remit-VERSION-SYSTEM-MACHINE` (an executable file), its `.sha256` and its `.cdx.json`, a list of what is in it.
A venv of run-time packages alone is made for it, PyInstaller collects a directory from that, and `header.sh` in front
of the directory's archive makes one file of it, which unpacks itself into the user's cache when it is first run.

Two builds of one commit on one system are the same to the byte: names are sorted, times are those of the last commit
(or SOURCE_DATE_EPOCH), hashes are not salted. Another compiler, libc or Python gives another file.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXTRAS = "python,images,binary"
"""Of the wheel; a local model is too large to carry."""

MARK = b"#PAYLOAD#\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, default=ROOT / "dist")
    options.add_argument("--wheel", type=Path, help="of remit; built when it is not given")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _commit_time()
    with tempfile.TemporaryDirectory(prefix="remit-build-") as place:
        work = Path(place)
        wheel = given.wheel or _wheel(work)
        python = _environment(work, wheel)
        folder = _collect(work, python, epoch)
        version = _say(python, "from remit import __version__; print(__version__)")
        target = given.out / f"remit-{version}-{_system()}"
        _join(folder, target, int(epoch))
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        Path(f"{target}.sha256").write_text(f"{digest}  {target.name}\n")
        Path(f"{target}.cdx.json").write_text(_bill(python, version, digest))
    print(f"{target} {target.stat().st_size} bytes, sha256 {digest}")
    return 0


def _commit_time() -> str:
    told = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()
    return told or "1700000000"


def _system() -> str:
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{sys.platform}-{machine}"


def _wheel(work: Path) -> Path:
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work / "wheel", ROOT], check=True)
    return next((work / "wheel").glob("remit-*.whl"))


def _environment(work: Path, wheel: Path) -> Path:
    """A venv that holds what the program needs, and PyInstaller; its Python."""
    venv = work / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[{EXTRAS}]"], check=True)
    return python


def _collect(work: Path, python: Path, epoch: str) -> Path:
    """The directory with everything in it."""
    shutil.copy(HERE / "remit.spec", work)
    shutil.copy(HERE / "entry.py", work)
    _write_index(python)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "PyInstaller", "--noconfirm", "--log-level=WARN", "remit.spec"]
    subprocess.run(command, cwd=work, env=environ, check=True)
    folder = work / "dist" / "remit"
    _pack(folder / "_internal" / "bin" / "monty")
    return folder


def _pack(program: Path) -> None:
    """Compress a large program that few runs need; `workspace.bundled` unpacks it when one does."""
    whole = program.read_bytes()
    program.with_name(f"{program.name}.xz").write_bytes(lzma.compress(whole, preset=9 | lzma.PRESET_EXTREME))
    program.with_name(f"{program.name}.xz.size").write_text(str(len(whole)))
    program.unlink()


def _write_index(python: Path) -> None:
    """What a program that has no folders to look into knows of its tools."""
    code = (
        "import pathlib, remit.tools.registry as r;"
        "p = pathlib.Path(r.__file__).with_name('built_index.py');"
        "p.write_text('PLACES = ' + repr(r.places()) + '\\n')"
    )
    subprocess.run([python, "-c", code], check=True)


def _join(folder: Path, target: Path, epoch: int) -> None:
    """Header and archive as one executable file."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            info = tar.gettarinfo(path, str(path.relative_to(folder)))
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = epoch
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            if info.isreg():
                with path.open("rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
    packed = gzip.compress(archive.getvalue(), 9, mtime=0)
    digest = hashlib.sha256(packed).hexdigest()[:16]
    header = (HERE / "header.sh").read_text().replace("@DIGEST@", digest).encode()
    target.write_bytes(header + MARK + packed)
    target.chmod(0o755)


def _say(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _bill(python: Path, version: str, digest: str) -> str:
    """CycloneDX 1.5: the packages inside, with their licences."""
    code = (
        "import importlib.metadata as m, json;"
        "print(json.dumps(sorted((d.metadata['Name'], d.version,"
        " d.metadata.get('License-Expression') or d.metadata.get('License') or '') for d in m.distributions())))"
    )
    parts = [
        {
            "type": "library",
            "name": name,
            "version": release,
            "purl": f"pkg:pypi/{name.lower()}@{release}",
            "licenses": [{"license": {"name": licence.splitlines()[0][:100]}}] if licence else [],
        }
        for name, release, licence in json.loads(_say(python, code))
        if name.lower() not in {"pip", "setuptools", "pyinstaller", "pyinstaller-hooks-contrib", "altgraph", "remit"}
    ]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "remit",
                "version": version,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": parts,
    }
    return json.dumps(bill, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
