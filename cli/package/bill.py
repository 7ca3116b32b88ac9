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
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

Component = dict[str, Any]


def main(origins: str, folder: str, digest: str) -> None:
    told = json.loads(Path(origins).read_text())
    owners = _owners()
    sources = [*told["files"].values(), *told["modules"].values()]
    inside = {str(found.metadata["Name"]): found for path in sources if (found := owners.get(os.path.realpath(path)))}
    remit = inside.pop("remit")
    components = [_package(each) for each in inside.values()]
    components += _grammars(remit)
    components += _libraries(told["files"], owners, Path(folder))
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


def _owners() -> dict[str, Distribution]:
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
    return {**_component("library", name, each.version, _licence(each)), "purl": purl}


def _licence(each: Distribution) -> str:
    told = each.metadata.get("License-Expression") or each.metadata.get("License") or ""
    classified = [
        line.rpartition(" :: ")[2]
        for line in each.metadata.get_all("Classifier") or ()
        if line.startswith("License :: OSI")
    ]
    # A few give the whole text.
    return told if told and "\n" not in told else " AND ".join(classified) or told.partition("\n")[0]


def _component(kind: str, name: str, version: str, licence: str) -> Component:
    known = {"licenses": [{"license": {"name": licence}}]} if licence else {}
    return {"type": kind, "name": name, "version": version, **known}


def _grammars(remit: Distribution) -> list[Component]:
    """The packages that grammars were taken from, each once: `LANGUAGE: NAME VERSION, LICENCE, PLATFORM`."""
    notice = Path(str(remit.locate_file("remit/_grammars/NOTICE"))).read_text()
    facts = {tuple(line.partition(": ")[2].split(", ")[:2]) for line in notice.splitlines()}
    subjects = [(*subject.split(" "), licence) for subject, licence in sorted(facts)]
    return [
        {**_component("library", name, version, licence), "purl": f"pkg:pypi/{name}@{version}"}
        for name, version, licence in subjects
    ]


def _libraries(files: dict[str, str], owners: dict[str, Distribution], folder: Path) -> list[Component]:
    """Shared libraries of the system: no version is known, so each is told by its bytes."""
    own = (os.path.realpath(sys.base_prefix) + os.sep, os.path.realpath(sys.prefix) + os.sep)
    return [
        {
            "type": "library",
            "name": Path(name).name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256((folder / name).read_bytes()).hexdigest()}],
        }
        for name, source in files.items()
        if re.search(r"\.(so|dylib)\b", name)
        and (path := os.path.realpath(source)) not in owners
        and not path.startswith(own)
        and (folder / name).is_file()
        and not (folder / name).is_symlink()
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
