"""Definitions that are found, held against those of Universal Ctags: at least 97 % of its functions, classes and
methods are found, and each that is not is of a kind that is known, with the reason."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from remit.code.extract import extract
from remit.code.languages import by_name

CODE = Path(__file__).resolve().parents[1] / "code"
WANTED = 0.97
SECONDS_A_FILE = 30.0

NEEDS_CTAGS = pytest.mark.skipif(
    shutil.which("ctags") is None
    or b"Universal" not in subprocess.run(["ctags", "--version"], check=False, capture_output=True).stdout,
    reason="Universal Ctags is not installed (Debian: universal-ctags)",
)


class Known(msgspec.Struct, frozen=True):
    """A kind of miss. line, name, path: patterns over the line of the tag, its name and its file; why: the reason.
    real: whether it is a definition after all, one that is lost."""

    why: str
    line: str = ""
    name: str = ""
    path: str = ""
    real: bool = False


class Compared(msgspec.Struct, frozen=True):
    """bare: pattern of what is no part of the name of a tag."""

    language: str
    kinds: frozenset[str]
    endings: tuple[str, ...]
    bare: str = ""
    known: tuple[Known, ...] = ()


ANONYMOUS = Known("ctags makes up a name for what has none", name=r"^(__anon|Anonymous)")


class Tag(msgspec.Struct):
    name: str
    path: str
    kind: str
    line: int


def tags_of(language: Compared, files: Sequence[Path]) -> Iterator[Tag]:
    options = [
        "--output-format=json",
        "--fields=+nK",
        f"--languages={language.language}",
        f"--langmap={language.language}:{''.join(language.endings)}",
        "--sort=no",
        "-f",
        "-",
        "-L",
        "-",
    ]
    told = subprocess.run(
        ["ctags", *options], input="\n".join(map(str, files)), capture_output=True, text=True, check=True
    ).stdout
    for line in told.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and tag["kind"] in language.kinds:
            name = re.sub(language.bare, "", tag["name"]) if language.bare else tag["name"]
            yield Tag(name, tag["path"], tag["kind"], tag["line"])


def compare(language: Compared, files: Sequence[Path]) -> None:
    places: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for file in files:
        facts = extract(by_name(language.language), file.read_bytes(), SECONDS_A_FILE)
        names = places.setdefault(str(file), {})
        for each in facts.definitions:
            names.setdefault(each.name.lstrip("#$"), []).append((each.start, each.end))
    found = lost = 0
    unknown = []
    for tag in tags_of(language, files):
        if any(start <= tag.line <= end for start, end in places[tag.path].get(tag.name, [])):
            found += 1
            continue
        line = Path(tag.path).read_text("utf-8", "replace").splitlines()[tag.line - 1]
        known = next((each for each in language.known if _is(each, tag, line)), None)
        if known is None:
            unknown.append(f"{tag.path}:{tag.line}: {tag.kind} {tag.name}: {line.strip()[:80]}")
        lost += known is None or known.real
    assert not unknown, "\n".join(unknown[:40])
    assert found >= 10
    assert found / (found + lost) >= WANTED


def _is(known: Known, tag: Tag, line: str) -> bool:
    told = ((known.line, line), (known.name, tag.name), (known.path, tag.path))
    return all(re.search(pattern, text) for pattern, text in told)


def files_below(folder: Path, language: Compared) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix in language.endings and file.is_file() and not file.stem.lower().startswith("broken")
    )
