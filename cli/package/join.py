"""Header and archive as one executable file: what a directory becomes when people get it."""

from __future__ import annotations

import gzip
import hashlib
import io
import platform
import re
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MADE = 946_684_800
"""Time of all files, 2000-01-01: whatever is written later differs, by the minute it was built in as well."""

STAT = "-f '%N %z %m %p'" if sys.platform == "darwin" else "-c '%n %s %Y %a'"
"""How `stat` of this system tells name, size, time and mode."""

PLAIN = re.compile(r"[A-Za-z0-9_.+/@=,-]+")
"""Names that mean nothing else to `xargs`."""


GLIBC = re.compile(rb"\0GLIBC_(2\.\d+)(?=\0)")
"""How a library tells which one it was linked with."""


def join(folder: Path, target: Path) -> None:
    """Make `target` of all that is in a directory, whose program is `remit`. The same content gives the same bytes."""
    files = [(str(path.relative_to(folder)), path) for path in sorted(folder.rglob("*"))]
    digest = _digest(files)
    packed = gzip.compress(_archive(files, digest), 9, mtime=0)
    size = sum(path.stat().st_size for _, path in files if path.is_file())
    target.write_bytes(_header(digest, size, len(packed), _system(files)) + packed)
    target.chmod(0o755)


def _digest(files: list[tuple[str, Path]]) -> str:
    """Of names and contents; the place in the cache is named after it."""
    whole = hashlib.sha256()
    for name, path in files:
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        whole.update(f"{name} {_mode(path):o} {len(content)}\n".encode() + content)
    return whole.hexdigest()[:16]


def _mode(path: Path) -> int:
    return 0o755 if path.is_dir() or path.lstat().st_mode & 0o100 else 0o644


def _archive(files: list[tuple[str, Path]], digest: str) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        # By this the header knows its own archive: the file may be exchanged while it is read.
        _add(tar, tarfile.TarInfo(f".rt-{digest}"), 0o644, b"")
        names = [name for name, path in files if path.is_symlink() or path.is_file()]
        assert all(PLAIN.fullmatch(name) for name in names)
        _add(tar, tarfile.TarInfo(".files"), 0o644, "".join(f"{name}\n" for name in names).encode())
        for name, path in files:
            info = tar.gettarinfo(path, name)
            if info.islnk() or info.isreg():
                # Hard links of the builder's file system are files of their own here.
                info.type, info.linkname = tarfile.REGTYPE, ""
                _add(tar, info, _mode(path), path.read_bytes())
            else:
                _add(tar, info, _mode(path), b"")
    return archive.getvalue()


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, mode: int, content: bytes) -> None:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = MADE
    info.mode = mode
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


def _system(files: list[tuple[str, Path]]) -> str:
    """What it can run on: the system it was made on, and no older C library than any of its files asks for."""
    machine = f"{platform.system()} on {platform.machine()}"
    asked = [
        tuple(map(int, version.split(b".")))
        for _, path in files
        if path.is_file() and not path.is_symlink()
        for version in GLIBC.findall(path.read_bytes())
    ]
    return f"{machine} with glibc {'.'.join(map(str, max(asked)))} or newer" if asked else machine


def _header(digest: str, size: int, packed: int, system: str) -> bytes:
    """The script, which knows where it ends."""
    text = (HERE / "header.sh").read_text().replace("@STAT@", STAT).replace("@DIGEST@", digest)
    text = text.replace("@NEEDED@", str(size // 1_000_000 + 1)).replace("@SYSTEM@", system)
    # Figures of fixed width, so that they do not move what they tell.
    length = len(text.replace("@START@", "0" * 9).replace("@BYTES@", "0" * 9).encode())
    header = text.replace("@START@", f"{length + 1:<9}").replace("@BYTES@", f"{length + packed:<9}").encode()
    assert len(header) == length
    return header
