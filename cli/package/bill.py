"""What is in the one-file program: `python bill.py ORIGINS FOLDER DIGEST` prints a CycloneDX 1.5 list of it.

It runs in the Python that the program was collected from. ORIGINS is what `remit.spec` wrote down: where each file and
module is from. FOLDER is what came of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distributions, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = dict[str, Any]

SPDX = {
    **{name: name for name in ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-CMU")},
    **{name: name for name in ("MPL-2.0", "PSF-2.0", "Unlicense")},
    "MIT License": "MIT",
    "ISC License": "ISC",
    "Apache Software License": "Apache-2.0",
}
"""What packages say of their licence, where that is one of the list. "BSD License" is several."""

CPES = {
    "libssl": "openssl:openssl",
    "libcrypto": "openssl:openssl",
    "libsqlite3": "sqlite:sqlite",
    "libz": "zlib:zlib",
    "libexpat": "libexpat_project:libexpat",
    "libffi": "libffi_project:libffi",
    "liblzma": "tukaani:xz",
    "libbz2": "bzip:bzip2",
}
"""Vendor and product, by the name of the library, as advisories have them."""

PICTURES = {
    "_imaging.": {"libjpeg_turbo": "libjpeg-turbo", "jpg_2000": "openjpeg", "libtiff": "libtiff", "zlib": "zlib"},
    "_imagingft.": {"freetype2": "freetype", "raqm": "raqm", "fribidi": "fribidi", "harfbuzz": "harfbuzz"},
    "_imagingcms.": {"littlecms2": "littlecms2"},
    "_webp.": {"webp": "libwebp"},
    "_avif.": {"avif": "libavif"},
}
"""By module of Pillow: what it was built with, as `PIL.features` has it and as it is called."""


def main(origins: str, folder: str, digest: str) -> None:
    told = json.loads(Path(origins).read_text())
    known = owners()
    sources = [*told["files"].values(), *told["modules"].values()]
    inside = {str(found.metadata["Name"]): found for path in sources if (found := known.get(os.path.realpath(path)))}
    remit = inside.pop("remit")
    components = [_package(each) for each in inside.values()]
    components += _grammars(remit)
    components += _libraries(told["files"], known, Path(folder))
    components += _pictures(Path(folder))
    components.append(_bootloader())
    components.append(_component("application", "CPython", platform.python_version(), "PSF-2.0"))
    once = {json.dumps(each, sort_keys=True): each for each in components}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                **_component("application", "remit", remit.version, "Apache-2.0"),
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": sorted(once.values(), key=lambda each: (each["name"].lower(), each.get("version", ""))),
    }
    print(json.dumps(bill, indent=1))


def owners() -> dict[str, Distribution]:
    """The installed package of each file."""
    return {
        os.path.realpath(str(file.locate())): each
        for each in distributions()
        for file in each.files or ()
        if not file.name.endswith(".pyc")
    }


def _package(each: Distribution) -> Component:
    name = str(each.metadata["Name"])
    purl = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{each.version}"
    return {**_component("library", name, each.version, licence_of(each)), "purl": purl}


def licence_of(each: Distribution) -> str:
    told = each.metadata.get("License-Expression") or each.metadata.get("License") or ""
    classified = [
        line.rpartition(" :: ")[2]
        for line in each.metadata.get_all("Classifier") or ()
        if line.startswith("License :: OSI")
    ]
    # A few give the whole text.
    return told if told and "\n" not in told else " AND ".join(classified) or told.partition("\n")[0]


def _component(kind: str, name: str, version: str, licence: str) -> Component:
    return {"type": kind, "name": name, "version": version, **({"licenses": [_named(licence)]} if licence else {})}


def _named(licence: str) -> dict[str, Any]:
    """A licence by its id, an expression of such ids, or what it is called."""
    words = [SPDX.get(word) for word in re.split(r" (?:OR|AND) ", licence)]
    if len(words) > 1 and all(words):
        return {"expression": licence}
    known = SPDX.get(licence)
    return {"license": {"id": known} if known else {"name": licence}}


def _grammars(remit: Distribution) -> list[Component]:
    """The packages that grammars were taken from, each once: `LANGUAGE: NAME VERSION, LICENCE, PLATFORM`."""
    notice = Path(str(remit.locate_file("remit/_grammars/NOTICE"))).read_text()
    facts = {tuple(line.partition(": ")[2].split(", ")[:2]) for line in notice.splitlines()}
    subjects = [(*subject.split(" "), licence) for subject, licence in sorted(facts)]
    return [
        {**_component("library", name, version, licence), "purl": f"pkg:pypi/{name}@{version}"}
        for name, version, licence in subjects
    ]


def _libraries(files: dict[str, str], known: dict[str, Distribution], folder: Path) -> list[Component]:
    """Shared libraries of the system, each told by its bytes, and by its version where that is known."""
    own = (os.path.realpath(sys.base_prefix) + os.sep, os.path.realpath(sys.prefix) + os.sep)
    return [
        {
            "type": "library",
            "name": Path(name).name,
            **_version(Path(name).name, path),
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256((folder / name).read_bytes()).hexdigest()}],
        }
        for name, source in files.items()
        if re.search(r"\.(so|dylib)\b", name)
        and (path := os.path.realpath(source)) not in known
        and not path.startswith(own)
        and (folder / name).is_file()
        and not (folder / name).is_symlink()
    ]


def _version(name: str, path: str) -> dict[str, str]:
    """What is known of a library: of what Python uses by what that says, of all others by the system's packages."""
    told, purl = _debian(path)
    stem = name.partition(".")[0]
    known = _used_by_python().get(stem) or re.sub(r"^\d+:|[-+].*$", "", told)
    facts = {"version": known, "purl": purl}
    if stem in CPES and known:
        facts["cpe"] = f"cpe:2.3:a:{CPES[stem]}:{known}:*:*:*:*:*:*:*"
    return {key: value for key, value in facts.items() if value}


def _used_by_python() -> dict[str, str]:
    import pyexpat
    import sqlite3
    import ssl
    import zlib

    openssl = ssl.OPENSSL_VERSION.split(" ")[1]
    return {
        "libssl": openssl,
        "libcrypto": openssl,
        "libsqlite3": sqlite3.sqlite_version,
        "libz": zlib.ZLIB_RUNTIME_VERSION,
        "libexpat": pyexpat.EXPAT_VERSION.removeprefix("expat_"),
    }


def _debian(path: str) -> tuple[str, str]:
    """Version and package URL of a file of Debian or a descendant; both "" elsewhere."""
    if shutil.which("dpkg-query") is None:
        return "", ""
    for place in (path, path.removeprefix("/usr")):
        found = asked("dpkg-query", "-S", place).partition(": ")[0]
        if found:
            form = "${Package} ${Version} ${Architecture}"
            name, told, machine = asked("dpkg-query", "-W", "-f", form, found).split(" ")
            system = platform.freedesktop_os_release()["ID"]
            return told, f"pkg:deb/{system}/{name}@{quote(told, safe='~')}?arch={machine}"
    return "", ""


def asked(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _pictures(folder: Path) -> list[Component]:
    """The libraries that Pillow brings within its own."""
    from PIL import features

    there = [path.name for path in folder.rglob("PIL/_*")]
    inside = {
        name: told
        for module, names in PICTURES.items()
        if any(each.startswith(module) for each in there)
        for feature, name in names.items()
        if features.check(feature) and (told := features.version(feature))
    }
    return [
        {"type": "library", "name": name, "version": told, "purl": f"pkg:generic/{name}@{quote(told)}"}
        for name, told in inside.items()
    ]


def _bootloader() -> Component:
    """The program that starts it all."""
    told = version("pyinstaller")
    component = {"type": "library", "name": "PyInstaller bootloader", "version": told}
    licence = {"expression": "GPL-2.0-or-later WITH Bootloader-exception"}
    return {**component, "licenses": [licence], "purl": f"pkg:pypi/pyinstaller@{told}"}


if __name__ == "__main__":
    main(*sys.argv[1:])
