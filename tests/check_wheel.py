"""What people install: builds the source distribution, from it the wheel, and tries that without the checkout.

    python tests/check_wheel.py            installed by pip, pipx and uv
    python tests/check_wheel.py -- ARGS    then pytest ARGS against the installed wheel, `cli/` out of the way

Packages of the build, of remit itself, pipx and uv come from the configured index. Exits 1 where anything is amiss.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GRAMMARS = "remit/_grammars/"

TRIAL = """
import sys
from pathlib import Path
import remit
from remit.code.grammars import FOLDER, grammar
from remit.code.installed import missing_grammars
from remit.code.languages import LANGUAGES, by_name
from remit.code.pool import Job, Pool

place = Path(remit.__file__).resolve()
assert Path(sys.prefix).resolve() in place.parents, place
assert Path(sys.prefix).resolve() in Path(FOLDER).resolve().parents, FOLDER
assert not missing_grammars(), missing_grammars()
for each in LANGUAGES:
    grammar(each.grammar)
pool = Pool(1)
facts = pool.read_one(Job(b"", "Python", b"def one(): pass\\n"), lambda: None)
pool.close()
assert [each.name for each in facts.definitions] == ["one"], facts
print(f"{len(LANGUAGES)} languages from {FOLDER}")
"""


TESTED = ("tests", "completions", "man", ".github", "README.md", "pyproject.toml")
"""What tests read of the checkout: all but the source."""

SHARED = (
    "share/man/man1/remit.1",
    "share/man/man5/remit-task.5",
    "share/man/man7/remit-events.7",
    "share/bash-completion/completions/remit",
    "share/zsh/site-functions/_remit",
    "share/fish/vendor_completions.d/remit.fish",
)


def main(argv: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "built"
        run([sys.executable, "-m", "build", "--outdir", str(built), str(ROOT)])
        [source], [wheel] = built.glob("*.tar.gz"), built.glob("*.whl")
        check_source(source)
        check_wheel(wheel)
        python = by_pip(wheel, Path(folder))
        by_pipx_and_uv(wheel, Path(folder))
        print("the wheel is fit to be installed")
        return run_tests(python, Path(folder), argv[1:]) if argv[:1] == ["--"] else 0


def check_source(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "cli/build_grammars.py", "cli/remit/__main__.py", "README.md"} <= names
    assert not [name for name in names if "_grammars/" in name], "grammars are built for one platform"


def check_wheel(wheel: Path) -> None:
    sys.path.insert(0, str(ROOT / "cli"))
    from remit.code.languages import LANGUAGES

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        notice = archive.read(f"{GRAMMARS}NOTICE").decode()
        size = sum(each.compress_size for each in archive.infolist())
    languages = {each.grammar for each in LANGUAGES}
    assert {f"{GRAMMARS}{language}.xz" for language in languages} <= names
    assert {line.partition(":")[0] for line in notice.splitlines()} == languages
    assert not [name for name in names if name.startswith(("tests/", "cli/"))]
    assert "none-any" not in wheel.name, f"{wheel.name} holds libraries of one platform"
    print(f"{wheel.name}: {size / 2**20:.1f} MiB, {len(languages)} grammars")


def by_pip(wheel: Path, folder: Path) -> Path:
    """The Python of an environment that has it, with its extras."""
    place = folder / "venv"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", f"{wheel}[python,images]"])
    run([str(python), "-I", "-c", TRIAL], cwd=folder)
    missing = [name for name in SHARED if not (place / name).is_file()]
    assert not missing, missing
    use(place / "bin", folder)
    return python


def by_pipx_and_uv(wheel: Path, folder: Path) -> None:
    """Each in a home of its own, as `pipx install` and `uv tool install` are typed."""
    tools = folder / "tools"
    venv.create(tools, with_pip=True)
    run([str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", "pipx", "uv"])
    names = ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_CACHE_DIR")
    places = {name: str(folder / name.lower()) for name in names}
    # The Python of these checks, not one that either would fetch.
    python = ["--python", str(Path(sysconfig.get_config_var("prefix"), "bin", "python3"))]
    run([str(tools / "bin" / "pipx"), "install", *python, str(wheel)], environ=places)
    run([str(tools / "bin" / "uv"), "tool", "install", *python, str(wheel)], environ=places)
    assert Path(places["PIPX_MAN_DIR"], "man1", "remit.1").exists()
    for name in ("PIPX_BIN_DIR", "UV_TOOL_BIN_DIR"):
        use(Path(places[name]), folder)


def use(binaries: Path, folder: Path) -> None:
    """The commands that were installed there do something."""
    out = folder / f"out of {binaries.parent.name} {binaries.name}"
    run([str(binaries / "remit"), "--version"], cwd=folder)
    run([str(binaries / "remit-sdk"), "--version"], cwd=folder)
    run([str(binaries / "remit"), "run", "--example", "sales-report", "-o", str(out), "-n", "-q"], cwd=folder)
    assert (out / "artifacts" / "report.md").is_file()


def run_tests(python: Path, folder: Path, arguments: list[str]) -> int:
    """Against the installed wheel: what the tests need besides comes from the environment of these checks."""
    trial = folder / "trial"
    trial.mkdir()
    for name in TESTED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, trial / name)
    site = Path(
        subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[0])"], text=True).strip()
    )
    # A directory that a .pth file names comes last, and its own .pth files, that of the checkout, are not read.
    (site / "tests_of_remit.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    where = subprocess.check_output([python, "-c", "import remit; print(remit.__file__)"], cwd=trial, text=True).strip()
    assert Path(where).parent.parent == site, where
    print(f"+ pytest {' '.join(arguments)}, with {where}", flush=True)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, "-m", "pytest", *arguments], cwd=trial, env=environ, check=False).returncode


def run(command: list[str], cwd: Path | None = None, environ: Mapping[str, str] = {}) -> None:
    print("+", *(part if "\n" not in part else "..." for part in command), flush=True)
    subprocess.run(command, cwd=cwd, env={**os.environ, **environ}, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
