"""The licences of what is in the one-file program: `python licences.py ORIGINS` prints their texts.

It runs in the Python that the program was collected from; ORIGINS is what `remit.spec` wrote down. A text that several
share is printed once, with their names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, version
from pathlib import Path

from bill import asked, licence_of, owners

WANTED = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)
RULE = "=" * 100


def main(origins: str) -> None:
    told = json.loads(Path(origins).read_text())
    found: dict[str, list[str]] = {}
    for name, text in _texts(told):
        lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
        found.setdefault(lines, []).append(name)
    parts = [f"{RULE}\n{', '.join(dict.fromkeys(names))}\n{RULE}\n\n{text}\n" for text, names in found.items()]
    print("What remit carries as one file, and under which licences.\n\n" + "\n".join(parts), end="")


def _texts(told: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    """A name with its version and a text, for every part. Of one that brings no text, what it says of its licence."""
    known = owners()
    paths = [os.path.realpath(path) for path in (*told["files"].values(), *told["modules"].values())]
    packages = {str(each.metadata["Name"]): each for path in paths if (each := known.get(path)) is not None}
    for name in sorted(packages, key=str.lower):
        yield from _of_package(name, packages[name])
    yield from _of_python()
    yield f"PyInstaller bootloader {version('pyinstaller')}", "GPL-2.0-or-later WITH Bootloader-exception"
    own = (os.path.realpath(sys.base_prefix) + os.sep, os.path.realpath(sys.prefix) + os.sep)
    system = [path for path in paths if path not in known and not path.startswith(own) and re.search(r"\.so\b", path)]
    yield from _of_system(sorted(set(system)))


def _of_package(name: str, package: Distribution) -> Iterator[tuple[str, str]]:
    shown = f"{name} {package.version}"
    files = [Path(str(file.locate())) for file in package.files or () if WANTED.search(file.name)]
    texts = [file.read_text("utf-8", "replace") for file in sorted(files) if file.suffix not in {".py", ".pyc", ".so"}]
    for text in texts or [licence_of(package) or "It says nothing of its licence."]:
        yield shown, text


def _of_python() -> Iterator[tuple[str, str]]:
    name = f"CPython {sysconfig.get_config_var('py_version')}"
    place = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    yield name, place.read_text("utf-8") if place.is_file() else "PSF-2.0"


def _of_system(libraries: list[str]) -> Iterator[tuple[str, str]]:
    """As Debian and its descendants keep them; elsewhere there is only the name."""
    for path in libraries:
        package = ""
        if shutil.which("dpkg-query") is not None:
            ways = (path, path.removeprefix("/usr"))
            package = next((each for way in ways if (each := asked("dpkg-query", "-S", way).partition(":")[0])), "")
        text = Path("/usr/share/doc") / package / "copyright"
        if package and text.is_file():
            yield package, text.read_text("utf-8", "replace")
        else:
            yield os.path.basename(path), "A library of the system it was built on, under that system's terms."


if __name__ == "__main__":
    main(*sys.argv[1:])
