"""Build hook: the grammars of code intelligence, taken from the packages that carry them and compressed one by one,
and where the manual and the completions go.

Writes `cli/remit/_grammars/<language>.xz` and, in `NOTICE`, where each comes from. The files are built, never
kept under version control. A grammar is a shared library, so that a wheel holds those of its platform.
"""

from __future__ import annotations

import lzma
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACK = "tree-sitter-language-pack"
PACKED = [
    "bash",
    "c",
    "cmake",
    "cpp",
    "css",
    "cuda",
    "dart",
    "dockerfile",
    "elixir",
    "gleam",
    "go",
    "hcl",
    "html",
    "java",
    "javascript",
    "json",
    "kotlin",
    "lua",
    "make",
    "markdown",
    "nix",
    "objc",
    "php",
    "proto",
    "python",
    "ruby",
    "rust",
    "scala",
    "sql",
    "starlark",
    "swift",
    "toml",
    "tsx",
    "typescript",
    "xml",
    "zig",
]
ALONE = {"csharp": "tree-sitter-c-sharp", "yaml": "tree-sitter-yaml"}
"""Languages whose grammar is a package of its own."""

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "cli" / "remit" / "_grammars"


class GrammarHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # Source is built on other platforms: it carries none of this one's.
        if self.target_name != "wheel":
            return
        build_data["artifacts"].append("cli/remit/_grammars/*")
        build_data["shared_data"].update(_shared())
        pack = distribution(PACK)
        write(pack)
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{_platform(pack)}"

    def clean(self, versions: list[str]) -> None:
        for file in TARGET.glob("*"):
            file.unlink()


def _shared() -> dict[str, str]:
    """Manual pages and completion scripts, to where shells and `man` look below the prefix."""
    places = {
        "remit.bash": "bash-completion/completions/remit",
        "_remit": "zsh/site-functions/_remit",
        "remit.fish": "fish/vendor_completions.d/remit.fish",
    }
    pages = {page: f"man/man{page.suffix[1:]}/{page.name}" for page in (ROOT / "man").glob("*.[1-9]")}
    scripts = {ROOT / "completions" / name: place for name, place in places.items()}
    return {str(file): f"share/{place}" for file, place in sorted({**pages, **scripts}.items())}


def write(pack: Distribution) -> None:
    """Write all grammars anew where one of their packages is another than that they were taken from."""
    sources = dict.fromkeys(PACKED, pack)
    sources |= {language: distribution(name) for language, name in ALONE.items()}
    notice = "".join(f"{language}: {_told(source)}\n" for language, source in sorted(sources.items()))
    record = TARGET / "NOTICE"
    if record.is_file() and record.read_text() == notice:
        return
    TARGET.mkdir(exist_ok=True)
    for language, source in sources.items():
        compressed = lzma.compress(_library(source, language).read_bytes(), preset=9 | lzma.PRESET_EXTREME)
        (TARGET / f"{language}.xz").write_bytes(compressed)
    # Last: a build that was cut short is done again.
    record.write_text(notice)


def _told(source: Distribution) -> str:
    facts = source.metadata
    licence = facts.get("License-Expression") or facts.get("License")
    return f"{facts['Name']} {source.version}, {licence}, {_platform(source)}"


def _library(source: Distribution, language: str) -> Path:
    stem = "_binding" if language in ALONE else language
    for file in source.files or ():
        if file.name.split(".")[0] == stem and file.suffix in {".so", ".pyd"}:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{source.metadata['Name']} {source.version} holds no grammar for {language}")


def _platform(source: Distribution) -> str:
    """The platform that a wheel was installed for, such as `manylinux2014_x86_64`."""
    tags = [line.split()[1] for line in (source.read_text("WHEEL") or "").splitlines() if line.startswith("Tag:")]
    return sorted(tag.split("-", 2)[2] for tag in tags)[0]
